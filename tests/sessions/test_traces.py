"""Traces of agents over OTLP: taken in both forms, kept once, and made sessions."""

import gzip
import json
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project
from reflection_app.sessions import api as sessions_api
from reflection_app.sessions import traces as sessions_traces
from reflection_app.sessions.models import AgentSpan, AgentTrace, Reflector, Transcript, TranscriptTurn
from reflection_app.sessions.otlp.wire import JSON, PROTOBUF, Span
from reflection_app.sessions.recording import open_transcript
from reflection_app.sessions.traces import MOST_SPANS_IN_A_TRACE, NO_AGENT, assemble_due, forget_spans, take_spans
from tests import given
from tests.api.caller import Answer, Caller
from tests.notebook.at_once import at_once
from tests.pace import PATIENCE_S, within
from tests.sessions.looking_back import session_project
from tests.sessions.spans import TRACE_ID, agent, asks, chat, span, tells, text, tool

pytestmark = pytest.mark.django_db

PATH = "/v1/traces"
USER = text("user", "Cancel my trip.")
SPAN = {
    "traceId": TRACE_ID,
    "spanId": "EEE19B7EC3C1B174",
    "name": "chat gpt-x",
    "startTimeUnixNano": "1700000000000000000",
    "endTimeUnixNano": "1700000001000000000",
    "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps([USER])}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "12"}},
        {"key": "gen_ai.request.temperature", "value": {"doubleValue": "NaN"}},
    ],
    "status": {"code": 2, "message": "overloaded"},
    "unknownField": 1,
}
# JSON has numbers of any length.
DOUBLE = {"resourceSpans": [{"resource": {"attributes": [{"key": "k", "value": {"doubleValue": 10**400}}]}}]}


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def post(caller: Caller, body: Any, *, media_type: str = JSON, **headers: str) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return caller.call("POST", PATH, data=data, content_type=media_type, headers=named)


def in_protobuf(*ids: str) -> bytes:
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for span_id in ids:
        sent = spans.add(trace_id=bytes.fromhex(TRACE_ID), span_id=bytes.fromhex(span_id), name="x")
        sent.attributes.add(key="gen_ai.agent.name").value.string_value = "booker"
    return bytes(request.SerializeToString())


def later(**ago: float) -> datetime:
    return timezone.now() + timedelta(**ago)


def spans_at_work() -> list[Span]:
    asking = asks("cancel", "call_1", trip="X1")
    root = agent("booker", gen__ai_conversation_id="conv-7")
    return [
        root,
        chat(1, [USER], [asking], parent=root),
        tool(3, "cancel", "call_1", parent=root, is_error=True, status_message="no such trip"),
        chat(5, [USER, asking, tells("call_1", "no such trip")], [text("assistant", "There is none.")], parent=root),
    ]


def roles(transcript: Transcript) -> list[str]:
    return list(TranscriptTurn.objects.filter(transcript=transcript).order_by("seq").values_list("role", flat=True))


def test_json_is_taken_once_however_often_it_is_sent(caller: Caller) -> None:
    for _ in range(2):
        answer = post(caller, export(SPAN))
        assert (answer.status, answer.body, answer.headers["content-type"]) == (200, {}, JSON)
    row = AgentSpan.objects.get()
    assert (row.span_id, row.start_ns, row.status_message) == ("eee19b7ec3c1b174", 1700000000000000000, "overloaded")
    assert row.attributes["gen_ai.usage.input_tokens"] == 12
    assert row.attributes["gen_ai.request.temperature"] == "nan"
    kept = AgentTrace.objects.get()
    assert (kept.project, kept.trace_id, kept.spans_received, kept.has_root) == (caller.project, TRACE_ID, 1, True)


def test_protobuf_is_taken_folded_or_not_and_answered_in_kind(caller: Caller) -> None:
    for body, headers in (
        (in_protobuf("00000000000000a1"), {}),
        (gzip.compress(in_protobuf("00000000000000a2"), mtime=0), {"content_encoding": "gzip"}),
    ):
        answer = post(caller, body, media_type=PROTOBUF, **headers)
        assert (answer.status, answer.headers["content-type"]) == (200, PROTOBUF)
        told = ExportTraceServiceResponse.FromString(answer.body or b"")
        assert not told.HasField("partial_success")
    assert AgentSpan.objects.count() == 2


def test_spans_that_cannot_be_kept_are_counted_and_the_others_kept(caller: Caller) -> None:
    bad = [
        {**SPAN, "traceId": "00" * 16},
        {**SPAN, "spanId": "abcd"},
        {**SPAN, "parentSpanId": "abcd"},
        {**SPAN, "endTimeUnixNano": str(2**64 - 1)},
        {**SPAN, "attributes": [{"key": "gen_ai.prompt", "value": {"stringValue": "x" * 2_000_001}}]},
    ]
    answer = post(caller, export(*bad, SPAN))
    assert answer.status == 200
    assert answer.body["partialSuccess"]["rejectedSpans"] == "5"
    assert "no usable trace id" in answer.body["partialSuccess"]["errorMessage"]
    assert AgentSpan.objects.count() == 1


