"""Questions as vectors, for every process: workers have the model, and the others ask a worker through the broker."""

import logging
import threading

from django.conf import settings
from django.db import DatabaseError, connection
from redis import RedisError

from notebook_app.public import Space, active_space, opening
from reflection_app.adapters.llm.embedding import NO_MODEL, embedding_model, prepare
from reflection_app.adapters.llm.errors import ModelError
from reflection_app.adapters.llm.question_queue import LONGEST_WAIT_S, OUTAGE_LASTS_S, asked, serve_next
from reflection_app.adapters.llm.question_vectors import computed, remembered
from reflection_app.loops.storable import storable

log = logging.getLogger(__name__)

# About 100 ms of the wheel's model on two cores.
MOST_TOKENS = 150


def query_vector(text: str, *, timeout_s: float = 2.0) -> list[float] | None:
    """The vector of a question in the space that answers; None where there is none, or nobody gave it in time.

    It is of the beginning of `text`. Whoever gets None finds by text alone, and says so.
    """
    question = storable(opening(" ".join(text.split()), most_tokens=MOST_TOKENS))
    space = space_asked() if question else None
    if space is None:
        return None
    # Back to the pool: a model may take its time. Inside of a transaction the connection is not ours to give back.
    if not connection.in_atomic_block:
        connection.close()
    known = remembered(question, model=space.model)
    if known is not None:
        return known
    give = computed if serving.is_on else asked
    return give(question, model=space.model, timeout_s=min(timeout_s, LONGEST_WAIT_S))


def prepare_questions() -> None:
    """Has the model ready that answers, or will: what takes seconds, and the first who asks would not wait for."""
    if _is_off():
        return
    try:
        space = active_space()
    except DatabaseError as error:
        log.warning("the first question will have to wait for the model, the database is away: %s", error)
        return
    finally:
        if not connection.in_atomic_block:
            connection.close()
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
    """Answers the questions of other processes, from threads of its own, between `start` and `stop`."""

    # While a provider's model takes its time over one, others can be asked about.
    THREADS = 4
    LOOK_EVERY_S = 1.0

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def is_on(self) -> bool:
        """Whether this process has the model, and computes its own questions."""
        return bool(self._threads)

    def start(self) -> None:
        """Begins to serve."""
        self._stop.clear()
        self._threads = [
            threading.Thread(target=self._serve, name=f"embed-questions-{number}", daemon=True)
            for number in range(self.THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Takes no more questions; returns once those that were taken are answered, soon in any case."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=2 * self.LOOK_EVERY_S)
        self._threads = []

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                serve_next(wait_s=self.LOOK_EVERY_S)
            except (RedisError, OSError) as error:
                log.warning("questions of other processes wait, the broker is away: %s", error)
                self._stop.wait(OUTAGE_LASTS_S)
            except Exception:
                # One question that cannot be answered must not leave all others without an answer.
                log.exception("a question could not be embedded")


serving = Serving()
