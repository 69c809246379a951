"""ExportTraceServiceRequest, in protobuf or in JSON, as spans. What is wrong with one span costs that alone."""

import base64
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from reflection_app.loops.storable import storable, storable_value
from reflection_app.sessions.otlp.bounds import has_many_parts, has_many_parts_of_json
from reflection_app.sessions.otlp.spans import Span, SpanEvent

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
    request = _from_json(body) if media_type == JSON else _from_protobuf(body)
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


def _from_protobuf(body: bytes) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    if has_many_parts(body, request):
        raise TooManyParts
    try:
        request.ParseFromString(body)
    except DecodeError:
        raise Unreadable("The body is no ExportTraceServiceRequest in protobuf.") from None
    return request


def _from_json(body: bytes) -> ExportTraceServiceRequest:
    """OTLP's JSON is protobuf's, but for ids, which are hex and not base64."""
    request = ExportTraceServiceRequest()
    if has_many_parts_of_json(body):
        raise TooManyParts
    try:
        sent = json.loads(body)
        if not isinstance(sent, dict):
            raise Unreadable("The body is no JSON object.")
        ParseDict(_with_ids(sent), request, ignore_unknown_fields=True)
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("The body is nested too deeply.") from None
    except (ParseError, ValueError, TypeError, AttributeError) as error:
        raise Unreadable(f"The body is no ExportTraceServiceRequest in JSON: {storable(str(error))[:300]}") from None
    return request


def _with_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _in_base64(item) if name in IDS and isinstance(item, str) else _with_ids(item)
        for name, item in value.items()
    }


def _in_base64(written: str) -> str:
    return base64.b64encode(bytes.fromhex(written)).decode()


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
    span = Span(
        trace_id=sent.trace_id.hex(),
        span_id=sent.span_id.hex(),
        parent_id=sent.parent_span_id.hex() if any(sent.parent_span_id) else "",
        name=storable(sent.name)[:LONGEST_NAME],
        attributes=_values(sent.attributes),
        events=tuple(_event(event) for event in sent.events),
        service=service,
        is_error=sent.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
        status_message=storable(sent.status.message)[:LONGEST_STATUS],
        start_ns=sent.start_time_unix_nano,
        end_ns=max(sent.start_time_unix_nano, sent.end_time_unix_nano),
    )
    # Of others only the place in the tree is of use: who called whom.
    return span if span.tells_of_agents else _bare(span)


def _event(sent: trace_pb2.Span.Event) -> SpanEvent:
    return SpanEvent(storable(sent.name)[:LONGEST_NAME], _values(sent.attributes))


def _bare(span: Span) -> Span:
    return Span(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_id,
        name=span.name,
        service=span.service,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
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
