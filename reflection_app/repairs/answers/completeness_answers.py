"""Completeness checks of handed-in histories as REST tells them: from the run, and from the step that it recorded.

A check is known by the id of its run. It is told from the journal, which a fork has too, and not from the rows that
the figures are made of, which it has not.
"""

from enum import StrEnum
from typing import Any, cast
from uuid import UUID

from django.db.models import Exists, JSONField, OuterRef, Q, QuerySet, Subquery
from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer, Money, PageAnswer, money
from reflection_app.loops.completeness.checks import CheckState, Completeness
from reflection_app.loops.effects import RecordCompleteness
from reflection_app.loops.task_spec import Mode
from reflection_app.runs.models import Run, RunState, Step, StepState


class CheckStateAnswer(StrEnum):
    CHECKING = "checking"
    COMPLETE = CheckState.COMPLETE.value
    INCOMPLETE = CheckState.INCOMPLETE.value
    UNCHECKED = CheckState.UNCHECKED.value


class SupplementAnswer(Answer):
    operation: str
    reason: str
    suggested_tools: list[str]


class DroppedAnswer(Answer):
    """A supplement, or a tool of one, that a guard left out, and why."""

    operation: str
    why: str


class CheckLine(Answer):
    """One check in a list."""

    id: UUID
    run_id: UUID
    state: CheckStateAnswer = Field(description="unchecked: the check itself failed, which says nothing of the work")
    objective: str
    kind: str
    agent: str
    external_id: str | None
    supplements_count: int
    created_at: AwareDatetime
    finished_at: AwareDatetime | None


class CheckPage(PageAnswer):
    results: list[CheckLine]


class CheckAnswer(CheckLine):
    """One check with all that it found."""

    analysis: str
    missing_aspects: list[str]
    supplements: list[SupplementAnswer]
    dropped: list[DroppedAnswer]
    steps_ok: bool | None = Field(description="whether all steps worked, which is apart from nothing being missing")
    error: str | None = Field(description="why it is unchecked")
    tokens: int
    cost_usd: Money | None = Field(description="null where the cost of some call is not known")


def checks_to_show(runs: QuerySet[Run]) -> QuerySet[Run]:
    """The runs among `runs` that check a history, with what they found."""
    made = Step.objects.filter(run=OuterRef("pk"), kind=RecordCompleteness.kind, state=StepState.DONE).order_by("-seq")
    return (
        runs.filter(mode=Mode.COMPLETENESS_CHECK.value)
        .select_related("task")
        .defer("spec", "edited_prompts")
        .annotate(found=Subquery(made.values("result")[:1], output_field=JSONField()))
    )


def in_state(runs: QuerySet[Run], state: CheckStateAnswer) -> QuerySet[Run]:
    """Those of `checks_to_show` that are in this state."""
    if state is CheckStateAnswer.CHECKING:
        return runs.exclude(state=RunState.FINISHED)
    ended = runs.filter(state=RunState.FINISHED)
    if state is CheckStateAnswer.UNCHECKED:
        return ended.exclude(_found(CheckState.COMPLETE) | _found(CheckState.INCOMPLETE))
    return ended.filter(_found(CheckState(state.value)))


def _found(state: CheckState) -> Q:
    recorded = Step.objects.filter(run=OuterRef("pk"), kind=RecordCompleteness.kind, result__state=state.value)
    return Q(Exists(recorded))


def check_line(run: Run) -> CheckLine:
    found = found_by(run)
    return CheckLine(
        id=run.pk,
        run_id=run.pk,
        state=state_of(run, found),
        objective=run.task.objective,
        kind=run.task.kind,
        agent=run.task.agent,
        external_id=run.task.external_id,
        supplements_count=len(found.supplements) if found else 0,
        created_at=run.created_at,
        finished_at=run.finished_at,
    )


def check_answer(run: Run) -> CheckAnswer:
    found = found_by(run)
    return CheckAnswer(
        **dict(check_line(run)),
        analysis=found.analysis if found else "",
        missing_aspects=list(found.missing_aspects) if found else [],
        supplements=[SupplementAnswer(**one.model_dump(mode="json")) for one in found.supplements] if found else [],
        dropped=[DroppedAnswer(**one.model_dump()) for one in found.dropped] if found else [],
        steps_ok=found.steps_ok if found else None,
        error=_error_of(run, found),
        tokens=run.total_tokens,
        cost_usd=None if run.unpriced_calls else money(run.cost_usd),
    )


def found_by(run: Run) -> Completeness | None:
    """What the check found, once it is there."""
    found = cast("Any", run).found
    return Completeness.model_validate(found) if run.is_finished and found is not None else None


def state_of(run: Run, found: Completeness | None) -> CheckStateAnswer:
    if not run.is_finished:
        return CheckStateAnswer.CHECKING
    return CheckStateAnswer(found.state.value) if found else CheckStateAnswer.UNCHECKED


def _error_of(run: Run, found: Completeness | None) -> str | None:
    if found is not None or not run.is_finished:
        return (found.error if found else "") or None
    return run.error or f"The check ended before it could tell: {(run.outcome or '').replace('_', ' ')}."
