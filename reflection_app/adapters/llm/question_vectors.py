"""The vector of one question: computed by the model, and remembered for a while by all processes."""

import hashlib
import logging
from array import array
from collections.abc import Sequence
from contextlib import suppress

from django.core.cache import cache
from redis import RedisError

from reflection_app.adapters.llm.embedding import embed
from reflection_app.adapters.llm.errors import ModelError

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
