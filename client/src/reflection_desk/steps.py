"""What the clients do, as steps that neither sends nor sleeps itself: `Desk` carries them out, and `AsyncDesk` alike.

Such a function is a generator. It yields what is to be done and is given what came of it, or has the error thrown at
it; what it returns is the answer.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from reflection_desk.answering import delay_before_next_try, delay_while_away, next_address, read
from reflection_desk.answers import Event, Page, Run
from reflection_desk.call import Call
from reflection_desk.calls import work
from reflection_desk.errors import Conflict, DeskError, DeskUnreachable, StillGoing

# Between two looks at a run that waits for a person, who takes minutes at the least.
FIRST_LOOK_S, LONGEST_LOOK_S = 1.0, 5.0


@dataclass(frozen=True)
class Send:
    """One request, once: the answer to it is a httpx.Response, whatever its status."""

    call: Call[Any]


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Invoke:
    """A function of whoever uses the client. What it returns is awaited, where that can be.

    While it runs, `keep` is sent every `every_s` seconds, until it is refused for good.
    """

    function: Callable[[], Any]
    keep: Call[Any] | None = None
    every_s: float = 0.0


@dataclass(frozen=True)
class Give:
    """One of the things that are iterated over."""

    value: Any


@dataclass(frozen=True)
class Done[T]:
    """All steps are carried out, and this is what they come to."""

    value: T


type Step = Send | Pause | Invoke | Give
type Steps[T] = Generator[Step, Any, T]


def advance[T](steps: Steps[T], outcome: Any = None, error: BaseException | None = None) -> Step | Done[T]:
    """The next step, once the one before came to `outcome` or to `error`. Raises what the steps raise."""
    try:
        return steps.send(outcome) if error is None else steps.throw(error)
    except StopIteration as end:
        return Done(end.value)


@dataclass(frozen=True)
class Sender:
    """How calls are sent: each up to `tries` times. `base` is the address of the desk's REST."""

    tries: int
    base: httpx.URL

    def send[T](self, call: Call[T]) -> Steps[T]:
        """The answer; tried again where none came or the desk asked to come back, always with the call's own key."""
        tries = 0
        while True:
            tries += 1
            response, lost = None, None
            try:
                response = yield Send(call)
            except (httpx.TransportError, httpx.DecodingError) as error:
                lost = error
            delay_s = delay_before_next_try(tries, most=self.tries, response=response)
            if (response is not None and response.is_success) or delay_s is None:
                break
            yield Pause(delay_s)
        if response is None:
            raise DeskUnreachable(f"{call.method} {call.path}: {lost!r} ({tries} tries)") from lost
        return read(call, response)

    def send_until[T](self, call: Call[T], *, deadline: float) -> Steps[T]:
        """The answer, asked for again while the desk is away."""
        while True:
            try:
                return (yield from self.send(call))
            except DeskError as error:
                delay_s = delay_while_away(error, left_s=deadline - time.monotonic())
                if delay_s is None:
                    raise
            yield Pause(delay_s)

    def keep(self, call: Call[Any]) -> Steps[bool]:
        """Sends a heartbeat; whether there is any use in the next one."""
        try:
            yield from self.send(call)
        except DeskError as error:
            # A desk that is away may be back in time.
            return not isinstance(error, Conflict)
        return True

    def pages[T](self, call: Call[Page[T]]) -> Steps[None]:
        """Gives all results of a list, page after page."""
        page: Page[T] = yield from self.send(call)
        yield from map(Give, page.results)
        while address := next_address(page, self.base):
            page = yield from self.send(Call("GET", address, call.read))
            yield from map(Give, page.results)

    def wait_for_run(self, run_id: UUID | str, *, timeout_s: float, until: Callable[[Run], bool]) -> Steps[Run]:
        """The run once it has finished or is so. Raises StillGoing when the time is up.

        A desk that is away is asked again until then.
        """
        deadline = time.monotonic() + timeout_s
        look_s = FIRST_LOOK_S
        while True:
            left_s = deadline - time.monotonic()
            call = work.get_run(run_id, wait_s=max(0.0, min(left_s, work.LONGEST_WAIT_S)))
            run = yield from self.send_until(call, deadline=deadline)
            if run.is_finished or until(run):
                return run
            if time.monotonic() >= deadline:
                raise StillGoing(f"run {run_id} is still {run.state} after {timeout_s:g} s")
            if run.is_waiting:
                # The desk holds no answer back that tells of waiting.
                yield Pause(min(look_s, max(0.0, deadline - time.monotonic())))
                look_s = min(LONGEST_LOOK_S, look_s * 1.5)

    def events(self, run_id: UUID | str, *, after: int, away_s: float) -> Steps[None]:
        """Gives the run's events as they happen, until it has finished."""
        while True:
            call = work.list_events(run_id, after=after, wait_s=work.LONGEST_WAIT_S)
            page: Page[Event] = yield from self.send_until(call, deadline=time.monotonic() + away_s)
            for event in page.results:
                after = event.seq
                yield Give(event)
                if event.type == "run.finished":
                    return
            if page.results:
                continue
            run = yield from self.send_until(work.get_run(run_id), deadline=time.monotonic() + away_s)
            if run.is_finished:
                return
