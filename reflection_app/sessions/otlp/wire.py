"""OpenTelemetry on the wire: requests bounded and decoded, answers written."""

import base64
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToJson, ParseDict, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from reflection_app.loops.json_paths import has_more_values
from reflection_app.loops.storable import storable, storable_value

# How many parts a body is made of, told before it is read: a few bytes of it may become hundreds in memory.

# A collector's usual batch has 8192 spans, with some hundred parts each.
MOST_PARTS = 1_000_000
# Read twenty times as slowly.
MOST_PARTS_OF_JSON = 500_000
VARINT, FIXED_64, DELIMITED, FIXED_32 = 0, 1, 2, 5


def has_many_parts(body: bytes, message: Any) -> bool:
    """Whether the protobuf of such a message has more fields, at any depth, than are read.

    Ends where the body is none: the parser says so.
    """
    # None is shorter than its tag and its value.
    if len(body) < 2 * MOST_PARTS:
        return False
    left = MOST_PARTS
    waiting: list[tuple[int, int, Descriptor]] = [(0, len(body), message.DESCRIPTOR)]
    while waiting:
        at, end, descriptor = waiting.pop()
        # The kinds of messages within such a message, by the numbers of their fields.
        if descriptor.full_name not in _KNOWN:
            _KNOWN[descriptor.full_name] = {
                field.number: field.message_type
                for field in descriptor.fields
                if field.type == FieldDescriptor.TYPE_MESSAGE
            }
        inner = _KNOWN[descriptor.full_name]
        while at < end:
            left -= 1
            if left < 0:
                return True
            tag, at = _varint(body, at, end)
            kind = tag & 7
            if kind == DELIMITED:
                length, at = _varint(body, at, end)
                if at + length > end:
                    return False
                if length and (found := inner.get(tag >> 3)) is not None:
                    waiting.append((at, at + length, found))
                at += length
            elif kind == VARINT:
                _, at = _varint(body, at, end)
            elif kind in {FIXED_64, FIXED_32}:
                at += 8 if kind == FIXED_64 else 4
            # Groups are of no message here; what is in them is counted like what stands around them.
    return False


_KNOWN: dict[str, dict[int, Descriptor]] = {}


def _varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    """The number that begins at this place, and the place after it."""
    value = shift = 0
    while at < end:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            break
        shift += 7
    return value, at


# Deeper than any convention's name tells them apart.
DEEPEST_NAMESPACE = 4

# A span as the rest of the desk knows it, whichever way it was sent.


@dataclass(frozen=True)
class SpanEvent:
    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Span:
    """One span. Ids are lower-case hex; `parent_id` is empty for a root, and times are nanoseconds since 1970."""

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    service: str = ""
    is_error: bool = False
    status_message: str = ""
    start_ns: int = 0
    end_ns: int = 0

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """All that the names of its attributes and events begin with, up to each dot, and the names themselves."""
        found: set[str] = set()
        for name in (*self.attributes, *(event.name for event in self.events)):
            parts = name.split(".", DEEPEST_NAMESPACE)
            found.add(name)
            found.update(".".join(parts[:count]) + "." for count in range(1, len(parts)))
        return frozenset(found)


# ExportTraceServiceRequest, in protobuf or in JSON, as spans. What is wrong with one span costs that alone.

LARGEST_SPAN = 2_000_000
LONGEST_NAME = 400
LONGEST_STATUS = 20_000
LATEST_NS = 2**63 - 1
IDS = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})
# OTLP's own words for the two ways to send.
PROTOBUF, JSON = "application/x-protobuf", "application/json"


class Unreadable(ValueError):
    """The body is no request to export traces."""


class TooManyParts(Unreadable):
    """The body is made of so many small parts that reading it would take too long, and too much memory."""

    def __init__(self) -> None:
        super().__init__("The body holds too many spans, attributes or values. Export fewer spans at once.")


class BadSpan(ValueError):
    """A span that cannot be kept."""


@dataclass(frozen=True)
class Received:
    """The spans that can be kept, and a reason for each of those that cannot."""

    spans: tuple[Span, ...]
    rejected: tuple[str, ...]


