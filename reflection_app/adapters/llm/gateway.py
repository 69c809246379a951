"""`complete`: one model call that ends by its deadline, with retries inside it and errors of our own kind."""

import asyncio
import atexit
import random
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any

from reflection_app.adapters.llm import provider
from reflection_app.adapters.llm.completion import Completion, CompletionRequest
from reflection_app.adapters.llm.errors import (
    LONGEST_WAIT_S,
    MOST_TRIES,
    Fault,
    ModelError,
    ModelRefused,
    ModelTimedOut,
    ModelUnavailable,
    backoff_s,
    read_fault,
    unreadable,
)
from reflection_app.adapters.llm.litellm_import import (
    hearing_finish_words,
    litellm,
    log_nothing_of_this_task,
)
from reflection_app.adapters.llm.provider import REFUSALS, OnText, Streams
from reflection_app.adapters.llm.scripted import PREFIX as SCRIPTED
from reflection_app.adapters.llm.scripted import answer_from_script

# The process's one event loop for model calls, on a thread of its own, so that worker threads can block on a future.
#
# One loop means one set of connections for all threads, and a cancelled call is truly cancelled, which a blocking
# client on a thread cannot be.

STOP_WITHIN_S = 5.0
SETTLE_S = 0.05

Closer = Callable[[], Awaitable[None]]


