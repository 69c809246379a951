"""A call that is cut off while litellm sets it up leaves nothing behind."""

import asyncio
import gc
import warnings
from collections.abc import Callable, Coroutine, Iterator
from threading import Event
from typing import Any

import pytest

from reflection_app.adapters.llm import ModelTimedOut, complete, warm_up
from reflection_app.adapters.llm.gateway import stop_model_loop
from reflection_app.adapters.llm.litellm_import import SetupThreads
from tests.adapters.llm.conftest import asking
from tests.openai_server import OpenAIServer, Reply
from tests.pace import PATIENCE_S

Cut = Callable[[Callable[[], Coroutine[Any, Any, str]]], Coroutine[Any, Any, None]]


@pytest.fixture
def no_complaints() -> Iterator[None]:
    """Fails the test where Python complains of anything in it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        yield
        gc.collect()
        assert [str(one.message) for one in caught] == []


async def answer() -> str:
    await asyncio.sleep(0)
    return "Hello."


async def begin(make: Callable[[], Coroutine[Any, Any, str]]) -> str:
    """As litellm does: made on a thread, awaited on the loop."""
    made = await asyncio.get_running_loop().run_in_executor(None, make)
    assert asyncio.iscoroutine(made)
    return str(await made)


async def cut_while_it_is_made(make: Callable[[], Coroutine[Any, Any, str]]) -> None:
    may_go_on, has_begun = Event(), Event()

    def slowly() -> Coroutine[Any, Any, str]:
        has_begun.set()
        may_go_on.wait(PATIENCE_S)
        return make()

    task = asyncio.create_task(begin(slowly))
    while not has_begun.is_set():
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    may_go_on.set()
    await asyncio.get_running_loop().shutdown_default_executor()


async def cut_as_it_is_handed_over(make: Callable[[], Coroutine[Any, Any, str]]) -> None:
    """The thread is done and its result is on the loop; the call ends before it looks at it."""
    is_awaited = Event()

    def once_awaited() -> Coroutine[Any, Any, str]:
        is_awaited.wait(PATIENCE_S)
        return make()

    loop = asyncio.get_running_loop()
    made = loop.run_in_executor(None, once_awaited)

    async def wait_for_it() -> str:
        return await (await made)

    task = asyncio.create_task(wait_for_it())
    # Added before the task waits, and so called before the task goes on.
    made.add_done_callback(lambda _: task.cancel())
    await asyncio.sleep(0)
    is_awaited.set()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    await loop.shutdown_default_executor()


@pytest.mark.parametrize("cut", [cut_while_it_is_made, cut_as_it_is_handed_over])
def test_a_call_that_is_cut_off_before_it_begins_is_dropped_without_a_word(cut: Cut, no_complaints: None) -> None:
    async def scene() -> None:
        asyncio.get_running_loop().set_default_executor(SetupThreads())
        await cut(answer)

    asyncio.run(scene())


def test_a_call_that_is_not_cut_off_gives_its_answer() -> None:
    async def scene() -> str:
        asyncio.get_running_loop().set_default_executor(SetupThreads())
        return await begin(answer)

    assert asyncio.run(scene()) == "Hello."


def test_deadlines_in_the_first_milliseconds_leave_nothing_behind(
    configured: Callable[[OpenAIServer], None], no_complaints: None
) -> None:
    warm_up()
    with OpenAIServer(lambda _: Reply("late", delay_s=2)) as server:
        configured(server)
        for timeout_ms in range(0, 30, 2):
            for on_text in (None, lambda _text: None):
                with pytest.raises(ModelTimedOut):
                    complete(asking(timeout_s=timeout_ms / 1000), on_text=on_text)
        stop_model_loop()
