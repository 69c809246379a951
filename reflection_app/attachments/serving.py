"""The bytes of an attachment over HTTP: as what they were found to be, or as a file to be saved, and nothing else.

What a sender hands in is shown from the desk's own address. So a browser must take it for what it is, of a short list
that cannot hold a script, and treat what is opened by itself as a stranger's.
"""

import re
from dataclasses import dataclass

from django.db.models import BinaryField, F, Func
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header

from reflection_app.attachments.models import Attachment, RenderedPage
from reflection_app.core.recognizing import UNKNOWN

SANDBOX = "sandbox; default-src 'none'"
# The readers of browsers refuse to work in a sandbox; a PDF's scripts are theirs alone, and never run as the page's.
OF_PDF = (
    "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
# Bytes of one id never change. Not for longer: whoever may read them today may not tomorrow.
KEPT_BY_BROWSERS = "private, max-age=86400, immutable"
RANGE = re.compile(r"bytes=(\d{0,12})-(\d{0,12})")


@dataclass(frozen=True)
class Span:
    """A part of the bytes: the first, and the one behind the last."""

    first: int
    end: int


def respond_with(request: HttpRequest, attachment: Attachment) -> HttpResponse:
    """The bytes, or the range of them that is asked for; nothing of them where the browser has them already."""
    etag = f'"{attachment.sha256}"'
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None:
        return _with_headers(unchanged, attachment, etag=etag)
    span = _wanted(request, attachment, etag=etag)
    if span is None:
        response = HttpResponse(status=416, headers={"Content-Range": f"bytes */{attachment.size}"})
    else:
        whole = span == Span(0, attachment.size)
        response = HttpResponse(_piece(attachment, span), status=200 if whole else 206)
        if not whole:
            response["Content-Range"] = f"bytes {span.first}-{span.end - 1}/{attachment.size}"
    return _with_headers(response, attachment, etag=etag)


def respond_with_seen_page(request: HttpRequest, page: RenderedPage) -> HttpResponse:
    """The picture of a page as a model was shown it: made by the server itself, and served as strangers' files are."""
    etag = f'"{page.pk}"'
    response = get_conditional_response(request, etag=etag) or HttpResponse(bytes(page.content))
    return _set(response, {"Content-Type": "image/png", "Content-Security-Policy": SANDBOX}, etag=etag)


def _set(response: HttpResponse, headers: dict[str, str], *, etag: str) -> HttpResponse:
    """Return the response with these headers, and those that all bytes of strangers have."""
    common = {
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": KEPT_BY_BROWSERS,
        "ETag": etag,
    }
    for header, value in (headers | common).items():
        response[header] = value
    return response


def _with_headers(response: HttpResponse, attachment: Attachment, *, etag: str) -> HttpResponse:
    inline = attachment.is_inline
    disposition = content_disposition_header(not inline, str(attachment))
    assert disposition is not None
    headers = {
        "Content-Type": attachment.media_type if inline else UNKNOWN,
        "Content-Disposition": disposition,
        "Content-Security-Policy": OF_PDF if attachment.is_pdf else SANDBOX,
        "Accept-Ranges": "bytes",
    }
    if attachment.is_pdf:
        # Shown in a frame of the desk's own page, and in no other's.
        headers["X-Frame-Options"] = "SAMEORIGIN"
    return _set(response, headers, etag=etag)


def _wanted(request: HttpRequest, attachment: Attachment, *, etag: str) -> Span | None:
    """What is asked for: all of it where that is no single range; None where the range lies outside."""
    size = attachment.size
    asked = RANGE.fullmatch(request.headers.get("Range", "").strip())
    if asked is None or not any(asked.groups()) or request.headers.get("If-Range", etag) != etag:
        return Span(0, size)
    first, last = asked.groups()
    if not first:
        span = Span(max(0, size - int(last)), size)
    else:
        span = Span(int(first), min(size, int(last) + 1) if last else size)
    if last and first and int(last) < int(first):
        return Span(0, size)
    return span if span.first < span.end else None


def _piece(attachment: Attachment, span: Span) -> bytes:
    """Just these bytes: the database keeps them as they are, and need not read the others."""
    piece = Func(F("content"), span.first + 1, span.end - span.first, function="substring", output_field=BinaryField())
    return bytes(Attachment.objects.annotate(piece=piece).values_list("piece", flat=True).get(pk=attachment.pk))
