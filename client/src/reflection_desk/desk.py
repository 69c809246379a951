"""The synchronous client."""

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
from reflection_desk.steps import Done, Give, Invoke, Pause, Send, Sender, Step, Steps, advance


def _sent[**P, T](build: Callable[P, Call[T]]) -> Callable[Concatenate["Desk", P], T]:
    """The method that sends the calls which `build` makes."""

    @functools.wraps(build)
    def method(self: "Desk", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(build(*args, **kwargs))

    return method


class ReflectedFunction[**P]:
    """A function in the desk's loop: called with an objective, it answers with the best attempt at it."""

    __name__: str

    def __init__(self, desk: "Desk", loop: Loop) -> None:
        self._desk = desk
        self._loop = loop
        functools.update_wrapper(self, loop.function)

    def __call__(self, objective: str, /, *args: P.args, **kwargs: P.kwargs) -> Reflected:
        return self._desk.carry_out(self._loop.begin(objective, *args, **kwargs))

    def resume(self, run_id: UUID | str, /, *args: P.args, **kwargs: P.kwargs) -> Reflected:
        """Goes on with a run that was begun before, as by a process that is gone."""
        return self._desk.carry_out(self._loop.go_on(run_id, *args, **kwargs))


class Rows:
    """The rows of a data set, oldest first, as they stand when they are read; may be iterated over again and again."""

    def __init__(self, desk: "Desk", dataset: str, filters: DatasetFilters) -> None:
        self._desk, self._dataset, self._filters = desk, dataset, filters

    def __iter__(self) -> Iterator[Row]:
        return self._desk.pages(datasets.read_dataset(self._dataset, **self._filters))

    def to_pandas(self) -> Any:
        """All rows as a `pandas.DataFrame`, moments in UTC. Raises LibraryMissing without pandas."""
        return as_pandas(list(self), self._columns())

    def to_hf(self) -> Any:
        """All rows as a Hugging Face `datasets.Dataset`. Raises LibraryMissing without that library."""
        return as_hugging_face(list(self), self._columns())

    def _columns(self) -> list[DatasetColumn]:
        return columns_of(self._dataset, self._desk.list_datasets())


class Desk:
    """One project of a desk, by one of its keys. May be shared by threads.

    Without `url` and `key` it is the desk at DESK_URL, by the key in DESK_KEY.

    Calls are tried up to `tries` times where no answer came or the desk asked to come back; nothing is carried out
    twice, for each POST has an idempotency key. Every method raises what `reflection_desk.errors` lists.
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
        # Whoever writes `Desk().session(…)` has no name for it to close it by.
        weakref.finalize(self, self._http.close)
        self.sender = Sender(tries=tries, base=self._http.base_url)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def send[T](self, call: Call[T]) -> T:
        """Sends any call, also one that this client has no method for."""
        return self.carry_out(self.sender.send(call))

    def pages[T](self, call: Call[Page[T]]) -> Iterator[T]:
        """All results of a list, page after page: `desk.pages(work.list_runs(state="finished"))`."""
        return self._iterate(self.sender.pages(call))

    def wait_for_run(self, run_id: UUID | str, *, timeout_s: float = 600.0, until_finished: bool = False) -> Run:
        """The run once it has finished or, unless `until_finished`, waits for somebody. Raises StillGoing.

        A desk that is away, as while it is restarted, is asked again until the time is up.
        """
        waits = self.sender.wait_for_run(
            run_id, timeout_s=timeout_s, until=lambda run: run.is_waiting and not until_finished
        )
        return self.carry_out(waits)

    def events(self, run_id: UUID | str, *, after: int = 0, away_s: float = 600.0) -> Iterator[Event]:
        """The run's events as they happen, until it has finished. Begin again with the last `seq` you saw.

        A desk that is away, as while it is restarted, is asked again for `away_s`.
        """
        return self._iterate(self.sender.events(run_id, after=after, away_s=away_s))

    def reflected[**P](
        self, *, timeout_s: float = 3600.0, **task: Any
    ) -> Callable[[Callable[Concatenate[Prompt, P], str | Made]], ReflectedFunction[P]]:
        """Puts a function that makes attempts into the desk's loop, with the fields of `submit_task` in `task`.

        The function is called with the objective, then with why its attempt came back, until the loop has ended; what
        is called in its place answers with the best attempt. People may be asked: `timeout_s` is how long each of the
        desk's answers is waited for. Raises StillGoing then, and NothingKept where no attempt was kept.
        """

        def decorated(function: Callable[Concatenate[Prompt, P], str | Made]) -> ReflectedFunction[P]:
            if inspect.iscoroutinefunction(function):
                raise TypeError(f"{function.__name__} is asynchronous: decorate it with `reflected` of an AsyncDesk")
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
        """Claims work, makes each attempt by `function` and hands it in, for ever; how many were handed in.

        Ends after `most`, or with `until_idle` when there is none. Of several programs that do so, no two make the same
        attempt. An error of the function gives its work back and is raised.
        """
        puller = Puller(self.sender, function, claim, lease_s, away_s)
        return self.carry_out(puller.pull(most=most, until_idle=until_idle))

    def dataset(self, dataset: str, **filters: Unpack[DatasetFilters]) -> "Rows":
        """The rows of `runs`, `preferences` or `critic`, read while they are iterated over."""
        return Rows(self, dataset, filters)

    @contextmanager
    def session(self, **fields: Unpack[TranscriptFields]) -> Iterator[Session]:
        """Records a session of an agent, and hands it in at the end, also where an error leaves it."""
        session = Session(**fields)
        try:
            yield session
        except BaseException as error:
            self.carry_out(session.break_off(self.sender, error))
            raise
        self.carry_out(session.hand_in(self.sender))

    def carry_out[T](self, steps: Steps[T]) -> T:
        """What the steps come to."""
        step = advance(steps)
        while not isinstance(step, Done):
            step = advance(steps, *self._take(step))
        return step.value

    def _iterate(self, steps: Steps[None]) -> Iterator[Any]:
        step = advance(steps)
        while not isinstance(step, Done):
            if isinstance(step, Give):
                yield step.value
                step = advance(steps)
            else:
                step = advance(steps, *self._take(step))

    def _take(self, step: Step) -> tuple[Any, BaseException | None]:
        """What came of one step, or the error that did."""
        outcome = None
        try:
            match step:
                case Send(call):
                    outcome = self._request(call)
                case Pause(seconds):
                    time.sleep(seconds)
                case Invoke(function, keep=keep, every_s=every_s):
                    with self._kept(keep, every_s=every_s):
                        outcome = function()
        except KeyboardInterrupt as interrupt:
            # What is held is given back first; the steps raise it again.
            return None, interrupt
        except Exception as error:  # noqa: BLE001 - thrown at the steps, which let through what is not theirs
            return None, error
        return outcome, None

    @contextmanager
    def _kept(self, keep: Call[Any] | None, *, every_s: float) -> Iterator[None]:
        """Sends heartbeats in a thread of their own until the block has ended."""
        if keep is None:
            yield
            return
        beat_again = replace(keep, idempotency_key="")
        is_over = threading.Event()

        def beat() -> None:
            while not is_over.wait(every_s) and self.carry_out(self.sender.keep(beat_again)):
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