def test_a_trace_has_room_for_so_many_spans(caller: Caller) -> None:
    post(caller, export(SPAN))
    AgentTrace.objects.update(spans_received=MOST_SPANS_IN_A_TRACE)
    answer = post(caller, in_protobuf("00000000000000b1", "eee19b7ec3c1b174"), media_type=PROTOBUF)
    told = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (told.rejected_spans, AgentTrace.objects.get().spans_dropped) == (1, 1)


def test_a_request_has_room_for_so_many_spans(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_api, "MOST_SPANS_AT_ONCE", 2)
    three = [{**SPAN, "spanId": f"{n:016x}"} for n in (1, 2, 3)]
    answer = post(caller, export(*three)).body["partialSuccess"]
    assert answer == {"rejectedSpans": "1", "errorMessage": "a request has more than 2 spans"}
    assert AgentSpan.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "media_type", "headers", "status"),
    [
        (b"{", JSON, {}, 400),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "xyz"}]}]}]}', JSON, {}, 400),
        (b"[]", JSON, {}, 400),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"kind": 1e999}]}]}]}', JSON, {}, 400),
        (json.dumps(DOUBLE).encode(), JSON, {}, 400),
        (b"[" * 100_000, JSON, {}, 400),
        (b"\xff\xff\xff", PROTOBUF, {}, 400),
        (b"no gzip", PROTOBUF, {"content_encoding": "gzip"}, 400),
        (gzip.compress(b"\0" * 50_000_000, mtime=0), PROTOBUF, {"content_encoding": "gzip"}, 413),
        (b"{}", JSON, {"content_encoding": "br"}, 415),
        (b"{}", "text/plain", {}, 415),
    ],
)
def test_what_is_no_export_is_refused_in_the_form_of_otlp(
    caller: Caller, body: bytes, media_type: str, headers: dict[str, str], status: int
) -> None:
    answer = post(caller, body, media_type=media_type, **headers)
    assert answer.status == status
    if media_type == JSON:
        assert answer.headers["content-type"] == JSON
        assert set(answer.body) == {"code", "message"}
    else:
        assert answer.headers["content-type"] == PROTOBUF
        told = Status.FromString(answer.body)
        assert told.code == 3
        assert told.message
    assert not AgentTrace.objects.exists()


def test_a_key_with_the_scope_is_needed_and_says_so_in_kind(caller: Caller) -> None:
    stranger = Caller(caller.project, caller.key, "rd_wrong")
    reader = given.caller(scopes=["runs:read"])
    assert (post(stranger, export(SPAN)).status, post(reader, export(SPAN)).status) == (401, 403)
    assert post(stranger, export(SPAN)).body["code"] == 16
    assert "tasks:write" in post(reader, export(SPAN)).body["message"]
    assert "Bearer" in post(stranger, export(SPAN)).headers["www-authenticate"]
    assert caller.call("GET", PATH).status == 405
    assert not AgentTrace.objects.exists()


def test_spans_are_those_of_the_keys_project_alone(caller: Caller) -> None:
    other = given.caller()
    for one in (caller, other):
        post(one, export(SPAN))
    assert set(AgentTrace.objects.values_list("project", "spans_received")) == {
        (caller.project.pk, 1),
        (other.project.pk, 1),
    }


def test_a_trace_becomes_a_session_that_ends_when_no_more_of_it_comes_and_is_looked_back_at() -> None:
    project = session_project()
    root, first, failed, last = spans_at_work()
    take_spans(project, [first, failed])
    assert assemble_due(later(seconds=30)) == 0
    take_spans(project, [root])
    assert assemble_due(later(seconds=1)) == 0
    assert assemble_due(later(seconds=10)) == 1
    opened = Transcript.objects.get()
    assert (roles(opened), opened.is_ended) == (["user", "assistant", "tool"], False)
    assert TranscriptTurn.objects.get(role="tool").is_tool_failure
    assert (opened.agent, opened.external_id, opened.objective) == ("booker", "conv-7", "Cancel my trip.")
    assert assemble_due(later(seconds=20)) == 0

    take_spans(project, [last])
    assert assemble_due(later(seconds=120)) == 1
    opened.refresh_from_db()
    assert (roles(opened), opened.is_ended) == (["user", "assistant", "tool", "assistant"], True)
    assert (opened.metadata["model_calls"], opened.metadata["prompt_tokens"]) == (2, 20)
    assert Reflector.objects.filter(transcript=opened).count() == 2
    assert AuditEntry.objects.filter(action="transcript.ended", target_id=opened.pk).count() == 1
    assert assemble_due(later(seconds=300)) == 0

    take_spans(project, [chat(9, [USER], [text("assistant", "Late.")], parent=root)])
    assert assemble_due(later(seconds=1)) == 1
    kept = AgentTrace.objects.get()
    assert (roles(opened), kept.problem) == (["user", "assistant", "tool", "assistant"], sessions_traces.LATE)
    assert forget_spans(later(days=6)) == 0
    assert forget_spans(later(days=8)) == 5


