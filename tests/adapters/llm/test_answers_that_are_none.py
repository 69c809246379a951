"""What a provider sends that is no whole answer, and tokens that it does not tell, whole and in a stream."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from reflection_app.adapters.llm import Completion, complete
from reflection_app.loops.attempt_effects import AnswerFault, fault_of
from tests.adapters.llm.conftest import asking
from tests.anthropic_server import STOPS, AnthropicServer
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
        (Reply(" \n\t"), "empty"),
        (Reply(None, refusal="I cannot help with that."), "refused"),
        (Reply(None, tool_calls=["search"], finish_reason="tool_calls"), "tool_call"),
        (Reply("", tool_calls=["search"]), "tool_call"),
        (Reply("It is here.", tool_calls=["search"], finish_reason="tool_calls"), ""),
        (Reply(None, finish_reason="content_filter"), "filtered"),
        (Reply(None, finish_reason="length", completion_tokens=50, reasoning_tokens=50), "cut_off"),
        (Reply("It ends here.", finish_reason="eos"), ""),
    ],
)
def test_each_kind_of_answer_is_what_it_is(configured: Configured, reply: Reply, fault: str, is_streamed: bool) -> None:
    assert fault_in(answered(configured, reply, is_streamed=is_streamed)) == fault


@WAYS
@pytest.mark.parametrize("word", ["network_error", "pause_turn"])
def test_a_word_that_does_not_mean_whole_is_a_cut_off_answer_and_is_stored(
    configured: Configured, word: str, is_streamed: bool
) -> None:
    answer = answered(configured, Reply("Half an ans", finish_reason=word), is_streamed=is_streamed)
    assert (fault_in(answer), answer.finish_reason) == (AnswerFault.CUT_OFF, word)


@pytest.mark.parametrize(
    ("word", "stored", "fault"),
    [
        ("end_turn", "stop", ""),
        ("stop_sequence", "stop", ""),
        ("max_tokens", "length", "cut_off"),
        ("model_context_window_exceeded", "model_context_window_exceeded", "cut_off"),
        ("pause_turn", "pause_turn", "cut_off"),
        (None, "", "cut_off"),
    ],
)
def test_anthropics_words_are_read_as_they_were_sent(
    monkeypatch: pytest.MonkeyPatch, word: str | None, stored: str, fault: str
) -> None:
    monkeypatch.setitem(STOPS, "told", word)
    with AnthropicServer(lambda _: Reply("An answer.", finish_reason="told")) as server:
        monkeypatch.setenv("ANTHROPIC_API_BASE", server.base)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
        answer = complete(asking("anthropic/claude-3-5-haiku-20241022"))
    assert (answer.finish_reason, fault_in(answer)) == (stored, fault)


# The OpenAI client warns of content that it does not expect, and goes on.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@WAYS
def test_an_answer_in_parts_is_the_text_of_its_parts(configured: Configured, is_streamed: bool) -> None:
    parts = (
        {"type": "text", "text": "Half "},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"text": "an answer."},
    )
    answer = answered(configured, Reply(parts=parts, tells_usage=False), is_streamed=is_streamed)
    assert (answer.text, fault_in(answer)) == ("Half an answer.", AnswerFault.NONE)


def test_a_refusal_that_is_told_by_its_reason_alone_has_the_text_as_its_words(configured: Configured) -> None:
    answer = answered(configured, Reply("Not that.", finish_reason="refusal"), is_streamed=False)
    assert (fault_in(answer), answer.refusal) == (AnswerFault.REFUSED, "Not that.")


@WAYS
def test_tokens_that_nobody_told_are_counted_and_marked(configured: Configured, is_streamed: bool) -> None:
    reply = Reply("Seven words are in this short sentence. " * 20, tells_usage=False)
    answer = answered(configured, reply, is_streamed=is_streamed)
    priced = answered(configured, reply, is_streamed=is_streamed, model="openai/gpt-4o-mini")
    cost = Decimal("0.15") * priced.prompt_tokens / 10**6 + Decimal("0.60") * priced.completion_tokens / 10**6
    assert (priced.cost_usd, priced.cost_known, priced.is_estimated) == (cost, True, True)
    assert answer.is_estimated
    assert 10 <= answer.prompt_tokens <= 30
    assert 140 <= answer.completion_tokens <= 200
    assert (answer.cached_tokens, answer.reasoning_tokens, answer.cost_known) == (None, None, False)


@WAYS
def test_what_a_provider_tells_beside_its_answer_is_kept(configured: Configured, is_streamed: bool) -> None:
    reply = Reply(
        "x",
        reasoning="So.\n\nIt is.",
        prompt_tokens=100,
        completion_tokens=40,
        cached_tokens=64,
        reasoning_tokens=30,
    )
    answer = answered(configured, reply, is_streamed=is_streamed)
    assert (answer.cached_tokens, answer.reasoning_tokens, answer.is_estimated) == (64, 30, False)
    assert (answer.text, answer.reasoning) == ("x", "So.\n\nIt is.")
    untold = answered(configured, Reply("x"), is_streamed=is_streamed)
    assert (untold.cached_tokens, untold.reasoning_tokens, untold.is_estimated) == (None, None, False)
    refused = answered(configured, Reply(None, refusal="I cannot."), is_streamed=is_streamed)
    assert (refused.text, refused.refusal) == ("", "I cannot.")
    calls = Reply(None, tool_calls=["search", "fetch"], finish_reason="tool_calls")
    assert answered(configured, calls, is_streamed=is_streamed).tool_calls == ("search", "fetch")


def test_a_long_text_without_a_space_is_counted(configured: Configured) -> None:
    answer = answered(configured, Reply("好" * 50_000, tells_usage=False), is_streamed=False)
    assert answer.completion_tokens >= 50_000


def test_half_a_character_at_the_end_of_a_piece_is_joined_with_the_other_half(configured: Configured) -> None:
    reply = Reply(None, pieces=["a \ud83d", "\ude00 b"])
    assert answered(configured, reply, is_streamed=True).text == "a \U0001f600 b"
