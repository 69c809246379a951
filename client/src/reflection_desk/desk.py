"""Synchronous client."""

import functools
import inspect
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def _sent[**P, T](build: Callable[P, Call[T]]) -> Callable[Concatenate["Desk", P], T]:
    """Return the method that sends the call which `build` returns."""

    @functools.wraps(build)
    def method(self: "Desk", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(build(*args, **kwargs))

    return method


class ReflectedFunction[**P]:
    """A decorated function, see `Desk.reflected`. Call it with an objective to get the best attempt.

    Further arguments are passed to the function after the prompt.
    """

    __name__: str

    def __init__(self, desk: "Desk", loop: Loop) -> None:
        self._desk = desk
        self._loop = loop
        functools.update_wrapper(self, loop.function)

    def __call__(self, objective: str, /, *args: P.args, **kwargs: P.kwargs) -> Reflected:
        return self._desk.carry_out(self._loop.begin(objective, *args, **kwargs))

    def resume(self, run_id: UUID | str, /, *args: P.args, **kwargs: P.kwargs) -> Reflected:
        """Continue a run that an earlier call started, such as in a process that died. Return its best attempt."""
        return self._desk.carry_out(self._loop.resume(run_id, *args, **kwargs))


class Rows:
    """The rows of a dataset as dicts, oldest first. Each iteration requests them anew."""

    def __init__(self, desk: "Desk", dataset: str, filters: DatasetFilters) -> None:
        self._desk, self._dataset, self._filters = desk, dataset, filters

    def __iter__(self) -> Iterator[Row]:
        return self._desk.pages(datasets.read_dataset(self._dataset, **self._filters))

    def to_pandas(self) -> Any:
        """Return all rows as a `pandas.DataFrame`, with timestamps in UTC. Raises LibraryMissing without pandas."""
        return as_pandas(list(self), self._columns())

    def to_hf(self) -> Any:
        """Return all rows as a Hugging Face `datasets.Dataset`. Raises LibraryMissing without `datasets`."""
        return as_hugging_face(list(self), self._columns())

    def _columns(self) -> list[DatasetColumn]:
        return columns_of(self._dataset, self._desk.list_datasets())


class Desk:
    """Synchronous client of one project on a Reflection Desk server. Threads may share it.

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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        base, headers = address_and_headers(url, key)
        self._http = httpx.Client(base_url=base, headers=headers, timeout=TIMEOUT_S, transport=transport)
        # `Desk().session(…)` leaves the caller no reference to close.
        weakref.finalize(self, self._http.close)
        self.sender = Sender(tries=tries, base=self._http.base_url)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send[T](self, call: Call[T]) -> T:
        """Send a call and return the parsed response.

        For endpoints without a method, build the call with `reflection_desk.call`.
        """
        return self.carry_out(self.sender.send(call))

    def pages[T](self, call: Call[Page[T]]) -> Iterator[T]:
        """Iterate over all results of a list, page by page: `desk.pages(work.list_runs(state="finished"))`."""
        return self._iterate(self.sender.pages(call))

    def wait_for_run(self, run_id: UUID | str, *, timeout_s: float = 600.0, until_finished: bool = False) -> Run:
        """Return the run once it has finished, or waits for a reviewer or for your agent's next attempt.

        With `until_finished`, return it only once it has finished. Raises StillGoing after `timeout_s` seconds. While
        the server is unavailable, for example during a restart, requests are repeated until then; afterwards the error
        is raised.
        """
        waits = self.sender.wait_for_run(
            run_id, timeout_s=timeout_s, until=lambda run: run.is_waiting and not until_finished
        )
        return self.carry_out(waits)

    def events(self, run_id: UUID | str, *, after: int = 0, away_s: float = 600.0) -> Iterator[Event]:
        """Iterate over the run's events as they happen, until the run has finished.

        To resume, pass the `seq` of the last event you received as `after`. While the server is unavailable, requests
        are repeated for up to `away_s` seconds; then the error is raised.
        """
        return self._iterate(self.sender.events(run_id, after=after, away_s=away_s))

    def reflected[**P](
        self, *, timeout_s: float = 3600.0, **task: Any
    ) -> Callable[[Callable[Concatenate[Prompt, P], str | Made]], ReflectedFunction[P]]:
        """Decorate a function that makes attempts, so that each call is a run with feedback.

        Call the decorated function with an objective. It submits a task with the fields of `submit_task` in `task`, and
        calls your function for each attempt that the run requests: first with the objective, then with the feedback on
        the previous attempt. It returns the best attempt once the run has ended. If your function raises, the run is
        cancelled.

        `timeout_s` limits each wait for the server in seconds; set it high enough for reviews. Raises StillGoing after
        it, and NothingKept if the run ended without an attempt.
        """

        def decorated(function: Callable[Concatenate[Prompt, P], str | Made]) -> ReflectedFunction[P]:
            if inspect.iscoroutinefunction(function):
                raise TypeError(f"{function.__name__} is async: decorate it with `reflected` of an AsyncDesk")
            return ReflectedFunction(self, Loop(self.sender, function, task, timeout_s))

        return decorated

    def work_on(
        self,
        function: Callable[[Prompt], str | Made],
        *,
        lease_s: float = 120.0,
        most: int | None = None,
        until_idle: bool = False,
        away_s: float = 600.0,
        **claim: Unpack[WorkFields],
    ) -> int:
        """Claim attempts one by one, make each with `function` and submit it. Return the number of submitted attempts.

        Runs until `most` attempts are submitted, or with `until_idle` until no work is left; without both, forever. Of
        several workers, only one at a time holds an attempt: its lease lasts `lease_s` seconds and is renewed by
        heartbeats while `function` runs. If the lease is lost or the run ends meanwhile, the attempt is discarded. If
        `function` raises, the run is released for other workers and the error is raised.

        `claim` filters the work by `agents`, `kinds` and `modes`; `holder` is the worker's display name. While the
        server is unavailable, requests are repeated for up to `away_s` seconds.
        """
        puller = Puller(self.sender, function, claim, lease_s, away_s)
        return self.carry_out(puller.pull(most=most, until_idle=until_idle))

    def dataset(self, dataset: str, **filters: Unpack[DatasetFilters]) -> "Rows":
        """Return the rows of a dataset: `runs`, `preferences` or `critic`. Rows are requested page by page."""
        return Rows(self, dataset, filters)

    @contextmanager
    def session(self, **fields: Unpack[TranscriptFields]) -> Iterator[Session]:
        """Record an agent's session and submit it when the block ends.

        If the block raises, the error becomes the last message, the session is submitted and the error is raised.
        """
        session = Session(**fields)
        try:
            yield session
        except BaseException as error:
            self.carry_out(session.break_off(self.sender, error))
            raise
        self.carry_out(session.hand_in(self.sender))

    def carry_out[T](self, steps: Steps[T]) -> T:
        """Execute a generator of steps and return its result, see `reflection_desk.steps`."""
        step = advance(steps)
        while not isinstance(step, Done):
            step = advance(steps, *self._execute(step))
        return step.value

    def _iterate(self, steps: Steps[None]) -> Iterator[Any]:
        step = advance(steps)
        while not isinstance(step, Done):
            if isinstance(step, Yield):
                yield step.value
                step = advance(steps)
            else:
                step = advance(steps, *self._execute(step))

    def _execute(self, step: Step) -> tuple[Any, BaseException | None]:
        """Execute one step. Return its result, or the error that it raised."""
        outcome = None
        try:
            match step:
                case Send(call):
                    outcome = self._request(call)
                case Pause(seconds):
                    time.sleep(seconds)
                case Invoke(function, heartbeat=heartbeat, every_s=every_s):
                    with self._heartbeats(heartbeat, every_s=every_s):
                        outcome = function()
        except KeyboardInterrupt as interrupt:
            # The steps release the claimed run, then raise this again.
            return None, interrupt
        except Exception as error:  # noqa: BLE001 - thrown into the steps, which raise what they do not handle
            return None, error
        return outcome, None

    @contextmanager
    def _heartbeats(self, heartbeat: Call[Any] | None, *, every_s: float) -> Iterator[None]:
        """Send heartbeats from a separate thread until the block ends."""
        if heartbeat is None:
            yield
            return
        beat_again = replace(heartbeat, idempotency_key="")
        is_over = threading.Event()

        def beat() -> None:
            while not is_over.wait(every_s) and self.carry_out(self.sender.heartbeat(beat_again)):
                pass

        thread = threading.Thread(target=beat, name="desk-heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _request(self, call: Call[Any]) -> httpx.Response:
        return self._http.request(
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
