"""Asynchronous client, with the methods of `Desk`."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Concatenate, Self, Unpack
from uuid import UUID

import httpx

from reflection_desk.answers import DatasetColumn, Event, Page, Run
from reflection_desk.call import TIMEOUT_S, Call, address_and_headers
from reflection_desk.calls import checks, datasets, notebook, reviews, sessions, work
from reflection_desk.calls.datasets import DatasetFilters
from reflection_desk.calls.sessions import TranscriptFields
from reflection_desk.pulling import Puller, WorkFields
from reflection_desk.reflecting import Loop, Made, Prompt, Reflected
from reflection_desk.rows import Row, as_hugging_face, as_pandas, columns_of
from reflection_desk.session import Session
from reflection_desk.steps import Done, Invoke, Pause, Send, Sender, Step, Steps, Yield, advance


def _sent[**P, T](build: Callable[P, Call[T]]) -> Callable[Concatenate["AsyncDesk", P], Coroutine[Any, Any, T]]:
    """Return the method that sends the call which `build` returns."""

    @functools.wraps(build)
    async def method(self: "AsyncDesk", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(build(*args, **kwargs))

    return method


class AsyncReflectedFunction[**P]:
    """A decorated function, see `AsyncDesk.reflected`. Call it with an objective to get the best attempt.

    Further arguments are passed to the function after the prompt.
    """

    __name__: str

    def __init__(self, desk: "AsyncDesk", loop: Loop) -> None:
        self._desk = desk
        self._loop = loop
        functools.update_wrapper(self, loop.function)

    async def __call__(self, objective: str, /, *args: P.args, **kwargs: P.kwargs) -> Reflected:
        return await self._desk.carry_out(self._loop.begin(objective, *args, **kwargs))

    async def resume(self, run_id: UUID | str, /, *args: P.args, **kwargs: P.kwargs) -> Reflected:
        """Continue a run that an earlier call started, such as in a process that died. Return its best attempt."""
        return await self._desk.carry_out(self._loop.resume(run_id, *args, **kwargs))


class AsyncRows:
    """The rows of a dataset as dicts, oldest first. Each iteration requests them anew."""

    def __init__(self, desk: "AsyncDesk", dataset: str, filters: DatasetFilters) -> None:
        self._desk, self._dataset, self._filters = desk, dataset, filters

    def __aiter__(self) -> AsyncIterator[Row]:
        return self._desk.pages(datasets.read_dataset(self._dataset, **self._filters))

    async def to_pandas(self) -> Any:
        """Return all rows as a `pandas.DataFrame`, with timestamps in UTC. Raises LibraryMissing without pandas."""
        return as_pandas([row async for row in self], await self._columns())

    async def to_hf(self) -> Any:
        """Return all rows as a Hugging Face `datasets.Dataset`. Raises LibraryMissing without `datasets`."""
        return as_hugging_face([row async for row in self], await self._columns())

    async def _columns(self) -> list[DatasetColumn]:
        return columns_of(self._dataset, await self._desk.list_datasets())


class AsyncDesk:
    """Asynchronous client of one project on a Reflection Desk server. Use it in one event loop.

    `url` is the server's address, such as `http://127.0.0.1:8000`, and `key` an API key; the key determines the
    project. They default to the environment variables DESK_URL and DESK_KEY. Raises ValueError if one is missing.

    A call is tried up to `tries` times, with growing pauses, if the connection fails or the server returns 429, 502,
    503 or 504. Retry-After is respected; if it is over 60 seconds, the error is raised at once. Every POST has an
    idempotency key, so retries are not executed twice. Methods raise the exceptions of `reflection_desk.errors`:
    Refused or a subclass for an error response, DeskUnreachable without a response.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        tries: int = 4,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        base, headers = address_and_headers(url, key)
        self._http = httpx.AsyncClient(base_url=base, headers=headers, timeout=TIMEOUT_S, transport=transport)
        self.sender = Sender(tries=tries, base=self._http.base_url)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send[T](self, call: Call[T]) -> T:
        """Send a call and return the parsed response.

        For endpoints without a method, build the call with `reflection_desk.call`.
        """
        return await self.carry_out(self.sender.send(call))

    def pages[T](self, call: Call[Page[T]]) -> AsyncIterator[T]:
        """Iterate over all results of a list, page by page.

        For example `async for run in desk.pages(work.list_runs(state="finished"))`.
        """
        return self._iterate(self.sender.pages(call))

    async def wait_for_run(self, run_id: UUID | str, *, timeout_s: float = 600.0, until_finished: bool = False) -> Run:
        """Return the run once it has finished, or waits for a reviewer or for your agent's next attempt.

        With `until_finished`, return it only once it has finished. Raises StillGoing after `timeout_s` seconds. While
        the server is unavailable, for example during a restart, requests are repeated until then; afterwards the error
        is raised.
        """
        waits = self.sender.wait_for_run(
            run_id, timeout_s=timeout_s, until=lambda run: run.is_waiting and not until_finished
        )
        return await self.carry_out(waits)

    def events(self, run_id: UUID | str, *, after: int = 0, away_s: float = 600.0) -> AsyncIterator[Event]:
        """Iterate over the run's events as they happen, until the run has finished.

        To resume, pass the `seq` of the last event you received as `after`. While the server is unavailable, requests
        are repeated for up to `away_s` seconds; then the error is raised.
        """
        return self._iterate(self.sender.events(run_id, after=after, away_s=away_s))

    def reflected[**P](
        self, *, timeout_s: float = 3600.0, **task: Any
    ) -> Callable[
        [Callable[Concatenate[Prompt, P], str | Made] | Callable[Concatenate[Prompt, P], Awaitable[str | Made]]],
        AsyncReflectedFunction[P],
    ]:
        """Decorate a function that makes attempts, see `Desk.reflected`. Sync functions run in a thread."""

        def decorated(
            function: Callable[Concatenate[Prompt, P], str | Made]
            | Callable[Concatenate[Prompt, P], Awaitable[str | Made]],
        ) -> AsyncReflectedFunction[P]:
            made_by: Callable[..., Any] = function
            if not inspect.iscoroutinefunction(function):
                made_by = functools.wraps(function)(functools.partial(asyncio.to_thread, made_by))
            return AsyncReflectedFunction(self, Loop(self.sender, made_by, task, timeout_s))

        return decorated

    async def work_on(
        self,
        function: Callable[[Prompt], str | Made] | Callable[[Prompt], Awaitable[str | Made]],
        *,
        lease_s: float = 120.0,
        most: int | None = None,
        until_idle: bool = False,
        away_s: float = 600.0,
        **claim: Unpack[WorkFields],
    ) -> int:
        """Claim, make and submit attempts, see `Desk.work_on`. Sync functions run in a thread."""
        made_by: Callable[..., Any] = function
        if not inspect.iscoroutinefunction(function):
            made_by = functools.partial(asyncio.to_thread, made_by)
        puller = Puller(self.sender, made_by, claim, lease_s, away_s)
        return await self.carry_out(puller.pull(most=most, until_idle=until_idle))

    def dataset(self, dataset: str, **filters: Unpack[DatasetFilters]) -> "AsyncRows":
        """Return the rows of a dataset: `runs`, `preferences` or `critic`. Rows are requested page by page."""
        return AsyncRows(self, dataset, filters)

    @asynccontextmanager
    async def session(self, **fields: Unpack[TranscriptFields]) -> AsyncIterator[Session]:
        """Record an agent's session and submit it when the block ends.

        If the block raises, the error becomes the last message, the session is submitted and the error is raised.
        """
        session = Session(**fields)
        try:
            yield session
        except BaseException as error:
            await self.carry_out(session.break_off(self.sender, error))
            raise
        await self.carry_out(session.hand_in(self.sender))

    async def carry_out[T](self, steps: Steps[T]) -> T:
        """Execute a generator of steps and return its result, see `reflection_desk.steps`."""
        step = advance(steps)
        while not isinstance(step, Done):
            step = advance(steps, *await self._execute(step))
        return step.value

    async def _iterate(self, steps: Steps[None]) -> AsyncIterator[Any]:
        step = advance(steps)
        while not isinstance(step, Done):
            if isinstance(step, Yield):
                yield step.value
                step = advance(steps)
            else:
                step = advance(steps, *await self._execute(step))

    async def _execute(self, step: Step) -> tuple[Any, BaseException | None]:
        """Execute one step. Return its result, or the error that it raised."""
        outcome = None
        try:
            match step:
                case Send(call):
                    outcome = await self._request(call)
                case Pause(seconds):
                    await asyncio.sleep(seconds)
                case Invoke(function, heartbeat=heartbeat, every_s=every_s):
                    async with self._heartbeats(heartbeat, every_s=every_s):
                        outcome = function()
                        while inspect.isawaitable(outcome):
                            outcome = await outcome
        except asyncio.CancelledError as cancelled:
            # The steps release the claimed run, then raise this again.
            if not isinstance(step, Invoke) or step.heartbeat is None:
                raise
            return None, cancelled
        except Exception as error:  # noqa: BLE001 - thrown into the steps, which raise what they do not handle
            return None, error
        return outcome, None

    @asynccontextmanager
    async def _heartbeats(self, heartbeat: Call[Any] | None, *, every_s: float) -> AsyncIterator[None]:
        """Send heartbeats from a separate asyncio task until the block ends."""
        if heartbeat is None:
            yield
            return

        async def beat() -> None:
            is_held = True
            while is_held:
                await asyncio.sleep(every_s)
                is_held = await self.carry_out(self.sender.heartbeat(replace(heartbeat, idempotency_key="")))

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _request(self, call: Call[Any]) -> httpx.Response:
        return await self._http.request(
            call.method,
            call.path,
            params=call.query or None,
            headers=call.headers,
            timeout=call.timeout_s,
            **call.sent,
        )

    submit_task = _sent(work.submit_task)
    submit_tasks = _sent(work.submit_tasks)
    get_task = _sent(work.get_task)
    list_tasks = _sent(work.list_tasks)
    get_run = _sent(work.get_run)
    list_runs = _sent(work.list_runs)
    list_attempts = _sent(work.list_attempts)
    list_events = _sent(work.list_events)
    hand_in_attempt = _sent(work.hand_in_attempt)
    upload_attachment = _sent(work.upload_attachment)
    cancel_run = _sent(work.cancel_run)
    fork_run = _sent(work.fork_run)
    change_task = _sent(work.change_task)
    delete_task = _sent(work.delete_task)
    claim_task = _sent(work.claim_task)
    keep_run = _sent(work.keep_run)
    release_run = _sent(work.release_run)
    list_datasets = _sent(datasets.list_datasets)
    read_dataset = _sent(datasets.read_dataset)
    submit_transcript = _sent(sessions.submit_transcript)
    add_turns = _sent(sessions.add_turns)
    end_transcript = _sent(sessions.end_transcript)
    get_transcript = _sent(sessions.get_transcript)
    report_tool_failure = _sent(sessions.report_tool_failure)
    report_fix_outcome = _sent(sessions.report_fix_outcome)
    check_completeness = _sent(sessions.check_completeness)
    get_completeness_check = _sent(sessions.get_completeness_check)
    get_completeness_settings = _sent(checks.get_completeness_settings)
    change_completeness_settings = _sent(checks.change_completeness_settings)
    list_run_checks = _sent(sessions.list_run_checks)
    recurring_supplements = _sent(sessions.recurring_supplements)
    completeness_figures = _sent(sessions.completeness_figures)
    recall = _sent(notebook.recall)
    rules_prompt = _sent(notebook.rules_prompt)
    propose_entry = _sent(notebook.propose_entry)
    report_outcome = _sent(notebook.report_outcome)
    get_metrics = _sent(notebook.get_metrics)
    list_reviews = _sent(reviews.list_reviews)
    get_review = _sent(reviews.get_review)
    ask_for_review = _sent(reviews.ask_for_review)
    claim_review = _sent(reviews.claim_review)
    decide_review = _sent(reviews.decide_review)
    keep_review = _sent(reviews.keep_review)
    release_review = _sent(reviews.release_review)
