"""Spans of a trace told as one session."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_failures import is_tool_failure
from reflection_app.sessions.otlp.conversation import NOT_KEPT, conversation_of_spans
from reflection_app.sessions.otlp.messages import messages_of
from reflection_app.sessions.otlp.wire import Span, SpanEvent
from reflection_app.sessions.recording import TranscriptSubmission
from tests.pace import within
from tests.sessions.spans import TRACE_ID, agent, asks, chat, span, tells, text, tool

SYSTEM = text("system", "You book flights.")
USER = text("user", "Cancel my trip.")
ASKS = asks("cancel", "call_1", trip="X1")
DONE = text("assistant", "It is cancelled.")


def told(*spans: Span) -> list[tuple[str, str]]:
    return [(one["role"], one["content"]) for one in conversation_of_spans(spans).messages]


def agent_at_work() -> list[Span]:
    """An agent that calls a tool and is told its error."""
    root = agent("booker", gen__ai_conversation_id="conv-7")
    return [
        root,
        chat(1, [SYSTEM, USER], [ASKS], parent=root),
        tool(3, "cancel", "call_1", parent=root, is_error=True, status_message="no such trip", error_type="KeyError"),
        chat(5, [SYSTEM, USER, ASKS, tells("call_1", "no such trip")], [DONE], parent=root),
    ]


def test_a_conversation_that_every_call_repeats_is_told_once_and_in_order() -> None:
    found = conversation_of_spans(agent_at_work())
    assert [message["role"] for message in found.messages] == ["system", "user", "assistant", "tool", "assistant"]
    _, _, asking, answer, done = found.messages
    assert asking["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "cancel", "arguments": '{"trip": "X1"}'}}
    ]
    assert (answer["tool_call_id"], answer["content"]) == ("call_1", "no such trip")
    assert is_tool_failure(answer)
    assert done["content"] == "It is cancelled."
    assert (found.agent, found.conversation_id, found.service) == ("booker", "conv-7", "shop")
    assert (found.models, found.model_calls, found.tool_calls) == (("gpt-x",), 2, 1)
    assert (found.input_tokens, found.output_tokens) == (20, 10)


def test_the_order_in_which_spans_come_changes_nothing() -> None:
    spans = agent_at_work()
    expected = conversation_of_spans(spans)
    for seed in range(20):
        random.Random(seed).shuffle(spans)
        assert conversation_of_spans(spans) == expected


def test_what_a_user_says_twice_is_told_twice() -> None:
    yes = text("user", "Yes.")
    again = [USER, DONE, yes, text("assistant", "Sure?"), yes]
    assert told(chat(1, [USER], [DONE]), chat(3, again, [text("assistant", "Done.")])) == [
        ("user", "Cancel my trip."),
        ("assistant", "It is cancelled."),
        ("user", "Yes."),
        ("assistant", "Sure?"),
        ("user", "Yes."),
        ("assistant", "Done."),
    ]


def test_a_tool_that_no_model_tells_of_is_told_by_its_own_span() -> None:
    call = tool(1, "search", result='{"hits": 3}', gen__ai_tool_call_arguments='{"q": "x"}')
    asking, answer = conversation_of_spans([call]).messages
    assert asking["tool_calls"][0]["function"] == {"name": "search", "arguments": '{"q": "x"}'}
    assert answer["tool_call_id"] == asking["tool_calls"][0]["id"]
    assert (answer["name"], answer["content"], answer["is_error"]) == ("search", '{"hits": 3}', False)


def test_without_any_content_the_calls_and_their_failures_are_told_all_the_same() -> None:
    root = agent("quiet")
    model = span("chat", 1, parent=root, gen__ai_operation_name="chat", gen__ai_request_model="m")
    raised = SpanEvent("exception", {"exception.type": "Timeout", "exception.message": "after 30 s"})
    spans = (
        root,
        model,
        tool(2, "search", parent=root),
        tool(4, "fetch", parent=root, is_error=True, events=(raised,)),
    )
    assert told(*spans) == [
        ("assistant", ""),
        ("tool", NOT_KEPT),
        ("assistant", ""),
        ("tool", "Timeout: after 30 s"),
    ]


def test_what_another_agent_below_says_carries_its_name() -> None:
    root = agent("planner")
    below = agent("searcher", 3, lasts=20, parent=root)
    spans = [
        root,
        chat(1, [USER], [asks("ask_searcher", "c1", q="trips")], parent=root),
        below,
        chat(4, [text("user", "trips")], [text("assistant", "Two trips.")], parent=below),
        chat(30, [USER, asks("ask_searcher", "c1", q="trips"), tells("c1", "Two trips.")], [DONE], parent=root),
    ]
    found = conversation_of_spans(spans)
    assert found.agent == "planner"
    assert [(one["role"], one["content"], one.get("name")) for one in found.messages] == [
        ("user", "Cancel my trip.", None),
        ("assistant", "", None),
        ("user", "trips", None),
        ("assistant", "Two trips.", "searcher"),
        ("tool", "Two trips.", None),
        ("assistant", "It is cancelled.", None),
    ]


def test_an_agents_own_span_is_read_where_no_model_below_it_tells_the_same() -> None:
    whole = agent("booker", gen__ai_input_messages=json.dumps([USER]), gen__ai_output_messages=json.dumps([DONE]))
    expected = [("user", "Cancel my trip."), ("assistant", "It is cancelled.")]
    assert told(whole) == expected
    assert told(whole, chat(2, [USER], [DONE], parent=whole)) == expected


def test_a_trace_of_a_program_that_is_no_agent_tells_nothing() -> None:
    request = span("GET /", http_route="/", http_response_status__code=200)
    embedding = span("embeddings e5", 2, gen__ai_operation_name="embeddings", gen__ai_request_model="e5")
    assert conversation_of_spans([request, embedding]).messages == ()


def test_a_models_failure_is_known_and_is_no_turn() -> None:
    failed = chat(1, [USER], [], is_error=True, status_message="overloaded")
    found = conversation_of_spans([failed])
    assert found.model_errors == ("overloaded",)
    assert [message["role"] for message in found.messages] == ["user"]


def forms_of(name: str) -> list[Any]:
    """Attributes and events of one model's call, by how libraries write it."""
    lines = map(json.loads, Path(__file__).with_name(name).read_text().splitlines())
    return [
        pytest.param(one["attributes"], tuple(SpanEvent(*event) for event in one.get("events", ())), id=one["form"])
        for one in lines
    ]


