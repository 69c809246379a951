"""Questions as vectors, for every process: workers have the model, and the others ask a worker through the broker."""

import hashlib
import json
import logging
import math
import threading
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from functools import cache as functools_cache
from uuid import uuid4

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from notebook_app.public import Space, active_space, opening
from reflection_app.adapters.llm.embedding import NO_MODEL, embed, embedding_model, prepare, screening_model
from reflection_app.adapters.llm.errors import ModelError
from reflection_app.core.connections import released
from reflection_app.loops.storable import storable

# The vector of one question: computed by the model, and remembered for a while by all processes.

log = logging.getLogger(__name__)

REMEMBERED_S = 3_600


def computed(question: str, *, model: str, timeout_s: float) -> list[float] | None:
    """The vector, remembered from now on; None where the model gives none in time."""
    try:
        [vector] = embed([question], model=model, as_query=True, timeout_s=timeout_s)
    except ModelError as error:
        log.warning("a question is answered by text alone: %s", error)
        return None
    # What is not remembered is computed again.
    with suppress(RedisError, OSError):
        cache.set(_key(question, model=model), packed(vector), REMEMBERED_S)
    return vector


def remembered(question: str, *, model: str) -> list[float] | None:
    """The vector that was computed within the last hour, by whichever process."""
    try:
        kept = cache.get(_key(question, model=model))
    except (RedisError, OSError):
        return None
    return unpacked(kept) if isinstance(kept, bytes) else None


def packed(vector: Sequence[float]) -> bytes:
    """The vector as bytes; none for none."""
    return array("f", vector).tobytes()


def unpacked(kept: bytes) -> list[float] | None:
    """The vector that was packed; None where there was none."""
    vector = array("f")
    vector.frombytes(kept)
    return vector.tolist() or None


def _key(question: str, *, model: str) -> str:
    return "query-vector:" + hashlib.sha256(f"{model}\n{question}".encode()).hexdigest()


# How a process without a model asks a worker for the vector of a question: a list in the broker.
#
# A question's text lies under a key that goes with the asker's patience: what nobody waits for any more is not
# computed, whatever the clocks of two machines say. Workers leave a mark while they serve; without it nobody waits.

QUESTIONS = "desk-embed:questions"
SERVED = "desk-embed:served"
# Nobody behind so many others would still be waiting when a worker comes to them.
MOST_WAITING = 200
LONGEST_WAIT_S = 30.0
CONNECT_WITHIN_S = 1.0
ANSWERS_WITHIN_S = 2.0
# Each vain question costs the asker up to ANSWERS_WITHIN_S.
OUTAGE_LASTS_S = 5.0
MARK_LASTS_S = 5


class Outage:
    """Until when the broker is taken to be away, on the monotonic clock."""

    until = 0.0


def asked(question: str, *, model: str, timeout_s: float) -> list[float] | None:
    """The vector that a worker gives; None where none serves, it has none, or not in time."""
    if time.monotonic() < Outage.until:
        return None
    try:
        is_served, waiting = broker().exists(SERVED), broker().llen(QUESTIONS)
        if not is_served or waiting >= MOST_WAITING:
            return None
        name, patience_ms = uuid4().hex, max(1, round(timeout_s * 1_000))
        with broker().pipeline(transaction=True) as putting:
            putting.set(_question_key(name), json.dumps({"model": model, "text": question}), px=patience_ms)
            putting.rpush(QUESTIONS, name)
            # Names that no worker came for go as well, once nobody asks any more.
            putting.pexpire(QUESTIONS, round(2_000 * LONGEST_WAIT_S))
            putting.execute()
        answer = broker(math.ceil(timeout_s)).blpop([_answer_key(name)], timeout=timeout_s)
    except (RedisError, OSError) as error:
        Outage.until = time.monotonic() + OUTAGE_LASTS_S
        log.warning("questions are answered by text alone, the broker is away: %s", error)
        return None
    return unpacked(_bytes(answer[1])) if answer is not None else None


def next_question(*, wait_s: float) -> str | None:
    """Return the name of the next question, or None if none comes within `wait_s`. Raises RedisError or OSError."""
    broker().set(SERVED, b"1", ex=MARK_LASTS_S)
    taken = broker(math.ceil(wait_s)).blpop([QUESTIONS], timeout=wait_s)
    return _bytes(taken[1]).decode() if taken else None


def answer(name: str) -> None:
    """Give the asker of this question its vector. Raises RedisError or OSError without a broker."""
    patience_ms = broker().pttl(_question_key(name))
    waiting = broker().getdel(_question_key(name))
    if waiting is None or patience_ms <= 0:
        # Its asker has given up.
        return
    question = json.loads(waiting)
    text, model = str(question["text"]), str(question["model"])
    vector = remembered(text, model=model) or computed(text, model=model, timeout_s=patience_ms / 1_000)
    with broker().pipeline(transaction=True) as answering:
        # To be told at once that there is none is better than to wait for it.
        answering.rpush(_answer_key(name), packed(vector or []))
        answering.pexpire(_answer_key(name), round(1_000 * LONGEST_WAIT_S))
        answering.execute()


