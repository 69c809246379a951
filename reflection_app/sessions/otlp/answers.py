"""What OTLP answers: success with what was refused of it, or a google.rpc.Status, each in the way the request came."""

import json

from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from reflection_app.sessions.otlp.decoding import JSON

MOST_REASONS = 3
# google.rpc.Code by HTTP status; https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 413: 3, 415: 3, 429: 8, 500: 13, 503: 14}
UNKNOWN = 2


def success(*, rejected: int, reasons: tuple[str, ...], media_type: str) -> bytes:
    """An ExportTraceServiceResponse; with a partial success only where something was refused, as OTLP has it."""
    answer = ExportTraceServiceResponse()
    if rejected:
        answer.partial_success.rejected_spans = rejected
        answer.partial_success.error_message = "; ".join(dict.fromkeys(reasons))[: 300 * MOST_REASONS]
    if media_type == JSON:
        return bytes(MessageToJson(answer, indent=None), "utf-8")
    return bytes(answer.SerializeToString())


def refusal(message: str, *, status: int, media_type: str) -> bytes:
    """A google.rpc.Status: `int32 code = 1; string message = 2`."""
    code = CODES.get(status, UNKNOWN)
    if media_type == JSON:
        return json.dumps({"code": code, "message": message}).encode()
    told = message.encode("utf-8", "replace")
    # No package of ours has its class, and two fields need none.
    return b"\x08" + _varint(code) + b"\x12" + _varint(len(told)) + told


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)
