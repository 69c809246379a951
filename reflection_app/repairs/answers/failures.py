"""Failed calls, fix pairs and the cheat sheet as REST tells them, in the words of the third design seed."""

from enum import StrEnum
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from django.db.models import Exists, JSONField, OuterRef, Q, QuerySet, Subquery
from pydantic import AwareDatetime, Field, JsonValue

from reflection_app.api.reading import Answer, Money, OrNull, PageAnswer
from reflection_app.attachments.answers import (
    FaultyFileAnswer,
    FileAnswer,
    LookedAnswer,
    faulty_file_answers,
    file_answers,
)
from reflection_app.attachments.produced import looked_at_by_check
from reflection_app.loops.completeness.checks import CheckState, Completeness
from reflection_app.loops.diagnosis.diagnoses import (
    CorrectiveAction,
    ErrorType,
    FailureChecklist,
    FailureSeverity,
    Remedy,
    Source,
)
from reflection_app.loops.effects import RecordCompleteness
from reflection_app.loops.task_spec import Mode
from reflection_app.repairs.answers.supplements import DroppedAnswer, SupplementAnswer, dropped_answers
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.runs.models import Run, RunState, Step, StepState


class DiagnosisState(StrEnum):
    """UNDIAGNOSED: no fix pair or rule matched, and no model gave a usable answer; the source is then `none`."""

    DIAGNOSED = "diagnosed"
    DIAGNOSING = "diagnosing"
    UNDIAGNOSED = "undiagnosed"


class DiagnosisAnswer(Answer):
    error_type: ErrorType
    root_cause: str
    severity: FailureSeverity


class CorrectiveActionAnswer(Answer):
    """The next action. `action` describes it, `remedy` is its type."""

    action: str
    remedy: Remedy
    modified_params: dict[str, JsonValue] | None = Field(description="null if the parameters are unchanged")
    fallback_tool: str | None
    retry_delay_seconds: float | None
    alternative: Annotated[str | None, OrNull] = Field(description="what to do if this does not help")
    carried_over: list[str] = Field(
        description="changes of the fix pair applied to these parameters, such as `limit: 500 → 100`; empty if "
        "they do not fit this call and are only described"
    )


class FixOutcomeAnswer(Answer):
    """Reported outcome of the corrective action. Null fields were done as advised."""

    worked: bool
    tool: str | None
    params: dict[str, JsonValue] | None
    fix: str
    delay_seconds: float | None
    note: str
    at: AwareDatetime | None


class ToolFailureAnswer(Answer):
    """A failed call and its diagnosis."""

    id: UUID
    reflection_type: Literal["tool_failure"] = "tool_failure"
    timestamp: AwareDatetime = Field(validation_alias="created_at")
    failed_tool: str = Field(validation_alias="tool")
    failed_params: dict[str, JsonValue] = Field(validation_alias="params")
    error_message: str
    status: int | None
    is_repeated: bool = Field(description="true if the same call had failed immediately before")
    error_type: Annotated[ErrorType | None, OrNull]
    state: DiagnosisState
    diagnosis: DiagnosisAnswer | None
    corrective_action: CorrectiveActionAnswer | None
    source: Annotated[Source | None, OrNull] = Field(description="source of the diagnosis")
    rule: Annotated[str | None, OrNull] = Field(description="rule that matched")
    symptoms: list[str]
    fix_pair: UUID | None = Field(
        validation_alias="fix_pair_id", description="the fix pair that was retrieved, or that this failure created"
    )
    agent: str
    external_id: str | None
    run_id: UUID | None = Field(description="the run that requests the model diagnosis, or that the call belongs to")
    outcome: FixOutcomeAnswer | None
    checklist: FailureChecklist


class ToolFailurePage(PageAnswer):
    results: list[ToolFailureAnswer]


class FixPairAnswer(Answer):
    """A failure and its successful fix."""

    pattern_id: UUID = Field(validation_alias="id")
    tool: str
    error_type: ErrorType
    symptoms: list[str]
    successful_fix: str = Field(validation_alias="fix")
    corrective_action: CorrectiveActionAnswer = Field(validation_alias="action")
    successes: int
    failures: int
    timestamp: AwareDatetime = Field(validation_alias="created_at")
    last_worked_at: AwareDatetime | None


class FixPairPage(PageAnswer):
    results: list[FixPairAnswer]


def state_of(row: ToolFailure) -> DiagnosisState:
    """Needs the row's run."""
    if row.is_known:
        return DiagnosisState.DIAGNOSED
    return DiagnosisState.DIAGNOSING if row.is_being_diagnosed else DiagnosisState.UNDIAGNOSED


