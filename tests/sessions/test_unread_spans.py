"""What comes over OpenTelemetry and is in no session: counted with the reason."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.sessions import traces as sessions_traces
from reflection_app.sessions.models import AgentTrace, Transcript
from reflection_app.sessions.otlp.reading import NO_CONVENTION, UNKNOWN_KIND, is_plain, unread_reasons
from reflection_app.sessions.otlp.wire import JSON, Span
from reflection_app.sessions.traces import assemble_due, forget_spans, take_spans, traces_without_session
from tests import given
from tests.api.caller import Caller
from tests.pace import within
from tests.sessions.spans import TRACE_ID, agent, chat, span, text

pytestmark = pytest.mark.django_db

USER, DONE = text("user", "取消我的行程。"), text("assistant", "It is cancelled.")


def later(**ago: float) -> datetime:
    return timezone.now() + timedelta(**ago)


def exported(*spans: Span) -> bytes:
    """As OTLP's JSON has them."""
    sent = [
        {
            "traceId": one.trace_id,
            "spanId": one.span_id,
            "parentSpanId": one.parent_id,
            "name": one.name,
            "startTimeUnixNano": str(one.start_ns),
            "endTimeUnixNano": str(one.end_ns),
            "attributes": [
                {"key": name, "value": {"stringValue": str(value)}} for name, value in one.attributes.items()
            ],
        }
        for one in spans
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": sent}]}]}).encode()


def send(caller: Caller, *spans: Span) -> Any:
    answer = caller.call("POST", "/v1/traces", data=exported(*spans), content_type=JSON)
    assert answer.status == 200
    return answer.body


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"openinference.span.kind": "LLM"}, ""),
        ({"openinference.span.kind": "ORACLE"}, UNKNOWN_KIND),
        ({"input.value": "Who am I?"}, UNKNOWN_KIND),
        ({"gen_ai.operation.name": "divine"}, UNKNOWN_KIND),
        ({"gen_ai.operation.name": "divine", "traceloop.span.kind": "tool"}, ""),
        ({"gen_ai.agent.name": "booker"}, ""),
        ({"ai.operationId": "ai.paint"}, UNKNOWN_KIND),
        ({"mlflow.spanType": '"SEANCE"'}, UNKNOWN_KIND),
        ({"langsmith.span.kind": "llm"}, ""),
        ({"my_agent.step": "think"}, NO_CONVENTION),
        ({"my_agent.step": "think", "http.route": "/"}, NO_CONVENTION),
        ({"http.route": "/", "code.function.name": "f"}, ""),
    ],
)
def test_a_span_is_not_understood_where_it_may_be_an_agents_and_says_nothing_known(
    attributes: dict[str, Any], reason: str
) -> None:
    assert unread_reasons([Span(trace_id=TRACE_ID, span_id="a" * 16, attributes=attributes)]) == [reason]


def test_a_span_is_plain_where_it_says_what_any_program_says() -> None:
    assert is_plain(span("GET /", http_route="/", user__agent_original="curl"))
    assert not is_plain(span("GET /", http_route="/", my__agent_step="think"))


def test_what_is_not_understood_is_counted_with_the_reason_and_counted_again_when_it_is_sent_again(
    caller: Caller,
) -> None:
    root = agent("booker")
    strange = span("divine", 1, parent=root, gen__ai_operation_name="divine", gen__ai_prompt="Who am I?")
    own = span("think", 2, parent=root, my__agent_step="think")
    first = send(caller, root, chat(3, [USER], [DONE], parent=root), strange, own)
    assert first["partialSuccess"]["rejectedSpans"] == "2"
    message = first["partialSuccess"]["errorMessage"]
    assert UNKNOWN_KIND in message
    assert NO_CONVENTION in message
    assert send(caller, strange, own)["partialSuccess"]["rejectedSpans"] == "2"
    assemble_due(later(minutes=2))
    assert Transcript.objects.get().turns_made == 2


def test_what_tells_of_no_agent_is_not_kept(caller: Caller) -> None:
    plain, own = span("GET /", http_route="/"), span("think", 1, my__agent_step="思考")
    answer = send(caller, plain, own)["partialSuccess"]
    assert answer["rejectedSpans"] == "2"
    assert sessions_traces.NO_AGENT in answer["errorMessage"]
    assert not AgentTrace.objects.exists()
    # Its agent's spans come after all: the trace is a session like any other.
    root = agent("booker", parent=plain)
    send(caller, root, chat(3, [USER], [DONE], parent=root))
    assert assemble_due(later(minutes=20)) == 1
    assert Transcript.objects.get().turns_made == 2


@pytest.mark.django_db(transaction=True)
def test_a_trace_without_messages_is_said_to_have_none_until_they_come(client: Client) -> None:
    project = given.project("traced")
    root = agent("quiet")
    silent = span("chat", 1, parent=root, gen__ai_operation_name="chat", gen__ai_request_model="m")
    take_spans(project, [root, silent])
    assert assemble_due(later(minutes=2)) == 1
    assert traces_without_session(project) == {sessions_traces.NO_CONTENT: 1}
    assert f"1 × {sessions_traces.NO_CONTENT}" in given.logged_in(client, project).get("/p/traced/transcripts/").text
    take_spans(project, [chat(3, [USER], [DONE], parent=root)])
    assert assemble_due(later(minutes=2)) == 1
    assert traces_without_session(project) == {}
    assert Transcript.objects.get().objective == "取消我的行程。"
    take_spans(project, [replace(silent, trace_id="c" * 32)])
    assemble_due(later(minutes=20))
    forget_spans(later(days=8))
    assert traces_without_session(project) == {}


def test_a_request_of_few_bytes_does_not_keep_the_desk_busy_with_reading() -> None:
    # A kind is stated by none of them, so that only what they hold can tell it.
    holding = "[" + '{"content": [{}]}, ' * 50_000 + "{}]"
    spans = [span(f"strange {number}", gen__ai_input_messages=holding) for number in range(4)]
    model = chat(1, [USER], [DONE])
    project = given.project()
    with within(paces=500):
        taken = take_spans(project, [*spans, model])
    assert sum(taken.rejected.values()) == len(spans)
