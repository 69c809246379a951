"""Work that an agent pulls: claimed, made, handed in, and claimed again; held by heartbeats as long as it is made."""

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

# Three heartbeats may be lost.
BEATS_IN_A_LEASE = 4


class WorkFields(TypedDict, total=False):
    """Which work is taken: for these agents, of these kinds, of these loops; `holder` is what people are told."""

    agents: Sequence[str]
    kinds: Sequence[str]
    modes: Sequence[str]
    holder: str


@dataclass(frozen=True)
class Puller:
    """`function` makes attempts; `claim` is which work it takes, as of `claim_task`, with `lease_s`.

    A desk that is away is asked again for `away_s`.
    """

    sender: Sender
    function: Callable[..., Any]
    claim: WorkFields
    lease_s: float
    away_s: float

    def pull(self, *, most: int | None, until_idle: bool) -> Steps[int]:
        """How many attempts were handed in. Ends after `most`, and with `until_idle` when there is no work."""
        made = 0
        while most is None or made < most:
            wait_s = 0.0 if until_idle else calls.LONGEST_WAIT_S
            asked = calls.claim_task(**self.claim, lease_s=self.lease_s, wait_s=wait_s)
            work = yield from self._send_until(asked)
            if work is None and until_idle:
                break
            if work is not None:
                made += yield from self._make(work, most=None if most is None else most - made)
        return made

    def _make(self, work: Work, *, most: int | None) -> Steps[int]:
        """How many attempts of this run were handed in; what is not made is given back."""
        made, upcoming = 0, work.run.next
        while upcoming is not None and (most is None or made < most):
            keep = calls.keep_run(work.run.id, work.lease_token)
            prompt = Prompt(upcoming, task=work.task)
            try:
                told = yield Invoke(partial(self.function, prompt), keep=keep, every_s=self.lease_s / BEATS_IN_A_LEASE)
                attempt = as_made(told)
            except BaseException:
                yield from self._give_back(work)
                raise
            try:
                upcoming = yield from self._hand_in(work, attempt, number=upcoming.attempt)
            except Conflict:
                # The hold was lost and the attempt is another's by now, or somebody ended the run: on to the next.
                return made
            made += 1
        yield from self._give_back(work)
        return made

    def _hand_in(self, work: Work, attempt: Made, *, number: int) -> Steps[NextAttempt | None]:
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
        handed_in = yield from self._send_until(call)
        return handed_in.next

    def _give_back(self, work: Work) -> Steps[None]:
        try:
            yield from self.sender.send(calls.release_run(work.run.id, work.lease_token))
        except DeskError:
            # It ended, or is another's; and where the desk is away, the hold runs out by itself.
            return

    def _send_until[T](self, call: Call[T]) -> Steps[T]:
        return self.sender.send_until(call, deadline=time.monotonic() + self.away_s)
