"""`POST /v1/traces`, where OTLP has it: the traces of agents, from any exporter that is given a key."""

import zlib
from typing import Any, ClassVar

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView
from reflection_app.api.permissions import needs
from reflection_app.api.problems import UnsupportedBody
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.sessions.otlp.answers import refusal, success
from reflection_app.sessions.otlp.decoding import JSON, PROTOBUF, TooManyParts, Unreadable, read_export
from reflection_app.sessions.take_spans import FULL, take_spans

# Of what a gzip body unfolds to; the body itself is bounded like every other.
LARGEST_UNFOLDED = 40_000_000
# Many of an SDK's batches (512), and two of a collector's (8,192).
MOST_SPANS_AT_ONCE = 20_000
GZIP_WINDOW = 16 + zlib.MAX_WBITS


class TooLarge(ActionError):
    """The body unfolds to more than is read, or is made of too many parts."""

    status = 413
    title = "Content too large"


class TraceIntake(DeskView):
    http_method_names: ClassVar[list[str]] = ["post"]  # type: ignore[misc]
    permissions = needs(post=Permission.HAND_IN)
    # OTLP's own specification describes it.
    schema = None

    def post(self, request: Request) -> HttpResponse:
        media_type = media_type_of(request)
        if media_type not in {PROTOBUF, JSON}:
            raise UnsupportedBody(f"Send {PROTOBUF} or {JSON}.")
        try:
            received = read_export(body_of(request), media_type=media_type)
        except TooManyParts as error:
            raise TooLarge(str(error)) from None
        except Unreadable as error:
            raise InvalidInput(str(error)) from None
        taken = take_spans(self.project, received.spans[:MOST_SPANS_AT_ONCE])
        too_many = max(0, len(received.spans) - MOST_SPANS_AT_ONCE)
        rejected = len(received.rejected) + taken.refused + too_many
        reasons = [*received.rejected]
        if taken.refused:
            reasons.append(FULL)
        if too_many:
            reasons.append(f"a request has more than {MOST_SPANS_AT_ONCE:,} spans")
        answer = success(rejected=rejected, reasons=tuple(reasons), media_type=media_type)
        return HttpResponse(answer, content_type=media_type)

    def handle_exception(self, exc: Exception) -> Any:
        """The refusal in OTLP's form, with the status and headers of a problem of REST."""
        problem: Response = super().handle_exception(exc)
        body = problem.data
        lines = [body["detail"], *(f"{error['field']}: {error['message']}" for error in body.get("errors", ()))]
        sent = media_type_of(self.request)
        media_type = sent if sent == JSON else PROTOBUF
        answer = refusal("\n".join(lines), status=problem.status_code, media_type=media_type)
        headers = {name: value for name, value in problem.headers.items() if name.lower() != "content-type"}
        return HttpResponse(answer, status=problem.status_code, content_type=media_type, headers=headers)


def media_type_of(request: Request) -> str:
    return (request.headers.get("Content-Type") or "").partition(";")[0].strip().lower()


def body_of(request: Request) -> bytes:
    """The body, unfolded. Raises UnsupportedBody, InvalidInput or TooLarge."""
    body: bytes = request.body
    encoding = (request.headers.get("Content-Encoding") or "identity").strip().lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise UnsupportedBody("Send the body as it is, or with Content-Encoding: gzip.")
    unfolding = zlib.decompressobj(GZIP_WINDOW)
    try:
        unfolded = unfolding.decompress(body, LARGEST_UNFOLDED)
    except zlib.error:
        raise InvalidInput("The body is not gzip.") from None
    if unfolding.unconsumed_tail:
        raise TooLarge(f"The body unfolds to more than {LARGEST_UNFOLDED:,} bytes.")
    if not unfolding.eof or unfolding.unused_data:
        raise InvalidInput("The body is not one whole gzip.")
    return unfolded
