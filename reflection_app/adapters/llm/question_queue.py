"""How a process without a model asks a worker for the vector of a question: a list in the broker.

A question's text lies under a key that goes with the asker's patience: what nobody waits for any more is not computed,
whatever the clocks of two machines say. Workers leave a mark while they serve; without it nobody waits.
"""

import json
import logging
import math
import time
from functools import cache
from uuid import uuid4

from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from reflection_app.adapters.llm.question_vectors import computed, packed, remembered, unpacked

log = logging.getLogger(__name__)

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
        name = _put(question, model=model, patience_ms=max(1, round(timeout_s * 1_000)))
        answer = broker(math.ceil(timeout_s)).blpop([_answer_key(name)], timeout=timeout_s) if name else None
    except (RedisError, OSError) as error:
        Outage.until = time.monotonic() + OUTAGE_LASTS_S
        log.warning("questions are answered by text alone, the broker is away: %s", error)
        return None
    return unpacked(_bytes(answer[1])) if answer is not None else None


def serve_next(*, wait_s: float) -> None:
    """Answers the next question, if one comes within `wait_s`. Raises RedisError, or OSError, without a broker."""
    broker().set(SERVED, b"1", ex=MARK_LASTS_S)
    taken = broker(math.ceil(wait_s)).blpop([QUESTIONS], timeout=wait_s)
    if taken is not None:
        _answer(_bytes(taken[1]).decode())


def _put(question: str, *, model: str, patience_ms: int) -> str | None:
    """The name under which the question waits; None where nobody would answer it."""
    is_served, waiting = broker().exists(SERVED), broker().llen(QUESTIONS)
    if not is_served or waiting >= MOST_WAITING:
        return None
    name = uuid4().hex
    with broker().pipeline(transaction=True) as putting:
        putting.set(_question_key(name), json.dumps({"model": model, "text": question}), px=patience_ms)
        putting.rpush(QUESTIONS, name)
        # Names that no worker came for go as well, once nobody asks any more.
        putting.pexpire(QUESTIONS, round(2_000 * LONGEST_WAIT_S))
        putting.execute()
    return name


def _answer(name: str) -> None:
    """Answers the question of this name, unless its asker has given up."""
    patience_ms = broker().pttl(_question_key(name))
    waiting = broker().getdel(_question_key(name))
    if waiting is None or patience_ms <= 0:
        return
    question = json.loads(waiting)
    text, model = str(question["text"]), str(question["model"])
    vector = remembered(text, model=model) or computed(text, model=model, timeout_s=patience_ms / 1_000)
    with broker().pipeline(transaction=True) as answering:
        # To be told at once that there is none is better than to wait for it.
        answering.rpush(_answer_key(name), packed(vector or []))
        answering.pexpire(_answer_key(name), round(1_000 * LONGEST_WAIT_S))
        answering.execute()


@cache
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