@pytest.mark.parametrize(("attributes", "events"), forms_of("forms_of_calls.jsonl"))
def test_every_form_that_the_conventions_had_says_the_same(
    attributes: dict[str, Any], events: tuple[SpanEvent, ...]
) -> None:
    bare = span("chat", 1, events=events)
    model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-x"}
    found = conversation_of_spans([Span(**{**vars(bare), "attributes": {**model, **attributes}})]).messages
    assert [(one["role"], one["content"]) for one in found] == [
        ("system", "You book flights."),
        ("user", "Cancel my trip."),
        ("assistant", ""),
    ]
    [call] = found[2]["tool_calls"]
    assert (call["id"], call["function"]) == ("call_1", {"name": "cancel", "arguments": "{}"})


def read(attributes: dict[str, Any], *, name: str = "span") -> list[tuple[str, str]]:
    """What one span of these attributes tells."""
    found = conversation_of_spans([Span(trace_id=TRACE_ID, span_id="a" * 16, name=name, attributes=attributes)])
    return [(one["role"], one["content"]) for one in found.messages]


SAID = [("user", "你好"), ("assistant", "Hello.")]


# Beyond what the recordings hold: what else libraries write for the same two messages.
@pytest.mark.parametrize(("attributes", "events"), forms_of("forms_of_texts.jsonl"))
def test_other_shapes_of_the_conventions_say_the_same(
    attributes: dict[str, Any], events: tuple[SpanEvent, ...]
) -> None:
    assert not events
    assert read(attributes) == SAID


def test_agents_that_are_known_by_their_spans_names_are_told_apart() -> None:
    root = span("Guide", lasts=100, openinference_span_kind="AGENT")
    below = span("Forecaster", 3, lasts=20, parent=root, openinference_span_kind="AGENT")
    asks_model = {"openinference.span.kind": "LLM", "llm.input_messages.0.message.content": "Rain?"}
    model = replace(
        span("llm", 4, parent=below), attributes=asks_model | {"llm.output_messages.0.message.content": "No."}
    )
    found = conversation_of_spans([root, below, model])
    assert found.agent == "Guide"
    assert [(one["content"], one.get("name")) for one in found.messages] == [("Rain?", None), ("No.", "Forecaster")]


def test_calls_of_one_tool_at_once_are_told_apart_by_their_arguments() -> None:
    root = agent("booker")
    parts = [asks("cancel", f"call_{trip}", trip=trip)["parts"][0] for trip in ("A", "B", "C")]
    given = {"B": '{"trip": "B"}', "C": "C"}
    failed = [
        tool(at, "cancel", parent=root, gen__ai_tool_call_arguments=given[trip], is_error=True, status_message=trip)
        for at, trip in enumerate(("C", "B"), 3)
    ]
    told = [USER, {"role": "assistant", "parts": parts}, tells("call_A", "done")]
    found = conversation_of_spans([root, chat(1, [USER], [told[1]], parent=root), *failed, chat(9, told, [DONE])])
    answers = {one["tool_call_id"]: one["content"] for one in found.messages if one["role"] == "tool"}
    assert answers == {"call_A": "done", "call_B": "B", "call_C": "C"}


def test_a_tool_that_ends_before_the_model_that_called_it_is_told_after_it() -> None:
    model = chat(1, [USER], [ASKS], lasts=20)
    call = tool(5, "cancel", "call_1", result="cancelled")
    assert [one["role"] for one in conversation_of_spans([call, model]).messages] == ["user", "assistant", "tool"]


def test_numbered_attributes_of_other_names_are_left_aside() -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Cancel my trip.",
        "gen_ai.prompt.0.calls": "plain text",
        "gen_ai.prompt.0.tool_calls": "plain text",
        "gen_ai.prompt.0.called": 7,
        "gen_ai.completion.0.tool_calls.0": "plain text",
        "gen_ai.completion.0.content": "It is cancelled.",
    }
    assert read(attributes) == [("user", "Cancel my trip."), ("assistant", "It is cancelled.")]


