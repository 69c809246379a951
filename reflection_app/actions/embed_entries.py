"""Gives entries their vectors, in the space that answers and in the one that is to: by one worker at a time.

No transaction and no connection is held while a model computes. What is lost in a crash is one batch.
"""

import logging
import threading
import time
from collections.abc import Sequence
from uuid import uuid4

from django.core.cache import cache
from django.db import DatabaseError, connection
from redis import RedisError

from notebook_app.public import (
    Lacking,
    Space,
    WrongDimensions,
    activate_space,
    active_space,
    drop_other_spaces,
    keep_vectors,
    known_space,
    lacking_vectors,
    wanted_space,
)
from reflection_app.llm import ModelError, TextRefused, embed, embedding_model

log = logging.getLogger(__name__)

# Seconds of the wheel's model on two cores, and one request to a provider.
BATCH = 16
WORKS_FOR_S = 20.0
TRIED = "What an entry says."


class Turn:
    """Whose turn it is, kept in the broker and passed on when a worker falls silent."""

    KEY = "embed-entries:turn"
    LASTS_S = 120

    def __init__(self) -> None:
        self._mine = uuid4().hex

    def take(self) -> bool:
        """Whether it is mine now. Without a broker it is nobody's."""
        try:
            return bool(cache.add(self.KEY, self._mine, self.LASTS_S))
        except (RedisError, OSError) as error:
            log.warning("entries wait for their vectors, the broker is away: %s", error)
            return False

    def renew(self) -> None:
        # Two workers at once would do some work twice, and nothing wrong.
        try:
            cache.touch(self.KEY, self.LASTS_S)
        except (RedisError, OSError) as error:
            log.warning("the turn at embedding entries could not be renewed: %s", error)

    def give_up(self) -> None:
        try:
            if cache.get(self.KEY) == self._mine:
                cache.delete(self.KEY)
        except (RedisError, OSError) as error:
            log.warning("the turn at embedding entries ends by itself: %s", error)


# Set when the worker stops: what is not done by then is done by the next.
stopping = threading.Event()


def embed_waiting(*, works_for_s: float = WORKS_FOR_S) -> bool:
    """Embeds what waits for it, for a while; whether there is more. Nothing where another worker is at it."""
    model = embedding_model()
    turn = Turn()
    if model is None or not turn.take():
        return False
    try:
        return _embed(model, turn, until=time.monotonic() + works_for_s)
    except (ModelError, WrongDimensions) as error:
        log.warning("entries wait for their vectors: %s", error)
        return False
    finally:
        turn.give_up()


def _embed(model: str, turn: Turn, *, until: float) -> bool:
    _drop_others(model)
    mine = known_space(model) or wanted_space(model, len(_vectors_of([TRIED], model=model)[0]))
    answering = active_space()
    if answering is not None and answering.id != mine.id:
        # Its vectors are kept up to date until the other has all: whoever asks meanwhile misses nothing new.
        _fill_while_it_can(answering, turn, until=until)
    while _fill(mine, turn):
        if stopping.is_set() or time.monotonic() >= until:
            return True
    if activate_space(mine):
        log.info("entries are found by the vectors of %s from now on", model)
    return False


def _fill_while_it_can(space: Space, turn: Turn, *, until: float) -> None:
    try:
        while time.monotonic() < until and not stopping.is_set() and _fill(space, turn):
            pass
    except (ModelError, WrongDimensions) as error:
        log.warning("new entries are found by meaning once another model has taken over: %s", error)


def _fill(space: Space, turn: Turn) -> bool:
    """Gives the next few entries their vectors; whether there were any that could be given one."""
    turn.renew()
    batch = lacking_vectors(space, limit=BATCH)
    return bool(batch) and keep_vectors(space, _embedded(batch, model=space.model, turn=turn)) > 0


def _embedded(batch: Sequence[Lacking], *, model: str, turn: Turn) -> list[tuple[Lacking, list[float] | None]]:
    """Each with its vector; with None those whose text the provider does not take, found by halving the batch."""
    try:
        vectors = _vectors_of([one.text for one in batch], model=model)
        return list(zip(batch, vectors, strict=True))
    except TextRefused as error:
        turn.renew()
        if len(batch) == 1:
            # Raises where the provider takes no text at all: then it is not this one's fault.
            _vectors_of([TRIED], model=model)
            log.warning("entry %s cannot be found by meaning, its text was refused: %s", batch[0].entry_id, error)
            return [(batch[0], None)]
    half = len(batch) // 2
    return [pair for part in (batch[:half], batch[half:]) for pair in _embedded(part, model=model, turn=turn)]


def _vectors_of(texts: list[str], *, model: str) -> list[list[float]]:
    connection.close()  # back to the pool: others need it while this thread waits
    return embed(texts, model=model, as_query=False)


def _drop_others(model: str) -> None:
    try:
        drop_other_spaces(model)
    except DatabaseError as error:
        log.warning("the vectors of a former model stay for now: %s", error)
