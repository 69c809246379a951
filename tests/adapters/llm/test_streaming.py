"""Answers that come in pieces are the same answers, and are shown while they come."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from reflection_app.adapters.llm import ModelRefused, ModelTimedOut, complete, gateway, preload
from reflection_app.adapters.llm.provider import MOST_AT_ONCE, Streams
from reflection_app.adapters.llm.scripted import ScriptedAnswer, register_script
from tests.adapters.llm.conftest import asking
from tests.openai_server import OpenAIServer, Reply, ScriptedAnswers
from tests.pace import PATIENCE_S

Configured = Callable[[OpenAIServer], None]
LONG = " ".join(f"word{number}" for number in range(60))


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "_streams", Streams())


class Shown(list[str]):
    """What was shown, in order."""

    def __call__(self, text: str) -> None:
        self.append(text)


def streamed(server: OpenAIServer) -> list[bool]:
    return [bool(request.body.get("stream")) for request in server.requests]


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "openai/house-model"])
def test_a_stream_is_the_same_answer_at_the_same_price(configured: Configured, model: str) -> None:
    reply = Reply(LONG, prompt_tokens=1000, completion_tokens=60, finish_reason="length")
    shown = Shown()
    with OpenAIServer(lambda _: reply) as server:
        configured(server)
        whole, pieces = complete(asking(model)), complete(asking(model), on_text=shown)
    assert pieces == whole
    assert streamed(server) == [False, True]
    assert shown[-1] == LONG
    assert len(shown) == 60
    assert all(later.startswith(earlier) for earlier, later in pairwise(shown))


def test_text_is_shown_before_the_answer_is_there(configured: Configured) -> None:
    at: list[float] = []
    with OpenAIServer(lambda _: Reply("one two three four", piece_delay_s=0.1)) as server:
        configured(server)
        complete(asking(), on_text=lambda _: at.append(time.monotonic()))
        ended = time.monotonic()
    assert ended - at[0] > 0.25


@pytest.mark.parametrize("fault", [Reply(LONG, cut_after=5), Reply(LONG, garbage_after=5)], ids=["cut", "garbage"])
def test_a_stream_that_breaks_is_taken_back_and_asked_again_whole(configured: Configured, fault: Reply) -> None:
    shown = Shown()
    with OpenAIServer(ScriptedAnswers([fault, "Hello.", "Again."])) as server:
        configured(server)
        answer = complete(asking(), on_text=shown)
        complete(asking(), on_text=Shown())
    assert (answer.text, answer.tries) == ("Hello.", 2)
    assert shown[-1] == ""
    assert len(shown) >= 4
    assert streamed(server) == [True, False, True]


def test_a_stream_that_ends_without_its_end_is_not_believed(configured: Configured) -> None:
    with OpenAIServer(ScriptedAnswers([Reply("Half an", tells_end=False), "Half an answer is none.", "x"])) as server:
        configured(server)
        assert complete(asking(), on_text=Shown()).text == "Half an answer is none."
        complete(asking(), on_text=Shown())
    assert streamed(server) == [True, False, False]


def test_a_server_that_does_not_stream_is_asked_whole_from_then_on(configured: Configured) -> None:
    def answer(body: dict[str, object]) -> Reply:
        return Reply("streaming is not supported", status=400) if body.get("stream") else Reply("Hello.")

    with OpenAIServer(answer) as server:
        configured(server)
        first, second = (complete(asking(), on_text=Shown()) for _ in range(2))
    assert (first.text, first.tries, second.text, second.tries) == ("Hello.", 2, "Hello.", 1)
    assert streamed(server) == [True, False, False]


def test_a_refused_request_stays_refused_and_teaches_nothing(configured: Configured) -> None:
    too_long = Reply("this model's maximum context length is 10", status=400)
    with OpenAIServer(ScriptedAnswers([too_long, too_long, "Hello."])) as server:
        configured(server)
        with pytest.raises(ModelRefused, match="maximum context length"):
            complete(asking(), on_text=Shown())
        assert complete(asking(), on_text=Shown()).text == "Hello."
    assert streamed(server) == [True, False, True]


def test_the_deadline_ends_a_stream_and_its_connection(configured: Configured) -> None:
    preload()
    with OpenAIServer(lambda _: Reply(LONG, piece_delay_s=0.2)) as server:
        configured(server)
        began = time.monotonic()
        with pytest.raises(ModelTimedOut, match=r"within 1\.5 s"):
            complete(asking(timeout_s=1.5), on_text=Shown())
        assert time.monotonic() - began < 10
        deadline = time.monotonic() + PATIENCE_S
        while server.connections_open and time.monotonic() < deadline:
            time.sleep(0.02)
        assert server.connections_open == 0


def test_answers_of_a_given_form_are_not_streamed(configured: Configured) -> None:
    with OpenAIServer(lambda _: '{"ok": true}') as server:
        configured(server)
        complete(asking(json_schema={"type": "object"}), on_text=Shown())
    assert streamed(server) == [False]


def test_only_some_of_many_calls_stream_at_once(configured: Configured) -> None:
    preload()
    with OpenAIServer(lambda _: Reply("one two three", piece_delay_s=0.5)) as server:
        configured(server)
        with ThreadPoolExecutor(24) as pool:
            texts = list(pool.map(lambda _: complete(asking(), on_text=Shown()).text, range(24)))
        again = complete(asking(), on_text=Shown())
    assert set(texts) == {"one two three", again.text}
    assert sum(streamed(server)[:-1]) == MOST_AT_ONCE
    assert streamed(server)[-1]


def test_a_scripted_answer_with_a_delay_is_shown_in_pieces() -> None:
    shown = Shown()
    model = register_script("writes", {"attempt-1/generate": ScriptedAnswer(text="A slow answer.", delay_ms=300)})
    assert complete(asking(model), on_text=shown).text == "A slow answer."
    assert len(shown) == 5
    assert all("A slow answer.".startswith(text) for text in shown)
