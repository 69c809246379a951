"""The loop of `work_on`: claim a run, make its attempts under a lease, submit them, claim the next."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

from reflection_desk.answers import NextAttempt, Work
from reflection_desk.call import Call
from reflection_desk.calls import work as calls
from reflection_desk.errors import Conflict, DeskError
from reflection_desk.reflecting import Made, Prompt, as_made, uploaded
from reflection_desk.steps import Invoke, Sender, Steps

# Three heartbeats in a row may fail before the lease expires.
BEATS_IN_A_LEASE = 4


class WorkFields(TypedDict, total=False):
    """Filters of the work to claim: agents and kinds of the task, loops of the run. `holder` is a display name."""

    agents: Sequence[str]
    kinds: Sequence[str]
    modes: Sequence[str]
    holder: str


@dataclass(frozen=True)
class Puller:
    """Claims work and submits the attempts that `function` makes.

    `claim` and `lease_s` are arguments of `claim_task`. While the server is unavailable, calls are repeated for up to
    `away_s` seconds.
    """

    sender: Sender
    function: Callable[..., Any]
    claim: WorkFields
    lease_s: float
    away_s: float

    def pull(self, *, most: int | None, until_idle: bool) -> Steps[int]:
        """Submit up to `most` attempts and return their number. With `until_idle`, end when no work is left."""
        made = 0
        while most is None or made < most:
            wait_s = 0.0 if until_idle else calls.LONGEST_WAIT_S
            claimed = calls.claim_task(**self.claim, lease_s=self.lease_s, wait_s=wait_s)
            work = yield from self._send_until(claimed)
            if work is None and until_idle:
                break
            if work is not None:
                made += yield from self._make(work, most=None if most is None else most - made)
        return made

    def _make(self, work: Work, *, most: int | None) -> Steps[int]:
        """Make the attempts of one claimed run, then release it. Return the number of submitted attempts."""
        made, upcoming = 0, work.run.next
        while upcoming is not None and (most is None or made < most):
            heartbeat = calls.keep_run(work.run.id, work.lease_token)
            prompt = Prompt(upcoming, task=work.task)
            try:
                every_s = self.lease_s / BEATS_IN_A_LEASE
                result = yield Invoke(partial(self.function, prompt), heartbeat=heartbeat, every_s=every_s)
                attempt = as_made(result)
            except BaseException:
                yield from self._release(work)
                raise
            try:
                upcoming = yield from self._submit(work, attempt, number=upcoming.attempt)
            except Conflict:
                # The lease was lost to another worker, or the run has ended.
                return made
            made += 1
        yield from self._release(work)
        return made

    def _submit(self, work: Work, attempt: Made, *, number: int) -> Steps[NextAttempt | None]:
        files = yield from uploaded(attempt, send=self._send_until)
        call = calls.hand_in_attempt(
            work.run.id,
            attempt.content,
            attempt=number,
            attachments=files,
            wait_s=calls.LONGEST_WAIT_S,
            lease_token=work.lease_token,
            **attempt.fields,
        )
        submitted = yield from self._send_until(call)
        return submitted.next

    def _release(self, work: Work) -> Steps[None]:
        try:
            yield from self.sender.send(calls.release_run(work.run.id, work.lease_token))
        except DeskError:
            # The run has ended or is no longer ours. If the server is unavailable, the lease expires.
            return

    def _send_until[T](self, call: Call[T]) -> Steps[T]:
        return self.sender.send_until(call, deadline=time.monotonic() + self.away_s)