@functools_cache
def broker(waits_s: int = 0) -> Redis:
    """The broker, by connections of this process, for questions that it takes so long over on purpose."""
    return Redis.from_url(
        str(settings.CACHES["default"]["LOCATION"]),
        socket_connect_timeout=CONNECT_WITHIN_S,
        # A broker that hangs must not keep who asks for longer than one that is away.
        socket_timeout=waits_s + ANSWERS_WITHIN_S,
        retry=Retry(NoBackoff(), 0),
    )


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _question_key(name: str) -> str:
    return f"desk-embed:question:{name}"


def _answer_key(name: str) -> str:
    return f"desk-embed:answer:{name}"


# About 100 ms of the wheel's model on two cores.
MOST_TOKENS = 150


def query_vector(text: str, *, timeout_s: float = 2.0) -> list[float] | None:
    """The vector of a question in the space that answers; None where there is none, or nobody gave it in time.

    It is of the beginning of `text`. Whoever gets None finds by text alone, and says so.
    """
    question = question_of(text)
    space = space_asked() if question else None
    if space is None:
        return None
    return _vector(question, model=space.model, timeout_s=timeout_s)


def judging_vector(text: str, *, timeout_s: float = 2.0) -> list[float] | None:
    """The vector of a text by the model that ships, whichever finds entries; None where there is none, or not in time.

    The classifiers of judgement/ were learned on these. Whoever gets None judges by words and facts, and says so.
    """
    question, model = question_of(text), screening_model()
    return _vector(question, model=model, timeout_s=timeout_s) if question and model else None


def question_of(text: str) -> str:
    """What a model is asked of the text: its beginning, with single spaces."""
    return storable(opening(" ".join(text.split()), most_tokens=MOST_TOKENS))


@released()
def _vector(question: str, *, model: str, timeout_s: float) -> list[float] | None:
    known = remembered(question, model=model)
    if known is not None:
        return known
    give = computed if serving.is_on else asked
    return give(question, model=model, timeout_s=min(timeout_s, LONGEST_WAIT_S))


def prepare_questions() -> None:
    """Has the model ready that answers, or will: what takes seconds, and the first who asks would not wait for."""
    if _is_off():
        return
    try:
        with released():
            space = active_space()
    except DatabaseError as error:
        log.warning("the first question will have to wait for the model, the database is away: %s", error)
        return
    model = space.model if space else embedding_model()
    if model is None:
        return
    try:
        prepare(model)
    except ModelError as error:
        log.warning("questions will be answered by text alone: %s", error)


def space_asked() -> Space | None:
    """The space that questions are asked in; None where there is none yet, or finding by meaning is turned off."""
    return None if _is_off() else active_space()


def _is_off() -> bool:
    return str(settings.EMBEDDING_MODEL).strip().lower() == NO_MODEL


class Serving:
    """Answers the questions of other processes, between `start` and `stop`: one thread waits, others compute."""

    # While a provider's model takes its time over one, others can be asked about.
    AT_ONCE = 4
    WAITS_S = 2.0

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._free = threading.BoundedSemaphore(self.AT_ONCE)
        # Set by a command that asks for itself alone.
        self.is_alone = False

    @property
    def is_on(self) -> bool:
        """Whether this process has the model, and computes its own questions."""
        return self.is_alone or self._thread is not None

    def start(self) -> None:
        """Begins to serve."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._serve, name="embed-questions", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Takes no more questions; returns once those that were taken are answered, soon in any case."""
        self._stop.set()
        until = time.monotonic() + 2 * self.WAITS_S
        if self._thread is not None:
            self._thread.join(timeout=2 * self.WAITS_S)
        taken = [self._free.acquire(timeout=max(0.0, until - time.monotonic())) for _ in range(self.AT_ONCE)]
        for _ in filter(None, taken):
            self._free.release()
        self._thread = None

    def _serve(self) -> None:
        while not self._stop.is_set():
            if not self._free.acquire(timeout=self.WAITS_S):
                continue
            name = None
            try:
                name = next_question(wait_s=self.WAITS_S)
            except (RedisError, OSError) as error:
                self._waits_for_broker(error)
            finally:
                if name is None:
                    self._free.release()
            if name is not None:
                threading.Thread(target=self._answer, args=(name,), name="embed-question", daemon=True).start()

    def _answer(self, name: str) -> None:
        try:
            answer(name)
        except (RedisError, OSError) as error:
            self._waits_for_broker(error)
        except Exception:
            # One question that cannot be answered must not leave all others without an answer.
            log.exception("a question could not be embedded")
        finally:
            self._free.release()

    def _waits_for_broker(self, error: Exception) -> None:
        log.warning("questions of other processes wait, the broker is away: %s", error)
        self._stop.wait(OUTAGE_LASTS_S)


serving = Serving()
