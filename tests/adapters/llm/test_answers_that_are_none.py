"""What a provider sends that is no whole answer, and tokens that it does not tell, whole and in a stream."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from reflection_app.adapters.llm import Completion, complete
from reflection_app.loops.attempt_effects import AnswerFault, fault_of
from tests.adapters.llm.conftest import asking
from tests.openai_server import OpenAIServer, Reply

Configured = Callable[[OpenAIServer], None]
WAYS = pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])


def answered(
    configured: Configured, reply: Reply, *, is_streamed: bool, model: str = "openai/house-model"
) -> Completion:
    with OpenAIServer(lambda _: reply) as server:
        configured(server)
        answer = complete(asking(model), on_text=(lambda _: None) if is_streamed else None)
        assert [bool(request.body.get("stream")) for request in server.requests] == [is_streamed]
    return answer


def fault_in(answer: Completion) -> AnswerFault:
    return fault_of(
        answer.text, finish_reason=answer.finish_reason, refusal=answer.refusal, tool_calls=answer.tool_calls
    )


@WAYS
@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (Reply("An answer."), ""),
        (Reply(None), "empty"),
        (Reply(""), "empty"),
        (Reply(" \n\t"), "empty"),
        (Reply(None, refusal="I cannot help with that."), "refused"),
        (Reply(None, tool_calls=["search"], finish_reason="tool_calls"), "tool_call"),
        (Reply("", tool_calls=["search"]), "tool_call"),
        (Reply("It is here.", tool_calls=["search"], finish_reason="tool_calls"), ""),
        (Reply("Half an ans", finish_reason="content_filter"), "filtered"),
        (Reply(None, finish_reason="content_filter"), "filtered"),
        (Reply("Half an ans", finish_reason="length"), "cut_off"),
        (Reply(None, finish_reason="length", completion_tokens=50, reasoning_tokens=50), "cut_off"),
    ],
)
def test_each_kind_of_answer_is_what_it_is(configured: Configured, reply: Reply, fault: str, is_streamed: bool) -> None:
    assert fault_in(answered(configured, reply, is_streamed=is_streamed)) == fault


@WAYS
def test_a_refusal_comes_with_all_of_its_words(configured: Configured, is_streamed: bool) -> None:
    answer = answered(configured, Reply(None, refusal="I cannot help with that."), is_streamed=is_streamed)
    assert (answer.text, answer.refusal) == ("", "I cannot help with that.")


@WAYS
def test_a_call_of_a_tool_is_named(configured: Configured, is_streamed: bool) -> None:
    reply = Reply(None, tool_calls=["search", "fetch"], finish_reason="tool_calls")
    assert answered(configured, reply, is_streamed=is_streamed).tool_calls == ("search", "fetch")


def test_a_refusal_that_is_told_by_its_reason_alone_has_the_text_as_its_words(configured: Configured) -> None:
    answer = answered(configured, Reply("Not that.", finish_reason="refusal"), is_streamed=False)
    assert (fault_in(answer), answer.refusal) == (AnswerFault.REFUSED, "Not that.")


@WAYS
def test_tokens_that_nobody_told_are_counted_and_marked(configured: Configured, is_streamed: bool) -> None:
    reply = Reply("Seven words are in this short sentence. " * 20, tells_usage=False)
    answer = answered(configured, reply, is_streamed=is_streamed)
    assert answer.is_estimated
    assert 10 <= answer.prompt_tokens <= 30
    assert 140 <= answer.completion_tokens <= 200
    assert (answer.cached_tokens, answer.reasoning_tokens, answer.cost_known) == (None, None, False)


@WAYS
def test_a_known_price_is_taken_times_the_tokens_that_were_counted(configured: Configured, is_streamed: bool) -> None:
    reply = Reply("word " * 1000, tells_usage=False)
    answer = answered(configured, reply, is_streamed=is_streamed, model="openai/gpt-4o-mini")
    priced = Decimal("0.15") * answer.prompt_tokens / 10**6 + Decimal("0.60") * answer.completion_tokens / 10**6
    assert (answer.cost_usd, answer.cost_known, answer.is_estimated) == (priced, True, True)


@WAYS
def test_what_a_model_thought_is_kept_beside_its_answer(configured: Configured, is_streamed: bool) -> None:
    reply = Reply("forty-two", reasoning="Six times seven.\n\nSo it is.")
    answer = answered(configured, reply, is_streamed=is_streamed)
    assert (answer.text, answer.reasoning) == ("forty-two", "Six times seven.\n\nSo it is.")
    assert answered(configured, Reply("x"), is_streamed=is_streamed).reasoning == ""


@WAYS
def test_cached_and_reasoning_tokens_are_kept_where_they_are_told(configured: Configured, is_streamed: bool) -> None:
    reply = Reply("x", prompt_tokens=100, completion_tokens=40, cached_tokens=64, reasoning_tokens=30)
    answer = answered(configured, reply, is_streamed=is_streamed)
    assert (answer.cached_tokens, answer.reasoning_tokens, answer.is_estimated) == (64, 30, False)
    untold = answered(configured, Reply("x"), is_streamed=is_streamed)
    assert (untold.cached_tokens, untold.reasoning_tokens, untold.is_estimated) == (None, None, False)


def test_a_long_text_without_a_space_is_counted(configured: Configured) -> None:
    answer = answered(configured, Reply("好" * 50_000, tells_usage=False), is_streamed=False)
    assert answer.completion_tokens >= 50_000
