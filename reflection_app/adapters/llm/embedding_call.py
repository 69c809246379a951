"""One call of a provider's embedding model: what is sent, retries within the deadline, errors of our own kind."""

import asyncio
import math
import os
import random
import time
from collections.abc import Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from reflection_app.adapters.llm.errors import ModelError, ModelRefused, ModelTimedOut, ModelUnavailable, TextRefused
from reflection_app.adapters.llm.faults import Fault, read_fault, unreadable
from reflection_app.adapters.llm.litellm_import import litellm
from reflection_app.adapters.llm.model_loop import model_loop
from reflection_app.adapters.llm.provider import CONNECT_WITHIN_S, NO_KEY_NEEDED, READ_WITHIN_S, close_connections
from reflection_app.adapters.llm.retry import MOST_TRIES, backoff_s

EMBED_WITHIN_S = 60.0
# A provider's code that ignores its cancellation must not hold the worker: the thread leaves this much later.
GRACE_S = 2.0
# What a provider says of a text that is too long, or that it does not want to read.
TEXT_REFUSED = frozenset({400, 413, 422})
# Some models tell questions from what is to be found, by words of their own.
INPUT_TYPES = {"cohere": ("search_document", "search_query"), "voyage": ("document", "query")}


def ask_provider(texts: Sequence[str], *, model: str, as_query: bool, timeout_s: float) -> list[list[float]]:
    """The texts' vectors, of length 1. Raises as `embed` does."""
    litellm()
    call = model_loop(close_connections).submit(_within(texts, model=model, as_query=as_query, timeout_s=timeout_s))
    try:
        outcome = call.result(timeout=timeout_s + GRACE_S)
    except FutureTimeout:
        outcome = _timed_out(model, timeout_s)
    finally:
        call.cancel()
    if isinstance(outcome, ModelError):
        # Raised here, outside any handler: the provider's own exception, which may hold a key, is not chained to it.
        raise outcome
    return outcome


async def _within(
    texts: Sequence[str], *, model: str, as_query: bool, timeout_s: float
) -> list[list[float]] | ModelError:
    until = time.monotonic() + timeout_s
    try:
        async with asyncio.timeout(timeout_s):
            return await _with_retries(_arguments(texts, model=model, as_query=as_query), until=until)
    except TimeoutError:
        return _timed_out(model, timeout_s)


async def _with_retries(arguments: dict[str, Any], *, until: float) -> list[list[float]] | ModelError:
    failed = 0
    while True:
        outcome = await _one(arguments)
        if not isinstance(outcome, Fault):
            return outcome
        jitter = random.random()  # noqa: S311 - spreads retries, guards nothing
        asked = outcome.retry_after_s
        wait_s = asked if asked is not None else backoff_s(failed + 1, chance=jitter)
        if not outcome.transient or failed + 1 >= MOST_TRIES or time.monotonic() + wait_s >= until:
            return _given_up(outcome, tries=failed + 1)
        failed += 1
        await asyncio.sleep(wait_s)


async def _one(arguments: dict[str, Any]) -> list[list[float]] | Fault:
    model = str(arguments["model"])
    try:
        response = await litellm().aembedding(**arguments)
    except Exception as error:  # noqa: BLE001 - litellm raises whatever its providers raise
        return read_fault(error, model=model)
    try:
        return _vectors(response, many=len(arguments["input"]))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return unreadable(model)


def _arguments(texts: Sequence[str], *, model: str, as_query: bool) -> dict[str, Any]:
    import httpx

    arguments: dict[str, Any] = {
        "model": model,
        "input": list(texts),
        "timeout": httpx.Timeout(READ_WITHIN_S, connect=CONNECT_WITHIN_S),
        # Retries are ours: these two would multiply them and know nothing of the deadline.
        "num_retries": 0,
        "max_retries": 0,
        "drop_params": True,
        "no-log": True,
    }
    provider = model.split("/", 1)[0]
    if provider == "openai":
        # The client asks for base64 unless told otherwise, and not every OpenAI-style server knows it.
        arguments["encoding_format"] = "float"
        own_server = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
        if own_server and not os.environ.get("OPENAI_API_KEY"):
            arguments["api_key"] = NO_KEY_NEEDED
    if provider in INPUT_TYPES:
        arguments["input_type"] = INPUT_TYPES[provider][as_query]
    return arguments


def _vectors(response: Any, *, many: int) -> list[list[float]]:
    """The vectors in the order of the texts. Raises ValueError and such where they cannot be read."""
    rows = sorted((row if isinstance(row, dict) else row.model_dump() for row in response.data), key=_place)
    if [_place(row) for row in rows] != list(range(many)):
        raise ValueError("not one vector for each text")
    vectors = [_of_length_1([float(number) for number in row["embedding"]]) for row in rows]
    if len({len(vector) for vector in vectors}) != 1:
        raise ValueError("vectors of several lengths")
    return vectors


def _place(row: dict[str, Any]) -> int:
    return int(row["index"])


def _of_length_1(vector: list[float]) -> list[float]:
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0:
        raise ValueError("not a direction")
    return [number / length for number in vector]


def _given_up(fault: Fault, *, tries: int) -> ModelError:
    if fault.transient:
        tried = f" Tried {tries} times." if tries > 1 else ""
        return ModelUnavailable(fault.message + tried, tries=tries, retry_after_s=fault.retry_after_s)
    kind = TextRefused if fault.status in TEXT_REFUSED else ModelRefused
    return kind(fault.message, tries=tries)


def _timed_out(model: str, timeout_s: float) -> ModelTimedOut:
    return ModelTimedOut(f"{model} gave no vector within {timeout_s:.1f} s.")
