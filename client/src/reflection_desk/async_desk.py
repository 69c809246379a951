"""The asynchronous client: as `Desk`, with every method awaited."""

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, Self
from uuid import UUID

import httpx

from reflection_desk.answering import delay_before_next_try, delay_while_away, next_address, read
from reflection_desk.answers import Event, Page, Run
from reflection_desk.call import TIMEOUT_S, Call
from reflection_desk.calls import notebook, reviews, sessions, work
from reflection_desk.errors import DeskError, DeskUnreachable, StillGoing

API = "api/v1/"


def _sent[**P, T](build: Callable[P, Call[T]]) -> Callable[Concatenate["AsyncDesk", P], Coroutine[Any, Any, T]]:
    """The method that sends the calls which `build` makes."""

    @functools.wraps(build)
    async def method(self: "AsyncDesk", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(build(*args, **kwargs))

    return method


class AsyncDesk:
    """One project of a desk, by one of its keys, for one event loop.

    Calls are tried up to `tries` times where no answer came or the desk asked to come back; nothing is carried out
    twice, for each POST has an idempotency key. Every method raises what `reflection_desk.errors` lists.
    """

    def __init__(
        self, url: str, key: str, *, tries: int = 4, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._tries = tries
        self._http = httpx.AsyncClient(
            base_url=httpx.URL(url.rstrip("/") + "/").join(API),
            headers={"Authorization": f"Bearer {key}"},
            timeout=TIMEOUT_S,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def send[T](self, call: Call[T]) -> T:
        """Sends any call, also one that this client has no method for."""
        tries = 0
        while True:
            tries += 1
            response, lost = None, None
            try:
                response = await self._http.request(
                    call.method,
                    call.path,
                    params=call.query or None,
                    json=call.body,
                    headers=call.headers,
                    timeout=call.timeout_s,
                )
            except httpx.TransportError as error:
                lost = error
            delay_s = delay_before_next_try(tries, most=self._tries, response=response)
            if (response is not None and response.is_success) or delay_s is None:
                break
            await asyncio.sleep(delay_s)
        if response is None:
            raise DeskUnreachable(f"{call.method} {call.path}: {lost!r} ({tries} tries)") from lost
        return read(call, response)

    async def pages[T](self, call: Call[Page[T]]) -> AsyncIterator[T]:
        """All results of a list, page after page: `async for run in desk.pages(work.list_runs(state="finished"))`."""
        page = await self.send(call)
        for result in page.results:
            yield result
        while address := next_address(page, self._http.base_url):
            page = await self.send(Call("GET", address, call.read))
            for result in page.results:
                yield result

    async def wait_for_run(self, run_id: UUID | str, *, timeout_s: float = 600.0, until_finished: bool = False) -> Run:
        """The run once it has finished or, unless `until_finished`, waits for somebody. Raises StillGoing.

        A desk that is away, as while it is restarted, is asked again until the time is up.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            left_s = deadline - time.monotonic()
            call = work.get_run(run_id, wait_s=max(0.0, min(left_s, work.LONGEST_WAIT_S)))
            run = await self._send_until(call, deadline=deadline)
            if run.is_finished or (run.is_waiting and not until_finished):
                return run
            if time.monotonic() >= deadline:
                raise StillGoing(f"run {run_id} is still {run.state} after {timeout_s:g} s")
            if run.is_waiting:
                await asyncio.sleep(min(1.0, max(0.0, deadline - time.monotonic())))

    async def events(self, run_id: UUID | str, *, after: int = 0, away_s: float = 600.0) -> AsyncIterator[Event]:
        """The run's events as they happen, until it has finished. Begin again with the last `seq` you saw.

        A desk that is away, as while it is restarted, is asked again for `away_s`.
        """
        while True:
            call = work.list_events(run_id, after=after, wait_s=work.LONGEST_WAIT_S)
            page = await self._send_until(call, deadline=time.monotonic() + away_s)
            for event in page.results:
                after = event.seq
                yield event
                if event.type == "run.finished":
                    return
            if page.results:
                continue
            run = await self._send_until(work.get_run(run_id), deadline=time.monotonic() + away_s)
            if run.is_finished:
                return

    async def _send_until[T](self, call: Call[T], *, deadline: float) -> T:
        """The answer, asked for again while the desk is away."""
        while True:
            try:
                return await self.send(call)
            except DeskError as error:
                delay_s = delay_while_away(error, left_s=deadline - time.monotonic())
                if delay_s is None:
                    raise
            await asyncio.sleep(delay_s)

    submit_task = _sent(work.submit_task)
    submit_tasks = _sent(work.submit_tasks)
    get_task = _sent(work.get_task)
    list_tasks = _sent(work.list_tasks)
    get_run = _sent(work.get_run)
    list_runs = _sent(work.list_runs)
    list_attempts = _sent(work.list_attempts)
    list_events = _sent(work.list_events)
    hand_in_attempt = _sent(work.hand_in_attempt)
    cancel_run = _sent(work.cancel_run)
    fork_run = _sent(work.fork_run)
    submit_transcript = _sent(sessions.submit_transcript)
    add_turns = _sent(sessions.add_turns)
    end_transcript = _sent(sessions.end_transcript)
    get_transcript = _sent(sessions.get_transcript)
    report_tool_failure = _sent(sessions.report_tool_failure)
    report_fix_outcome = _sent(sessions.report_fix_outcome)
    check_completeness = _sent(sessions.check_completeness)
    get_completeness_check = _sent(sessions.get_completeness_check)
    recall = _sent(notebook.recall)
    rules_prompt = _sent(notebook.rules_prompt)
    propose_entry = _sent(notebook.propose_entry)
    report_outcome = _sent(notebook.report_outcome)
    get_metrics = _sent(notebook.get_metrics)
    list_reviews = _sent(reviews.list_reviews)
    claim_review = _sent(reviews.claim_review)
    decide_review = _sent(reviews.decide_review)
    keep_review = _sent(reviews.keep_review)
    release_review = _sent(reviews.release_review)