HOSTILE: list[Any] = [
    None,
    "",
    "[",
    "[1, null, [[]], {}]",
    '[{"role": 5, "parts": 7}]',
    '[{"role": "user", "parts": [{"type": "tool_call_response"}, 3, null]}]',
    '[{"role": "assistant", "tool_calls": {"a": 1}}]',
    '[{"role": "assistant", "tool_calls": [1, {"function": {"name": {"x": 1}, "arguments": [NaN]}}]}]',
    '[{"role": "user", "content": "\\u0000\\ud800"}]',
    "[" * 5_000 + "]" * 5_000,
    '{"messages": [{"role": "root", "content": "x"}]}',
    [{"role": "user", "content": {"deep": [1]}}],
    7,
    {"role": "system"},
    json.dumps([{"role": "user", "content": "🦆\x01" * 20_000}]),
    json.dumps(
        [{"role": "assistant", "tool_calls": [{"id": "i" * 999, "name": "n" * 999, "arguments": "\x02" * 9_999}] * 25}]
    ),
]


HOLDING = {
    "gen_ai.input.messages": {"gen_ai.operation.name": "chat"},
    "gen_ai.output.messages": {"gen_ai.operation.name": "chat"},
    "gen_ai.prompt": {"langsmith.span.kind": "llm"},
    "gen_ai.completion": {"gen_ai.operation.name": "chat"},
    "gen_ai.prompt.0.tool_calls": {"gen_ai.operation.name": "chat"},
    "input.value": {"openinference.span.kind": "AGENT"},
    "output.value": {"openinference.span.kind": "TOOL"},
    "llm.input_messages.0.message.content": {"openinference.span.kind": "LLM"},
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": {"openinference.span.kind": "LLM"},
    "mlflow.spanInputs": {"mlflow.spanType": '"LLM"'},
    "mlflow.chat.tokenUsage": {"mlflow.spanType": '"LLM"'},
    "traceloop.entity.input": {"traceloop.span.kind": "tool"},
    "ai.response.toolCalls": {"ai.operationId": "ai.generateText.doGenerate"},
    "ai.toolCall.result": {"ai.operationId": "ai.toolCall"},
    "openinference.span.kind": {"input.value": "x"},
}


@pytest.mark.parametrize("name", HOLDING)
def test_whatever_an_agent_sends_makes_a_session_that_can_be_stored(name: str) -> None:
    for said in HOSTILE:
        sent = Span(trace_id=TRACE_ID, span_id="a" * 16, attributes=HOLDING[name] | {name: said})
        found = conversation_of_spans([sent])
        TranscriptSubmission(messages=found.messages, agent=found.agent[:120])
        assert is_storable(list(found.messages))


def test_spans_that_are_their_own_parents_end_like_others() -> None:
    one = agent("a")
    circle = Span(**{**vars(one), "parent_id": one.span_id})
    assert conversation_of_spans([circle, chat(1, [USER], [DONE], parent=circle)]).agent == "a"


def test_geminis_parts_without_a_type_are_calls_answers_and_media() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Warm?"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        {
            "role": "model",
            "parts": [
                {"text": "Let me think.", "thought": True},
                {"functionCall": {"name": "sky", "args": {"at": "Ulm"}}},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "sky", "response": {"sun": True}}}]},
        {"role": "model", "parts": [{"text": "Yes."}]},
    ]
    assert messages_of(contents, role="user") == [
        {"role": "user", "content": "Warm?\n[image, image/png, 1 kB]"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "", "type": "function", "function": {"name": "sky", "arguments": '{"at": "Ulm"}'}}],
        },
        {"role": "tool", "tool_call_id": "", "content": '{"sun": true}'},
        {"role": "assistant", "content": "Yes."},
    ]


def test_a_long_chain_of_models_below_each_other_takes_as_long_as_there_are_spans() -> None:
    spans = [chat(0, [USER], [DONE])]
    for at in range(1, 1_500):
        spans.append(chat(at, [text("user", f"Trip {at}.")], [DONE], parent=spans[-1]))
    with within(paces=400):
        found = conversation_of_spans(spans)
    assert len(found.messages) == 2 * len(spans)


def test_calls_without_ids_are_found_as_fast_among_many_that_wait() -> None:
    many = [asks("cancel", f"call_{number}", trip=number)["parts"][0] for number in range(6_000)]
    calls = [
        tool(at, "cancel", result=f"{trip} cancelled", gen__ai_tool_call_arguments=json.dumps({"trip": trip}))
        for at, trip in enumerate(range(5_999, 4_999, -1), 10)
    ]
    with within(paces=400):
        found = conversation_of_spans([chat(1, [USER], [{"role": "assistant", "parts": many}]), *calls])
    answers = {one["tool_call_id"]: one["content"] for one in found.messages if one["role"] == "tool"}
    assert answers == {f"call_{trip}": f"{trip} cancelled" for trip in range(5_000, 6_000)}
