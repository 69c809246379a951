"""The process's one event loop for model calls, on a thread of its own, so that worker threads can block on a future.

One loop means one set of connections for all threads, and a cancelled call is truly cancelled, which a blocking
client on a thread cannot be.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from reflection_app.adapters.llm.setup_threads import SetupThreads

STOP_WITHIN_S = 5.0
SETTLE_S = 0.05

Closer = Callable[[], Awaitable[None]]


class ModelLoop:
    """A running event loop on a daemon thread; `closer` runs on it before it ends."""

    def __init__(self, closer: Closer) -> None:
        self._closer = closer
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(SetupThreads())
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
# A forked child's copies: their threads are gone. Kept, because collecting a loop that was running closes its sockets
# with a warning, and because litellm's cache of connections goes by the loop's id.
_abandoned: list[ModelLoop] = []


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


def _forget_after_fork() -> None:
    global _current, _lock  # noqa: PLW0603 - see above; the lock may have been held by another thread at the fork
    _lock = threading.Lock()
    if _current is not None:
        _abandoned.append(_current)
        _current = None


os.register_at_fork(after_in_child=_forget_after_fork)
