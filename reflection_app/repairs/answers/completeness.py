"""Completeness of a project as REST tells it: all checks with what came of them, what keeps being missing, figures.

A check here is the row that the figures are made of: of a run at work, or of a history that was handed in.
"""

from typing import Self
from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.reading import Answer, Money, PageAnswer
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.completeness.dropped import Dropped
from reflection_app.metrics.completeness_figures import CompletenessFigures, Recurring
from reflection_app.repairs.answers.supplements import DroppedAnswer, dropped_answers
from reflection_app.repairs.completeness import source_of
from reflection_app.repairs.models import CompletenessCheck, Supplement


class MissingAnswer(Answer):
    """One missing operation. `recurring_as` is the same in every check that found it missing."""

    operation: str
    reason: str
    suggested_tools: list[str]
    recurring_as: str | None = Field(
        description="`source` of the recurring follow-up step; null for one missing in a fork"
    )
    attempted: bool | None = Field(description="null until the follow-up steps have been executed")
    succeeded: bool | None
    error: str
    tokens: int

    @classmethod
    def of(cls, row: Supplement, *, is_fork: bool) -> Self:
        return cls.from_row(row, recurring_as=None if is_fork else source_of(row.task_kind, row.operation_key))


class RunCheckAnswer(Answer):
    """One check of a run, with its findings and results."""

    id: UUID
    run_id: UUID
    attempt: int = Field(validation_alias="attempt_number")
    kind: str = Field(validation_alias="task_kind")
    state: CheckState = Field(
        description="completed_by_supplement: it was incomplete, then everything missing was completed"
    )
    analysis: str
    missing_aspects: list[str]
    supplements: list[MissingAnswer]
    dropped: list[DroppedAnswer]
    steps_ok: bool
    error: str
    tokens: int = Field(description="tokens of the check itself")
    created_at: AwareDatetime

    @classmethod
    def of(cls, row: CompletenessCheck) -> Self:
        """Return the check; the row needs its run and its supplements."""
        is_fork = row.run.parent_id is not None
        dropped = tuple(Dropped.model_validate(one) for one in row.dropped)
        return cls.from_row(
            row,
            supplements=[MissingAnswer.of(one, is_fork=is_fork) for one in row.supplements.all()],
            dropped=dropped_answers(dropped),
        )


class RunCheckPage(PageAnswer):
    results: list[RunCheckAnswer]


class RecurringAnswer(Answer):
    """A follow-up step that was missing in several runs of one task type."""

    source: str = Field(description="`source` of the notebook entry, if one was proposed")
    kind: str = Field(validation_alias="task_kind")
    operation: str = Field(description="text of its first occurrence")
    found: int = Field(description="number of times that it was missing")
    runs: int
    attempted: int
    succeeded: int
    tokens: int
    cost_usd: Money | None = Field(description="null if the cost of any call is unknown")

    @classmethod
    def of(cls, one: Recurring) -> Self:
        return cls.from_row(one, cost_usd=one.cost_usd if one.cost_known else None)


class RecurringList(Answer):
    """The most frequent first."""

    results: list[RecurringAnswer]


class CompletenessFiguresAnswer(Answer):
    """Figures of all checks of the project. `incomplete` counts checks that found something missing.

    `supplementable` counts those of runs that execute follow-up steps; `supplemented` counts those then completed.
    """

    checks: int
    complete: int
    incomplete: int
    supplementable: int
    supplemented: int
    unchecked: int
    share_incomplete: float | None = Field(description="share of the conclusive checks")
    share_supplemented: float | None
    tasks: int
    supplements: int
    supplements_per_task: float | None
    runs_with_supplements: int
    tokens: int
    cost_usd: Money | None = Field(description="cost of the checks themselves; null if any cost is unknown")

    @classmethod
    def of(cls, figures: CompletenessFigures) -> Self:
        cost_usd = figures.cost_usd if figures.cost_known else None
        return cls.from_row(figures, cost_usd=cost_usd, runs_with_supplements=figures.exec.used)
