"""The bytes of an attachment over HTTP: as what they were found to be, or as a file to be saved, and nothing else.

What a sender hands in is shown from the desk's own address. So a browser must take it for what it is, of a short list
that cannot hold a script, and treat what is opened by itself as a stranger's.
"""

import re
import threading
from contextlib import suppress
from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import BinaryField, F, Func
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header
from redis.exceptions import RedisError

from reflection_app.adapters.files import FileNotOpened, render_page
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


def respond_with(request: HttpRequest, attachment: Attachment, *, name: str = "") -> HttpResponse:
    """The bytes, or the range of them that is asked for; nothing of them where the browser has them already."""
    etag = f'"{attachment.sha256}"'
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None:
        return _with_headers(unchanged, attachment, name=name, etag=etag)
    span = _wanted(request, attachment, etag=etag)
    if span is None:
        response = HttpResponse(status=416, headers={"Content-Range": f"bytes */{attachment.size}"})
    else:
        whole = span == Span(0, attachment.size)
        response = HttpResponse(_piece(attachment, span), status=200 if whole else 206)
        if not whole:
            response["Content-Range"] = f"bytes {span.first}-{span.end - 1}/{attachment.size}"
    return _with_headers(response, attachment, name=name, etag=etag)


# How long a drawn page stays, and within how many pixels it is drawn.
DRAWN_KEPT_S = 86_400
DRAWN_WITHIN = 1_200
# A page that cannot be drawn is not tried again for a while: each try takes seconds and much memory. Where nobody could
# try, that may be over soon.
UNDRAWN_KEPT_S = 3_600
UNTRIED_KEPT_S = 60
DRAWN_IN_S = 10.0
# What one process of the desk draws at once, and how long others wait for it: they are in the way of whole pages.
DRAWN_AT_ONCE = 2
WAITED_S = 5.0
_drawing = threading.BoundedSemaphore(DRAWN_AT_ONCE)


class DrawingBusy(Exception):
    """Others have pages drawn; ask again in some seconds."""


def respond_with_page(request: HttpRequest, attachment: Attachment, *, number: int) -> HttpResponse | None:
    """The page as a picture that the desk itself has drawn; None where it cannot be drawn here. Raises DrawingBusy."""
    etag = f'"{attachment.sha256}-{number}"'
    unchanged = get_conditional_response(request, etag=etag)
    response = unchanged
    if response is None:
        drawn = _drawn(attachment, number=number)
        if drawn is None:
            return None
        response = HttpResponse(drawn)
    return _with_headers_of_drawn(response, etag=etag)


def _with_headers_of_drawn(response: HttpResponse, *, etag: str) -> HttpResponse:
    headers = {
        "Content-Type": "image/png",
        "Content-Security-Policy": SANDBOX,
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": KEPT_BY_BROWSERS,
        "ETag": etag,
    }
    for header, value in headers.items():
        response[header] = value
    return response


def _drawn(attachment: Attachment, *, number: int) -> bytes | None:
    key = f"page-{attachment.sha256}-{number}"
    known = _known(key)
    if known is None:
        if not _drawing.acquire(timeout=WAITED_S):
            raise DrawingBusy
        try:
            # Who was here before may have drawn just this one.
            known = _known(key)
            if known is None:
                known = _draw(attachment, number=number, key=key)
        finally:
            _drawing.release()
    return known or None


def _known(key: str) -> bytes | None:
    """The page as it was drawn before, empty where it could not be; None where nobody tried lately."""
    with suppress(ConnectionError, TimeoutError, RedisError):
        known = cache.get(key)
        return None if known is None else bytes(known)
    return None


def _draw(attachment: Attachment, *, number: int, key: str) -> bytes:
    content, kept_s = _piece(attachment, Span(0, attachment.size)), DRAWN_KEPT_S
    try:
        drawn = render_page(content, page=number, max_side_px=DRAWN_WITHIN, timeout_s=DRAWN_IN_S)
    except FileNotOpened as error:
        drawn, kept_s = b"", UNTRIED_KEPT_S if error.why_not else UNDRAWN_KEPT_S
    with suppress(ConnectionError, TimeoutError, RedisError):
        cache.set(key, drawn, kept_s)
    return drawn


def respond_with_seen_page(request: HttpRequest, page: RenderedPage) -> HttpResponse:
    """The picture of a page as a model was shown it: made by the desk itself, and served as strangers' files are."""
    etag = f'"{page.pk}"'
    response = get_conditional_response(request, etag=etag)
    if response is None:
        response = HttpResponse(bytes(page.content))
    return _with_headers_of_drawn(response, etag=etag)


def _with_headers(response: HttpResponse, attachment: Attachment, *, name: str, etag: str) -> HttpResponse:
    inline = attachment.is_inline
    disposition = content_disposition_header(not inline, name or attachment.name or str(attachment.pk))
    assert disposition is not None
    headers = {
        "Content-Type": attachment.media_type if inline else UNKNOWN,
        "Content-Disposition": disposition,
        "Content-Security-Policy": OF_PDF if attachment.is_pdf else SANDBOX,
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": KEPT_BY_BROWSERS,
        "Accept-Ranges": "bytes",
        "ETag": etag,
    }
    if attachment.is_pdf:
        # Shown in a frame of the desk's own page, and in no other's.
        headers["X-Frame-Options"] = "SAMEORIGIN"
    for header, value in headers.items():
        response[header] = value
    return response


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
