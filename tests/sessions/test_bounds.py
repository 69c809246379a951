"""Bodies that are small, and would be huge once they are read."""

import json

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from reflection_app.sessions.otlp.wire import (
    JSON,
    MOST_PARTS,
    MOST_PARTS_OF_JSON,
    PROTOBUF,
    TooManyParts,
    Unreadable,
    has_many_parts,
    read_export,
)
from tests.sessions.spans import TRACE_ID


def delimited(field: int, content: bytes) -> bytes:
    """A field of protobuf that holds bytes."""
    length, written = len(content), bytearray([field << 3 | 2])
    while length > 0x7F:
        written.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes(written) + bytes([length]) + content


def exported(scope_spans: bytes) -> bytes:
    return delimited(1, delimited(2, scope_spans))


def spans_of_a_batch(many: int) -> bytes:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in range(1, many + 1):
        attributes = [KeyValue(key=f"a{one}") for one in range(20)]
        span = scope.spans.add(trace_id=bytes.fromhex(TRACE_ID), span_id=number.to_bytes(8), attributes=attributes)
        for attribute in span.attributes:
            attribute.value.string_value = "x"
    return bytes(request.SerializeToString())


@pytest.mark.parametrize(
    "body",
    [
        exported(b"\x12\x00" * (MOST_PARTS + 1)),
        exported(delimited(2, b"\x4a\x00" * (MOST_PARTS + 1))),
        delimited(1, b"\x0a\x00" * (MOST_PARTS + 1)),
        delimited(1, delimited(1, b"\x0a\x00" * (MOST_PARTS + 1))),
        b"\x78\x00" * (MOST_PARTS + 1),
    ],
    ids=["spans", "attributes", "resources", "attributes of a resource", "fields that nobody knows"],
)
def test_protobuf_of_very_many_parts_is_refused_before_it_is_read(body: bytes) -> None:
    with pytest.raises(TooManyParts):
        read_export(body, media_type=PROTOBUF)


def test_json_of_very_many_parts_is_refused_before_it_is_read() -> None:
    spans = b",".join([b"{}"] * (MOST_PARTS_OF_JSON + 1))
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + spans + b"]}]}]}"
    with pytest.raises(TooManyParts):
        read_export(body, media_type=JSON)


def test_a_collectors_usual_batch_is_read() -> None:
    # Messages that follow one another are one message of all their parts.
    body = spans_of_a_batch(8) * 1024
    assert not has_many_parts(body, ExportTraceServiceRequest())
    assert len(read_export(body[: len(body) // 1024], media_type=PROTOBUF).spans) == 8


def test_a_long_text_is_one_part_whatever_it_says() -> None:
    value = {"stringValue": "a, b; " * 1_000_000}
    span = {"traceId": TRACE_ID, "spanId": "eee19b7ec3c1b174", "attributes": [{"key": "a", "value": value}]}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    # Refused for its size alone, span by span.
    assert read_export(body, media_type=JSON).rejected


@pytest.mark.parametrize("body", [b"\x0a", b"\x0a\xff", b"\x0a\x05\x12", b"\xff" * 40, b"\x0b" * 400, b"\x0f\x00"])
def test_what_is_no_protobuf_is_left_to_the_parser(body: bytes) -> None:
    assert not has_many_parts(body, ExportTraceServiceRequest())
    with pytest.raises(Unreadable):
        read_export(body, media_type=PROTOBUF)