def read_export(body: bytes, *, media_type: str) -> Received:
    """The spans of a request. Raises Unreadable, or TooManyParts before anything of it is read."""
    request = ExportTraceServiceRequest()
    if has_more_values(body, MOST_PARTS_OF_JSON) if media_type == JSON else has_many_parts(body, request):
        raise TooManyParts
    if media_type == JSON:
        _parse_json(body, request)
    else:
        try:
            request.ParseFromString(body)
        except DecodeError:
            raise Unreadable("The body is no ExportTraceServiceRequest in protobuf.") from None
    spans: list[Span] = []
    rejected: list[str] = []
    for group in request.resource_spans:
        service = str(_values(group.resource.attributes).get("service.name", ""))[:LONGEST_NAME]
        for sent in (span for scope in group.scope_spans for span in scope.spans):
            try:
                spans.append(_span(sent, service=storable(service)))
            except BadSpan as problem:
                rejected.append(str(problem))
    return Received(tuple(spans), tuple(rejected))


def _parse_json(body: bytes, request: ExportTraceServiceRequest) -> None:
    """OTLP's JSON is protobuf's, but for ids, which are hex and not base64."""
    try:
        sent = json.loads(body)
        if not isinstance(sent, dict):
            raise Unreadable("The body is no JSON object.")
        ParseDict(_with_ids(sent), request, ignore_unknown_fields=True)
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("The body is nested too deeply.") from None
    except (ParseError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise Unreadable(f"The body is no ExportTraceServiceRequest in JSON: {storable(str(error))[:300]}") from None


def _with_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64encode(bytes.fromhex(item)).decode()
        if name in IDS and isinstance(item, str)
        else _with_ids(item)
        for name, item in value.items()
    }


def _span(sent: trace_pb2.Span, *, service: str) -> Span:
    if len(sent.trace_id) != 16 or not any(sent.trace_id):
        raise BadSpan("a span has no usable trace id")
    if len(sent.span_id) != 8 or not any(sent.span_id):
        raise BadSpan("a span has no usable span id")
    if len(sent.parent_span_id) not in {0, 8}:
        raise BadSpan("a span has no usable parent span id")
    if max(sent.start_time_unix_nano, sent.end_time_unix_nano) > LATEST_NS:
        raise BadSpan("a span has a time after the year 2262")
    if sent.ByteSize() > LARGEST_SPAN:
        raise BadSpan(f"a span is larger than {LARGEST_SPAN:,} bytes")
    return Span(
        trace_id=sent.trace_id.hex(),
        span_id=sent.span_id.hex(),
        parent_id=sent.parent_span_id.hex() if any(sent.parent_span_id) else "",
        name=storable(sent.name)[:LONGEST_NAME],
        attributes=_values(sent.attributes),
        events=tuple(
            SpanEvent(storable(event.name)[:LONGEST_NAME], _values(event.attributes)) for event in sent.events
        ),
        service=service,
        is_error=sent.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
        status_message=storable(sent.status.message)[:LONGEST_STATUS],
        start_ns=sent.start_time_unix_nano,
        end_ns=max(sent.start_time_unix_nano, sent.end_time_unix_nano),
    )


def _values(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    return {storable(one.key): storable_value(_value(one.value)) for one in attributes}


def _value(value: AnyValue) -> Any:
    """The value as JSON has it. Protobuf itself refuses what is nested more than a hundred levels deep."""
    name = value.WhichOneof("value")
    held = getattr(value, name) if name else None
    match name:
        case "double_value" if not math.isfinite(value.double_value):
            return str(held)
        case "array_value":
            return [_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return {one.key: _value(one.value) for one in value.kvlist_value.values}
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
    return held


LONGEST_REASONS = 900
# google.rpc.Code by HTTP status; https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 413: 3, 415: 3, 429: 8, 500: 13, 503: 14}
UNKNOWN = 2


def success(*, rejected: Mapping[str, int], media_type: str) -> bytes:
    """An ExportTraceServiceResponse; with a partial success only where something is, by its reason, `rejected`."""
    answer = ExportTraceServiceResponse()
    if rejected:
        answer.partial_success.rejected_spans = sum(rejected.values())
        reasons = (f"{count:,} × {reason}" if count > 1 else reason for reason, count in rejected.items())
        answer.partial_success.error_message = "; ".join(reasons)[:LONGEST_REASONS]
    if media_type == JSON:
        return bytes(MessageToJson(answer, indent=None), "utf-8")
    return bytes(answer.SerializeToString())


def refusal(message: str, *, status: int, media_type: str) -> bytes:
    """A google.rpc.Status: `int32 code = 1; string message = 2`."""
    code = CODES.get(status, UNKNOWN)
    if media_type == JSON:
        return json.dumps({"code": code, "message": message}).encode()
    # No package of ours has its class. That of a partial success is the same on the wire: an integer and a text.
    return bytes(ExportTracePartialSuccess(rejected_spans=code, error_message=storable(message)).SerializeToString())
