"""The rows of failed calls and of their diagnosis. A failure keeps the parameters of its call and goes with its run."""

from typing import Any
from uuid import UUID

from django.utils import timezone

from reflection_app.core.events import EventType, add_event
from reflection_app.loops.diagnosis.diagnoses import DiagnosedFailure, FixOutcome, FixRecall
from reflection_app.loops.effects import RecallFix
from reflection_app.repairs.fix_pairs import LONGEST_SIGNATURE, best_fix, keep_outcome
from reflection_app.repairs.models.tool_failure import FixPair, ToolFailure
from reflection_app.runs.batch import Batch
from reflection_app.runs.models import Run, Step


def recall_fix(effect: RecallFix, *, run_id: UUID) -> FixRecall:
    """What the memory of the run's project holds for a failure."""
    project_id = Run.objects.values_list("project_id", flat=True).get(pk=run_id)
    known = best_fix(
        project_id, tool=effect.tool, signature=effect.signature, params=effect.params, without=effect.without
    )
    return FixRecall(known=known)


def write_failure(run: Run, step: Step, batch: Batch, *, diagnosed: DiagnosedFailure) -> None:
    """The row of a failed call with its diagnosis; one that was reported is there already and is filled in."""
    batch.write()
    failed, found = diagnosed.failed, diagnosed.diagnosis
    values: dict[str, Any] = {
        "step": step,
        "error_type": found.error_type.value,
        "root_cause": found.root_cause,
        "severity": found.severity.value,
        "action": found.action.model_dump(mode="json"),
        "source": found.source.value,
        "rule": found.rule[:60],
        "signature": found.signature[:LONGEST_SIGNATURE],
        "symptoms": list(found.symptoms),
        "fix_pair_id": _pair_id(run, found.fix_pair),
        "diagnosed_at": timezone.now(),
    }
    row = ToolFailure.objects.filter(run=run, place=diagnosed.place).first()
    if row is None:
        row = ToolFailure(
            project_id=run.project_id,
            run=run,
            place=diagnosed.place,
            agent=Run.objects.values_list("task__agent", flat=True).get(pk=run.pk),
            tool=failed.tool,
            params=failed.params,
            error_message=failed.error,
            status=failed.status,
            is_repeated=failed.is_repeated,
        )
    for name, value in values.items():
        setattr(row, name, value)
    row.save()
    add_event(
        run,
        EventType.TOOL_FAILURE_DIAGNOSED,
        failure=str(row.pk),
        tool=failed.tool,
        error_type=found.error_type.value,
        remedy=found.action.remedy.value,
    )


def _pair_id(run: Run, told: str) -> UUID | None:
    """The remembered pair, unless it was removed since."""
    if not told:
        return None
    return FixPair.objects.filter(project_id=run.project_id, pk=told).values_list("pk", flat=True).first()


def keep_fix_outcome(run: Run, *, outcome: FixOutcome) -> None:
    """How a fix went, kept and counted. Nothing where the failure is not this run's: a fork's outcome of its parent's
    failure would count a second time."""
    failure = ToolFailure.objects.select_for_update().filter(run=run, place=outcome.place).first()
    if failure is None or failure.worked is not None:
        return
    keep_outcome(
        failure,
        worked=outcome.worked,
        tool=outcome.tool,
        params=outcome.params,
        fix=outcome.fix,
        delay_s=outcome.delay_s,
    )
    failure.worked, failure.outcome_at = outcome.worked, timezone.now()
    failure.outcome = outcome.model_dump(mode="json", exclude={"place"})
    failure.save(update_fields=["worked", "outcome", "outcome_at"])
