"""What other people's instrumentations export. `docs/reference/otlp.md` has the versions that were recorded."""

import gzip
import json
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from google.protobuf.json_format import ParseDict
from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pytest_django.live_server_helper import LiveServer

from reflection_app.sessions.models import AgentSpan, Transcript, TranscriptTurn
from reflection_app.sessions.otlp.conversation import Conversation, conversation_of_spans
from reflection_app.sessions.otlp.reading import unread_reasons
from reflection_app.sessions.otlp.wire import JSON, PROTOBUF, Span, _with_ids, read_export
from reflection_app.sessions.traces import assemble_due
from tests import given
from tests.api.caller import Caller
from tests.openai_server import OpenAIServer, Reply

PAYLOADS = Path(__file__).parent / "otlp_payloads"
PATH = "/v1/traces"
QUESTION = "How is the weather in 北京 and in Atlantis?"
ANSWER = "北京晴，21 °C；Atlantis 没有气象站。"
SUNNY = "晴, 21 °C"
# The recording, the agent and the conversation that it names, and what the tool's failure is told as.
NO_STATION = "no station in Atlantis"
RAISED = f"LookupError: {NO_STATION}"
RECORDED = {
    "langsmith_langgraph": ("weather_agent", "session-1", NO_STATION),
    "mlflow_openai": ("Weather agent", "", RAISED),
    "openai_v2": ("Weather agent", "", RAISED),
    "openinference_langgraph": ("weather_agent", "session-1", NO_STATION),
    "openinference_openai": ("Weather agent", "session-1", RAISED),
    "openllmetry_langgraph": ("weather_agent", "session-1", NO_STATION),
    "openllmetry_openai": ("Weather agent", "session-1", NO_STATION),
    "pydantic_ai_agent": ("Weather agent", "session-1", NO_STATION),
    "vercel_ai_6": ("weather-agent", "session-1", NO_STATION),
    "vercel_ai_7": ("weather-agent", "", NO_STATION),
}


def requests_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (PAYLOADS / f"{name}.jsonl").read_text().splitlines()]


def spans_of(name: str) -> list[Span]:
    bodies = (json.dumps(request).encode() for request in requests_of(name))
    return [span for body in bodies for span in read_export(body, media_type=JSON).spans]


def conversations_in(spans: list[Span]) -> list[Conversation]:
    """One for each trace that tells of one, in the order in which the traces began."""
    traces = dict.fromkeys(span.trace_id for span in sorted(spans, key=lambda span: span.start_ns))
    told = (conversation_of_spans([span for span in spans if span.trace_id == trace]) for trace in traces)
    return [one for one in told if one.messages]


def test_every_recording_is_expected_to_say_something() -> None:
    recorded = {path.stem for path in PAYLOADS.iterdir()}
    assert recorded == {*RECORDED, "openinference_agents", "openllmetry_before"}


@pytest.mark.parametrize("name", RECORDED)
def test_whichever_library_traced_it_the_session_is_the_same(name: str) -> None:
    agent, conversation, failure = RECORDED[name]
    [found] = conversations_in(spans_of(name))
    assert (found.agent, found.conversation_id, found.service) == (agent, conversation, "weather-service")
    assert (found.models, found.model_calls, found.tool_calls) == (("gpt-test",), 2, 2)
    assert (found.input_tokens, found.output_tokens, found.model_errors) == (100, 30, ())
    system, user, asking, *answers, said = found.messages
    assert (system, user) == (
        {"role": "system", "content": "You tell the weather."},
        {"role": "user", "content": QUESTION},
    )
    assert (asking["role"], asking["content"]) == ("assistant", "")
    calls = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in asking["tool_calls"]]
    assert calls == [("call-0", "weather", '{"city": "北京"}'), ("call-1", "weather", '{"city": "Atlantis"}')]
    # At once, so that they may end in any order.
    by_id = {answer["tool_call_id"]: answer for answer in answers}
    assert {answer["role"] for answer in answers} == {"tool"}
    assert (by_id["call-0"]["content"], by_id["call-0"].get("is_error", False)) == (SUNNY, False)
    assert (by_id["call-1"]["content"], by_id["call-1"]["is_error"]) == (failure, True)
    assert said == {"role": "assistant", "content": ANSWER}