class ModelLoop:
    """A running event loop on a daemon thread; `closer` runs on it before it ends."""

    def __init__(self, closer: Closer) -> None:
        self._closer = closer
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-loop", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def submit[T](self, call: Coroutine[Any, Any, T]) -> Future[T]:
        """The future of `call`, which runs on the loop; cancelling the future cancels the call."""
        return asyncio.run_coroutine_threadsafe(call, self._loop)

    def stop(self) -> None:
        """Ends what runs, closes the connections and ends the thread; at most five seconds."""
        with suppress(TimeoutError):
            self.submit(self._wind_up()).result(timeout=STOP_WITHIN_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=STOP_WITHIN_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _wind_up(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._closer()
        # A closed connection is let go of by the loop a moment later; stopped before that, it is reported as leaked.
        await asyncio.sleep(SETTLE_S)
        await self._loop.shutdown_default_executor()


_lock = threading.Lock()
_current: ModelLoop | None = None


def model_loop(closer: Closer) -> ModelLoop:
    """This process's loop, started at the first call and stopped when the process ends."""
    global _current  # noqa: PLW0603 - one loop per process is the purpose
    with _lock:
        if _current is None or not _current.is_running:
            _current = ModelLoop(closer)
            atexit.register(stop_model_loop)
        return _current


def stop_model_loop() -> None:
    """Stops this process's loop, if there is one; the next call starts another."""
    global _current
    with _lock:
        running, _current = _current, None
        atexit.unregister(stop_model_loop)
    if running is not None:
        running.stop()


# A provider's code that ignores its cancellation must not hold the worker: the thread leaves this much later.
GRACE_S = 2.0
FORM_REFUSED = frozenset({400, 422})

_streams = Streams()


def complete(request: CompletionRequest, *, on_text: OnText | None = None) -> Completion:
    """The model's answer, at the latest `timeout_s` after the call. Blocks; any number of threads may call at once.

    Where the provider streams, `on_text` is called with the text so far, from another thread, and has to be quick; an
    empty text takes back what was shown. The answer is the same with it and without.

    Raises ModelUnavailable, ModelTimedOut, ModelRefused, NoModelConfigured; for scripted models ScriptExhausted and
    ScriptInvalid. The process's first call takes seconds longer, for litellm's import: see `preload`.
    """
    if request.model.startswith(SCRIPTED):
        return answer_from_script(request, on_text=on_text)
    late = _timed_out(request, None, tries=1)
    return outcome_on_loop(_answer(request, on_text), timeout_s=request.timeout_s, late=late)


def outcome_on_loop[T](call: Coroutine[Any, Any, T | ModelError], *, timeout_s: float, late: ModelError) -> T:
    """What `call` comes to on the model loop. Raises the error that it gives, or `late` where it outlasts its time."""
    litellm()
    future = model_loop(provider.close_connections).submit(call)
    try:
        outcome = future.result(timeout=timeout_s + GRACE_S)
    except FutureTimeout:
        outcome = late
    finally:
        # Also where the thread is interrupted: a call that nobody waits for must not go on costing money.
        future.cancel()
    if isinstance(outcome, ModelError):
        # Raised here, outside any handler: the provider's own exception, which may hold a key, is not chained to it.
        raise outcome
    return outcome


def pause_s(fault: Fault, *, failed: int, left_s: float) -> float | None:
    """How long to wait before another try, after `failed` that went wrong before this one; None where there is none."""
    jitter = random.random()  # noqa: S311 - spreads retries, guards nothing
    wait_s = fault.retry_after_s if fault.retry_after_s is not None else backoff_s(failed + 1, chance=jitter)
    return wait_s if fault.transient and failed + 1 < MOST_TRIES and wait_s < left_s else None


def given_up(fault: Fault, *, tries: int, refusal: type[ModelRefused] = ModelRefused) -> ModelError:
    """The error of a call whose last try ended with `fault`."""
    if not fault.transient:
        return refusal(fault.message, tries=tries)
    tried = f" Tried {tries} times." if tries > 1 else ""
    return ModelUnavailable(fault.message + tried, tries=tries, retry_after_s=fault.retry_after_s)


async def _answer(request: CompletionRequest, on_text: OnText | None) -> Completion | ModelError:
    """The completion, or the error to raise; so that no traceback carries the provider's words out of the loop."""
    log_nothing_of_this_task()
    may_stream = _streams.take(request, on_text)
    tries = _Tries(request, on_text=on_text if may_stream else None)
    try:
        async with asyncio.timeout(request.timeout_s):
            return await tries.run()
    except TimeoutError:
        return _timed_out(request, tries.fault, tries=tries.sent)
    finally:
        if may_stream:
            _streams.give_back()


class _Tries:
    """The tries of one call, one after the other, with what went wrong in the last."""

    def __init__(self, request: CompletionRequest, *, on_text: OnText | None = None) -> None:
        self._request = request
        # None once the answer is to come whole: a stream that failed is not tried again.
        self._on_text = on_text
        self._began = time.monotonic()
        self._stream_refused = False
        self._failed = 0
        self.sent = 0
        self.fault: Fault | None = None

    async def run(self) -> Completion | ModelError:
        try:
            call = provider.prepare(self._request)
        except ModelError as error:
            return error
        except Exception as error:  # noqa: BLE001 - litellm raises whatever its providers raise
            return given_up(read_fault(error, model=self._request.model), tries=self.sent)
        while True:
            answer = await self._one(call)
            if isinstance(answer, Completion):
                if self._stream_refused:
                    _streams.remember_whole_only(self._request.model)
                return answer
            self.fault = answer
            if self._on_text is not None and answer.status != 429:
                # The next tries come whole; the next one at once, where streaming itself was refused.
                self._on_text("")
                self._on_text = None
                self._stream_refused = answer.status in REFUSALS
                if self._stream_refused:
                    self._failed += 1
                    continue
            # Servers word it in many ways, and a 400 costs nothing: the form is given up once, whatever was said.
            if call.asks_for_form and answer.status in FORM_REFUSED:
                call = call.without_form()
                self._failed += 1
                continue
            wait_s = pause_s(
                answer, failed=self._failed, left_s=self._began + self._request.timeout_s - time.monotonic()
            )
            # A longer wait is the run's, which is put off until then: here it would keep a worker from others' work.
            if wait_s is None or wait_s > LONGEST_WAIT_S:
                return given_up(answer, tries=self.sent)
            self._failed += 1
            await asyncio.sleep(wait_s)

    async def _one(self, call: provider.Call) -> Completion | Fault:
        self.sent += 1
        try:
            with hearing_finish_words() as words:
                if self._on_text is None:
                    response = await provider.send(call)
                else:
                    response = await provider.send_streaming(call, self._on_text)
        except Exception as error:  # noqa: BLE001 - litellm raises whatever its providers raise
            return read_fault(error, model=self._request.model)
        try:
            answer = provider.read_answer(response, self._request, words=words, tries=self.sent, local=call.local)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return unreadable(self._request.model)
        if not answer.is_estimated:
            return answer
        # Long texts take the encoder a while, and other calls share this thread.
        return await asyncio.to_thread(provider.with_counted_tokens, answer, response, call, self._request)


def _timed_out(request: CompletionRequest, fault: Fault | None, *, tries: int) -> ModelTimedOut:
    before = f" Before that: {fault.message}" if fault else ""
    return ModelTimedOut(f"{request.model} gave no answer within {request.timeout_s:.1f} s.{before}", tries=tries)
