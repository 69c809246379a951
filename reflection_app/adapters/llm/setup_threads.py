"""Threads on which litellm sets a call up, and the coroutine that it makes there, which may be dropped unbegun.

litellm prepares a call on a thread and awaits what comes back. A deadline may end the call before the thread is done;
nobody then awaits the coroutine, and Python would report that at some later moment in the middle of something else.
"""

from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from types import CoroutineType, TracebackType
from typing import Any


class SetupThreads(ThreadPoolExecutor):
    """An executor of an event loop. A coroutine that comes out of it may be dropped before it begins."""

    def submit[**P, T](self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        def call() -> Any:
            result = fn(*args, **kwargs)
            return Droppable(result) if iscoroutine(result) else result

        return super().submit(call)


class Droppable(Coroutine[Any, Any, Any]):
    """The same coroutine, closed where it is let go of without having begun: it holds nothing yet."""

    def __init__(self, inner: CoroutineType[Any, Any, Any]) -> None:
        self._inner = inner

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()

    def send(self, value: Any) -> Any:
        return self._inner.send(value)

    def throw(self, typ: Any, val: BaseException | object = None, tb: TracebackType | None = None) -> Any:
        return self._inner.throw(typ) if val is None else self._inner.throw(typ, val, tb)

    def close(self) -> None:
        self._inner.close()

    def __del__(self) -> None:
        if getcoroutinestate(self._inner) == CORO_CREATED:
            self._inner.close()