def test_an_agent_that_is_the_tool_of_another_is_told_in_its_place_and_by_its_name() -> None:
    [found] = conversations_in(spans_of("openinference_agents"))
    assert (found.agent, found.model_calls, found.tool_calls) == ("Guide", 4, 3)
    assert [(one["role"], one.get("name"), one.get("is_error")) for one in found.messages] == [
        ("system", None, None),
        ("user", None, None),
        ("assistant", None, None),
        ("system", None, None),
        ("user", None, None),
        ("assistant", "Forecaster", None),
        ("tool", "weather", False),
        ("tool", "weather", True),
        ("assistant", "Forecaster", None),
        ("tool", "ask_forecaster", False),
        ("assistant", None, None),
    ]
    assert found.messages[-1]["content"] == found.messages[-2]["content"] == ANSWER


def test_calls_without_a_span_around_them_are_traces_of_their_own_and_come_in_one_request() -> None:
    first, second = conversations_in(spans_of("openllmetry_before"))
    assert len(requests_of("openllmetry_before")) == 1
    assert [one["role"] for one in first.messages] == ["system", "user", "assistant"]
    assert [(one["role"], one["content"]) for one in second.messages][-3:] == [
        ("tool", SUNNY),
        ("tool", f"Error: {NO_STATION}"),
        ("assistant", ANSWER),
    ]
    assert (second.agent, second.input_tokens, second.output_tokens) == ("weather-service", 60, 20)


@pytest.mark.parametrize("name", [*RECORDED, "openinference_agents", "openllmetry_before"])
def test_nothing_of_what_the_libraries_send_is_a_riddle_and_the_order_changes_nothing(name: str) -> None:
    spans = spans_of(name)
    assert unread_reasons(spans) == [""] * len(spans)
    expected = conversations_in(spans)
    shuffled = [*spans]
    random.Random(name).shuffle(shuffled)
    assert conversations_in(shuffled) == expected


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["openinference_openai", "langsmith_langgraph"])
def test_recorded_exports_in_protobuf_make_one_session_also_when_they_are_sent_again(caller: Caller, name: str) -> None:
    for request in requests_of(name) * 2:
        message = ParseDict(_with_ids(request), ExportTraceServiceRequest(), ignore_unknown_fields=True)
        body = gzip.compress(message.SerializeToString(), mtime=0)
        answer = caller.call("POST", PATH, data=body, content_type=PROTOBUF, headers={"content-encoding": "gzip"})
        assert (answer.status, answer.body) == (200, None)
    assert AgentSpan.objects.count() == len(spans_of(name))
    assemble_due(timezone.now() + timedelta(minutes=2))
    session = Transcript.objects.get()
    turns = TranscriptTurn.objects.filter(transcript=session).order_by("seq")
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert [turn.tool_name for turn in turns if turn.is_tool_failure] == ["weather"]
    assert (session.agent, session.external_id, session.objective) == (RECORDED[name][0], "session-1", QUESTION)
    assert turns[5].content == ANSWER


@pytest.mark.django_db
def test_a_trace_that_comes_in_many_requests_last_span_first_makes_the_same_session(caller: Caller) -> None:
    for request in reversed(requests_of("openllmetry_openai")):
        answer = caller.call("POST", PATH, data=json.dumps(request).encode(), content_type=JSON)
        assert (answer.status, answer.body) == (200, {})
    assemble_due(timezone.now() + timedelta(minutes=2))
    turns = TranscriptTurn.objects.order_by("seq")
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "tool", "tool", "assistant"]


@pytest.mark.django_db(transaction=True)
def test_openinference_itself_exports_what_openais_client_streams_and_a_session_is_made_of_it(
    live_server: LiveServer,
) -> None:
    caller = given.caller()
    headers = {"Authorization": f"Bearer {caller.secret}"}
    provider = TracerProvider(resource=Resource.create({"service.name": "airline"}))
    provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(f"{live_server.url}{PATH}", headers=headers, compression=Compression.Gzip))
    )
    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        with OpenAIServer(lambda _: Reply(ANSWER)) as server, OpenAI(base_url=server.url, api_key="none") as client:
            question: Any = [{"role": "user", "content": QUESTION}]
            stream = client.chat.completions.create(model="gpt-test", messages=question, stream=True)
            assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == ANSWER
    finally:
        instrumentor.uninstrument()
    assert provider.force_flush()
    provider.shutdown()
    assemble_due(timezone.now() + timedelta(minutes=2))
    session = Transcript.objects.get()
    turns = TranscriptTurn.objects.filter(transcript=session).order_by("seq")
    assert [(turn.role, turn.content) for turn in turns] == [("user", QUESTION), ("assistant", ANSWER)]
    assert session.agent == "airline"
