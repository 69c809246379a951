"""Issues as vectors, for telling whether a mistake was made before: each is computed once and kept by all processes."""

import hashlib
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import batched

from django.core.cache import cache
from redis import RedisError

from judgement.same_mistake import LONGEST
from reflection_app.adapters.llm import ModelError, embed, screening_model
from reflection_app.adapters.llm.question_vectors import packed, unpacked
from reflection_app.core.connections import released

log = logging.getLogger(__name__)

KEPT_S = 90 * 24 * 3_600
# A run waits for them: what is not there by then is compared by its words, and kept for the next time.
WITHIN_S = 20.0
# Questions of people stand in the same line, and must not wait for long.
AT_ONCE = 4


# Others need the database while this thread computes.
@released()
def vectors_of(texts: Sequence[str], *, within_s: float = WITHIN_S) -> dict[str, list[float]]:
    """The vectors of the texts, by text, the first texts first; none without the wheel's model.

    Those that could not be had in time are left out. Only for workers: elsewhere the model is not loaded.
    """
    model = screening_model()
    if model is None:
        return {}
    until = time.monotonic() + within_s
    found = kept_vectors(texts)
    waiting = [text for text in dict.fromkeys(texts) if text not in found]
    try:
        for some in batched(waiting, AT_ONCE):
            left_s = until - time.monotonic()
            if left_s <= 0:
                break
            vectors = embed([text[:LONGEST] for text in some], model=model, as_query=True, timeout_s=left_s)
            new = dict(zip(some, vectors, strict=True))
            found |= new
            with suppress(RedisError, OSError):
                cache.set_many({_key(text): packed(vector) for text, vector in new.items()}, KEPT_S)
    except ModelError as error:
        log.warning("issues are compared by their words: %s", error)
    return found


def kept_vectors(texts: Sequence[str]) -> dict[str, list[float]]:
    """The vectors of those texts that were computed before, by whichever process; none without the wheel's model."""
    if screening_model() is None:
        return {}
    keys = {_key(text): text for text in texts}
    try:
        kept = cache.get_many(keys)
    except (RedisError, OSError):
        return {}
    vectors = {keys[key]: unpacked(value) for key, value in kept.items() if isinstance(value, bytes)}
    return {text: vector for text, vector in vectors.items() if vector}


def _key(text: str) -> str:
    return "issue-vector:" + hashlib.sha256(text[:LONGEST].encode()).hexdigest()
