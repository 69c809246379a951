"""The logic that both clients share, as generators of steps without I/O. `Desk.carry_out` executes them.

A generator yields a step and receives its result, or the step's error is thrown into it. Its return value is the
result of the whole.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from reflection_desk.answering import delay_before_next_try, delay_while_unavailable, next_address, read
from reflection_desk.answers import Event, Page, Run
from reflection_desk.call import Call
from reflection_desk.calls import work
from reflection_desk.errors import Conflict, DeskError, DeskUnreachable, StillGoing

# Between two polls of a run that waits for a reviewer, who needs minutes.
FIRST_POLL_S, LONGEST_POLL_S = 1.0, 5.0


@dataclass(frozen=True)
class Send:
    """Send one request, without retries. The result is an httpx.Response with any status."""

    call: Call[Any]


@dataclass(frozen=True)
class Pause:
    """Sleep."""

    seconds: float


@dataclass(frozen=True)
class Invoke:
    """Call a function of the client's user. AsyncDesk awaits an awaitable result.

    While it runs, `heartbeat` is sent every `every_s` seconds, until the server returns a conflict.
    """

    function: Callable[[], Any]
    heartbeat: Call[Any] | None = None
    every_s: float = 0.0


@dataclass(frozen=True)
class Yield:
    """Pass one item to the caller that iterates."""

    value: Any


@dataclass(frozen=True)
class Done[T]:
    """The result, after the last step."""

    value: T


type Step = Send | Pause | Invoke | Yield
type Steps[T] = Generator[Step, Any, T]


def advance[T](steps: Steps[T], outcome: Any = None, error: BaseException | None = None) -> Step | Done[T]:
    """Pass the last step's `outcome` or `error` to the generator. Return the next step. Raises what the steps raise."""
    try:
        return steps.send(outcome) if error is None else steps.throw(error)
    except StopIteration as end:
        return Done(end.value)


@dataclass(frozen=True)
class Sender:
    """Steps that send calls, each up to `tries` times. `base` is the URL of the REST API."""

    tries: int
    base: httpx.URL

    def send[T](self, call: Call[T]) -> Steps[T]:
        """Return the parsed response. Retries send the same idempotency key."""
        tries = 0
        while True:
            tries += 1
            response, failure = None, None
            try:
                response = yield Send(call)
            except (httpx.TransportError, httpx.DecodingError) as error:
                failure = error
            delay_s = delay_before_next_try(tries, most=self.tries, response=response)
            if (response is not None and response.is_success) or delay_s is None:
                break
            yield Pause(delay_s)
        if response is None:
            message = f"no response to {call.method} {call.path} after {tries} tries: {failure!r}"
            raise DeskUnreachable(message) from failure
        return read(call, response)

    def send_until[T](self, call: Call[T], *, deadline: float) -> Steps[T]:
        """Return the parsed response. While the server is unavailable, repeat the call until `deadline`."""
        while True:
            try:
                return (yield from self.send(call))
            except DeskError as error:
                delay_s = delay_while_unavailable(error, left_s=deadline - time.monotonic())
                if delay_s is None:
                    raise
            yield Pause(delay_s)

    def heartbeat(self, call: Call[Any]) -> Steps[bool]:
        """Send a heartbeat. Return False if the lease is lost and the next one would be useless."""
        try:
            yield from self.send(call)
        except DeskError as error:
            # An unavailable server may be back before the lease expires.
            return not isinstance(error, Conflict)
        return True

    def pages[T](self, call: Call[Page[T]]) -> Steps[None]:
        """Yield all results of a list, page by page."""
        page: Page[T] = yield from self.send(call)
        yield from map(Yield, page.results)
        while address := next_address(page, self.base):
            page = yield from self.send(Call("GET", address, call.read))
            yield from map(Yield, page.results)

    def wait_for_run(self, run_id: UUID | str, *, timeout_s: float, until: Callable[[Run], bool]) -> Steps[Run]:
        """Return the run once it has finished or `until` is true of it. Raises StillGoing after `timeout_s` seconds."""
        deadline = time.monotonic() + timeout_s
        poll_s = FIRST_POLL_S
        while True:
            left_s = deadline - time.monotonic()
            call = work.get_run(run_id, wait_s=max(0.0, min(left_s, work.LONGEST_WAIT_S)))
            run = yield from self.send_until(call, deadline=deadline)
            if run.is_finished or until(run):
                return run
            if time.monotonic() >= deadline:
                raise StillGoing(f"run {run_id} is still {run.state} after {timeout_s:g} s; it continues on the server")
            if run.is_waiting:
                # The server does not hold requests for a waiting run: it answers at once.
                yield Pause(min(poll_s, max(0.0, deadline - time.monotonic())))
                poll_s = min(LONGEST_POLL_S, poll_s * 1.5)

    def events(self, run_id: UUID | str, *, after: int, away_s: float) -> Steps[None]:
        """Yield the run's events as they happen, until it has finished."""
        while True:
            call = work.list_events(run_id, after=after, wait_s=work.LONGEST_WAIT_S)
            page: Page[Event] = yield from self.send_until(call, deadline=time.monotonic() + away_s)
            for event in page.results:
                after = event.seq
                yield Yield(event)
                if event.type == "run.finished":
                    return
            if page.results:
                continue
            run = yield from self.send_until(work.get_run(run_id), deadline=time.monotonic() + away_s)
            if run.is_finished:
                return