def test_a_trace_without_its_root_waits_longer_and_is_made_a_session_all_the_same() -> None:
    take_spans(given.project(), spans_at_work()[1:])
    assert assemble_due(later(minutes=14)) == 0
    assert assemble_due(later(minutes=16)) == 1
    assert Transcript.objects.get().is_ended


def test_a_trace_of_no_agent_is_let_go_and_one_that_cannot_be_read_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take_spans(given.project(), [span("embeddings e5", gen__ai_operation_name="embeddings")])
    assert assemble_due(later(seconds=10)) == 1
    assert not AgentTrace.objects.exists()

    broken, sound = given.project(), given.project()
    take_spans(broken, spans_at_work())
    take_spans(sound, spans_at_work())

    def refusing(project: Project, *args: Any, **more: Any) -> Transcript:
        if project == broken:
            raise ValueError("not this one")
        return open_transcript(project, *args, **more)

    monkeypatch.setattr(sessions_traces, "open_transcript", refusing)
    assert assemble_due(later(minutes=2)) == 2
    assert Transcript.objects.get().project == sound
    assert AgentTrace.objects.get(project=broken).problem == sessions_traces.FAILED
    assert assemble_due(later(minutes=3)) == 0


def test_a_long_session_comes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_traces, "MOST_MESSAGES_AT_ONCE", 3)
    said = [text("user" if number % 2 else "assistant", f"Word {number}") for number in range(10)]
    take_spans(given.project(), [chat(1, said, [])])
    assemble_due(later(minutes=2))
    assert Transcript.objects.get().turns_made == 10


def test_many_traces_at_once_cost_hardly_more_than_one(django_assert_max_num_queries: Any) -> None:
    project = given.project()
    many = [replace(span("chat", gen__ai_operation_name="chat"), trace_id=f"{n:032x}") for n in range(1, 301)]
    with django_assert_max_num_queries(12):
        assert take_spans(project, many).new == 300
    again = [replace(one, span_id=f"{n:016x}", parent_id="1" * 16) for n, one in enumerate(many, 10**9)]
    with django_assert_max_num_queries(12):
        assert take_spans(project, [*many, *again]).new == 300
    counted = AgentTrace.objects.filter(project=project, spans_received=2, spans_dropped=0, has_root=True)
    assert counted.count() == 300


def test_long_spans_of_many_traces_take_as_long_as_there_are_many() -> None:
    one = span("chat", gen__ai_operation_name="chat", filler="x" * 4_000)
    spans = [
        replace(one, trace_id=f"{trace:032x}", span_id=f"{number:016x}")
        for trace in range(1, 101)
        for number in range(1, 21)
    ]
    with within(paces=150):
        assert take_spans(given.project(), spans).new == 2_000


def test_of_programs_that_are_no_agents_nothing_is_kept_but_what_stands_beside_an_agent_is() -> None:
    project = given.project()
    plain = span("GET /", http_route="/")
    refused = take_spans(project, [plain])
    assert (refused.new, refused.rejected) == (0, {NO_AGENT: 1})
    assert not AgentTrace.objects.exists()
    assert take_spans(project, [plain, agent("booker", parent=plain)]).new == 2
    assert AgentSpan.objects.get(span_id=plain.span_id).attributes == {}
    assert take_spans(project, [span("SELECT", parent=plain)]).new == 1


@pytest.mark.django_db(transaction=True)
def test_the_same_spans_sent_twice_at_once_are_kept_once() -> None:
    project, spans = given.project(), spans_at_work()
    barrier = threading.Barrier(2)

    def send(_: int) -> int:
        barrier.wait(PATIENCE_S)
        return take_spans(project, spans).new

    assert sorted(at_once(send, range(2), threads=2)) == [0, 4]
    assert (AgentSpan.objects.count(), AgentTrace.objects.get().spans_received) == (4, 4)


@pytest.mark.django_db(transaction=True)
def test_two_workers_make_one_session_of_a_trace() -> None:
    take_spans(given.project(), spans_at_work())
    barrier = threading.Barrier(2)

    def work(_: int) -> int:
        barrier.wait(PATIENCE_S)
        return assemble_due(later(minutes=2))

    assert sum(at_once(work, range(2), threads=2)) == 1
    assert Transcript.objects.get().turns_made == 4