def tool_failure_answer(row: ToolFailure) -> ToolFailureAnswer:
    """The failure; its run is told, so select it with the row."""
    outcome = None
    if row.worked is not None:
        facts = row.told
        outcome = FixOutcomeAnswer(
            worked=row.worked,
            tool=facts.get("tool") or None,
            params=facts.get("params"),
            fix=facts.get("fix") or "",
            delay_seconds=row.told_delay_seconds,
            note=facts.get("note") or "",
            at=row.outcome_at,
        )
    return ToolFailureAnswer.from_row(
        row,
        state=state_of(row),
        diagnosis=DiagnosisAnswer.from_row(row) if row.is_diagnosed else None,
        corrective_action=_action(row.action) if row.is_diagnosed and row.action else None,
        outcome=outcome,
    )


def _action(kept: dict[str, Any]) -> CorrectiveActionAnswer:
    return CorrectiveActionAnswer.model_validate(CorrectiveAction.model_validate(kept))


def fix_pair_answer(row: FixPair) -> FixPairAnswer:
    return FixPairAnswer.from_row(row, corrective_action=_action(row.action))


# Completeness checks of handed-in histories as REST tells them: from the run, and from the step that it recorded.
#
# A check is known by the id of its run. It is told from the journal, which a fork has too, and not from the rows that
# the figures are made of, which it has not.


class CheckStateAnswer(StrEnum):
    CHECKING = "checking"
    COMPLETE = CheckState.COMPLETE.value
    INCOMPLETE = CheckState.INCOMPLETE.value
    UNCHECKED = CheckState.UNCHECKED.value


class CheckLine(Answer):
    """One check in a list."""

    id: UUID
    run_id: UUID = Field(validation_alias="pk")
    state: CheckStateAnswer = Field(description="unchecked: the check itself failed; this does not judge the work")
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
    """One check with all its findings."""

    analysis: str
    missing_aspects: list[str]
    supplements: list[SupplementAnswer]
    dropped: list[DroppedAnswer]
    files: list[FileAnswer] = Field(description="the submitted files, as inspected")
    faulty_files: list[FaultyFileAnswer] = Field(
        description="missing or faulty files; any of them makes the work incomplete, regardless of the model's answer"
    )
    looked: LookedAnswer | None = Field(
        description="what a model saw in the files; null if no file is required to show anything"
    )
    steps_ok: bool | None = Field(description="whether all steps succeeded, independent of missing work")
    error: str | None = Field(description="why the result is unchecked")
    tokens: int
    cost_usd: Money | None = Field(description="null if the cost of any call is unknown")


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
    return CheckLine.from_row(run, **_line(run))


def check_answer(run: Run) -> CheckAnswer:
    found = found_by(run)
    # Of a check that is not made, or failed, everything that it would have found is empty.
    told = found or Completeness(state=CheckState.UNCHECKED)
    values = told.model_dump(include={"analysis", "missing_aspects", "supplements", "looked"})
    return CheckAnswer.from_row(
        run,
        **_line(run),
        # What was not looked at is left out of what is dumped.
        **({"looked": None} | values),
        dropped=dropped_answers(told.dropped),
        steps_ok=found.steps_ok if found else None,
        files=file_answers(looked_at_by_check(run.pk, attempt=1)) if told.files is not None else [],
        faulty_files=faulty_file_answers(told.faulty_files),
        error=_error_of(run, found),
        tokens=run.total_tokens,
        cost_usd=None if run.unpriced_calls else run.cost_usd,
    )


def _line(run: Run) -> dict[str, Any]:
    found, task = found_by(run), run.task
    return {
        "state": state_of_check(run, found),
        "objective": task.objective,
        "kind": task.kind,
        "agent": task.agent,
        "external_id": task.external_id,
        "supplements_count": len(found.supplements) if found else 0,
    }


def found_by(run: Run) -> Completeness | None:
    """What the check found, once it is there."""
    found = cast("Any", run).found
    return Completeness.model_validate(found) if run.is_finished and found is not None else None


def state_of_check(run: Run, found: Completeness | None) -> CheckStateAnswer:
    if not run.is_finished:
        return CheckStateAnswer.CHECKING
    return CheckStateAnswer(found.state.value) if found else CheckStateAnswer.UNCHECKED


def _error_of(run: Run, found: Completeness | None) -> str | None:
    if found is not None or not run.is_finished:
        return (found.error if found else "") or None
    return run.error or f"The check ended before it could tell: {(run.outcome or '').replace('_', ' ')}."
