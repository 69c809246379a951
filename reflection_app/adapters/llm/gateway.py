"""`complete`: one model call that ends by its deadline, with retries inside it and errors of our own kind."""

import asyncio
import random
import time
from concurrent.futures import TimeoutError as FutureTimeout

from reflection_app.adapters.llm import provider
from reflection_app.adapters.llm.completion import Completion, CompletionRequest
from reflection_app.adapters.llm.errors import ModelError, ModelRefused, ModelTimedOut, ModelUnavailable
from reflection_app.adapters.llm.faults import Fault, read_fault, unreadable
from reflection_app.adapters.llm.litellm_import import litellm, log_nothing_of_this_task
from reflection_app.adapters.llm.model_loop import model_loop
from reflection_app.adapters.llm.retry import MOST_TRIES, backoff_s
from reflection_app.adapters.llm.scripted import PREFIX as SCRIPTED
from reflection_app.adapters.llm.scripted import answer_from_script
from reflection_app.adapters.llm.streaming import REFUSALS, OnText, Streams

# A provider's code that ignores its cancellation must not hold the worker: the thread leaves this much later.
GRACE_S = 2.0
FORM_REFUSED = frozenset({400, 422})

_streams = Streams()


def complete(request: CompletionRequest, *, on_text: OnText | None = None) -> Completion:
    """The model's answer, at the latest `timeout_s` after the call. Blocks; any number of threads may call at once.

    Where the provider streams, `on_text` is called with the text so far, from another thread, and has to be quick; an
    empty text takes back what was shown. The answer is the same with it and without.

    Raises ModelUnavailable, ModelTimedOut, ModelRefused, NoModelConfigured; for scripted models ScriptExhausted and
    ScriptInvalid. The process's first call takes seconds longer, for litellm's import: see `warm_up`.
    """
    if request.model.startswith(SCRIPTED):
        return answer_from_script(request, on_text=on_text)
    warm_up()
    future = model_loop(provider.close_connections).submit(_answer(request, on_text))
    try:
        outcome = future.result(timeout=request.timeout_s + GRACE_S)
    except FutureTimeout:
        outcome = _timed_out(request, None, tries=1)
    finally:
        # Also where the thread is interrupted: a call that nobody waits for must not go on costing money.
        future.cancel()
    if isinstance(outcome, ModelError):
        # Raised here, outside any handler: the provider's own exception, which may hold a key, is not chained to it.
        raise outcome
    return outcome


def warm_up() -> None:
    """Imports litellm, so that the first call does not pay for it. Workers call this when they start."""
    litellm()


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
            return self._given_up(read_fault(error, model=self._request.model))
        while True:
            answer = await self._one(call)
            if isinstance(answer, Completion):
                if self._stream_refused:
                    _streams.remember_whole_only(self._request.model)
                return answer
            self.fault = answer
            if self._on_text is not None and self._stream_failed(answer):
                continue
            # Servers word it in many ways, and a 400 costs nothing: the form is given up once, whatever was said.
            if call.asks_for_form and answer.status in FORM_REFUSED:
                call = call.without_form()
                self._failed += 1
                continue
            wait_s = self._wait_after(answer)
            if wait_s is None:
                return self._given_up(answer)
            self._failed += 1
            await asyncio.sleep(wait_s)

    async def _one(self, call: provider.Call) -> Completion | Fault:
        self.sent += 1
        try:
            if self._on_text is None:
                response = await provider.send(call)
            else:
                response = await provider.send_streaming(call, self._on_text)
        except Exception as error:  # noqa: BLE001 - litellm raises whatever its providers raise
            return read_fault(error, model=self._request.model)
        elapsed_ms = round((time.monotonic() - self._began) * 1000)
        try:
            answer = provider.read_answer(
                response, self._request, latency_ms=elapsed_ms, tries=self.sent, local=call.local
            )
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return unreadable(self._request.model)
        if not answer.is_estimated:
            return answer
        # Long texts take the encoder a while, and other calls share this thread.
        return await asyncio.to_thread(provider.with_counted_tokens, answer, response, call, self._request)

    def _stream_failed(self, fault: Fault) -> bool:
        """Has the next tries come whole; whether the next one follows at once, since streaming itself was refused."""
        assert self._on_text is not None
        if fault.status == 429:
            return False
        self._on_text("")
        self._on_text = None
        self._stream_refused = fault.status in REFUSALS
        self._failed += self._stream_refused
        return self._stream_refused

    def _wait_after(self, fault: Fault) -> float | None:
        """The seconds to wait before the next try; None where there must be none."""
        if not fault.transient or self._failed + 1 >= MOST_TRIES:
            return None
        jitter = random.random()  # noqa: S311 - spreads retries, guards nothing
        wait_s = fault.retry_after_s if fault.retry_after_s is not None else backoff_s(self._failed + 1, chance=jitter)
        return wait_s if time.monotonic() - self._began + wait_s < self._request.timeout_s else None

    def _given_up(self, fault: Fault) -> ModelError:
        if not fault.transient:
            return ModelRefused(fault.message, tries=self.sent)
        tried = f" Tried {self.sent} times." if self.sent > 1 else ""
        return ModelUnavailable(fault.message + tried, tries=self.sent, retry_after_s=fault.retry_after_s)


def _timed_out(request: CompletionRequest, fault: Fault | None, *, tries: int) -> ModelTimedOut:
    before = f" Before that: {fault.message}" if fault else ""
    return ModelTimedOut(f"{request.model} gave no answer within {request.timeout_s:.1f} s.{before}", tries=tries)
