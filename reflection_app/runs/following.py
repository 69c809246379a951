"""What follows from an effect's result, registered by the effect: each subject keeps the rows that are its own.

The modules that register are named in `SUBJECTS`, and imported as Django starts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reflection_app.loops.effect import Effect
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.verdicts import Judgement
from reflection_app.runs.batch import Batch
from reflection_app.runs.journal import Attempts
from reflection_app.runs.journal_writes import Follow
from reflection_app.runs.models import Attempt, Run, Step

SUBJECTS = (
    "runs.consequences",
    "runs.lessons",
    "reviews.rows",
    "repairs.rows",
    "repairs.completeness",
    "sessions.rows",
    "attachments.produced",
)


@dataclass(frozen=True)
class StepCommit:
    """The transaction that keeps a step: its run, locked, and the rows that go in one trip.

    `attempts` and `judgements` are those made or read so far. What reads rows back writes the batch first.
    """

    run: Run
    step: Step
    batch: Batch
    attempts: Attempts
    judgements: Sequence[Judgement]

    def attempt(self, number: int) -> Attempt:
        """The run's attempt of this number. Raises Attempt.DoesNotExist."""
        if number not in self.attempts:
            self.attempts[number] = Attempt.objects.get(run=self.run, number=number)
        return self.attempts[number]


type Follower = Callable[[Any, Any, StepCommit], None]
type NotebookFollower = Callable[..., None]
FOLLOWERS: dict[type[Effect[Any]], Follower] = {}
FOR_NOTEBOOK: dict[type[Effect[Any]], NotebookFollower] = {}


def follows_from(*effects: type[Effect[Any]]) -> Callable[[Follower], Follower]:
    """Registers what is written in the transaction that keeps a step of these effects: by effect, result and commit."""

    def register(follower: Follower) -> Follower:
        FOLLOWERS.update(dict.fromkeys(effects, follower))
        return follower

    return register


def goes_to_notebook(*effects: type[Effect[Any]]) -> Callable[[NotebookFollower], NotebookFollower]:
    """Registers what these effects have for the notebook: written after the step, in a transaction of its own.

    The follower is called with effect, run and step.
    """

    def register(follower: NotebookFollower) -> NotebookFollower:
        FOR_NOTEBOOK.update(dict.fromkeys(effects, follower))
        return follower

    return register


def consequences(
    effect: AnyEffect, value: Any = None, *, attempts: Attempts, judgements: Sequence[Judgement]
) -> Follow:
    """What to write with the step of `effect`, once `value` is its result."""

    def follow(run: Run, step: Step, batch: Batch) -> None:
        if follower := FOLLOWERS.get(type(effect)):
            follower(effect, value, StepCommit(run, step, batch, attempts, judgements))

    return follow
