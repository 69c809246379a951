"""The rows of completeness checks, and the three events that tell of them, with the fields of the second design seed.

A fork has no row of a check that it copied from its parent: it was made, and paid for, there. What the fork's own
supplements come to is told by its events and its steps.
"""

from typing import Any

from reflection_app.core.events import EventType, next_event
from reflection_app.loops.completeness.checks import CheckState, Completeness, SupplementsRun
from reflection_app.loops.completeness.supplementing import PART
from reflection_app.loops.completeness.words import operation_key
from reflection_app.loops.effects import RecordCompleteness, RecordPlan, RecordSupplements
from reflection_app.loops.plans import CheckedPlan
from reflection_app.repairs.models.completeness import CompletenessCheck, Supplement
from reflection_app.runs.batch import Batch
from reflection_app.runs.models import Run, Step
from reflection_app.tasks.models import Task

IS_COMPLETE = {CheckState.COMPLETE: True, CheckState.INCOMPLETE: False, CheckState.UNCHECKED: None}


def write_what_is_missing(
    effect: RecordPlan | RecordCompleteness | RecordSupplements, *, run: Run, step: Step, batch: Batch
) -> None:
    """What follows from a check, from the plan of its supplements, and from how they went."""
    match effect:
        case RecordPlan(plan=plan):
            _write_plan(run, step, batch, plan=plan)
        case RecordCompleteness(found=found):
            _write_check(run, step, batch, found=found)
        case RecordSupplements(done=done):
            _write_supplements(run, batch, done=done)


def _write_check(run: Run, step: Step, batch: Batch, *, found: Completeness) -> None:
    """The row of a check with those of its supplements, and the event."""
    kind = Task.objects.values_list("kind", flat=True).get(runs=run.pk)
    check = CompletenessCheck(
        project_id=run.project_id,
        run=run,
        step=step,
        attempt_number=found.attempt,
        task_kind=kind,
        state=found.state.value,
        analysis=found.analysis,
        missing_aspects=list(found.missing_aspects),
        dropped=[one.model_dump(mode="json") for one in found.dropped],
        steps_ok=found.steps_ok,
        error=found.error,
        tokens=found.tokens,
        cost_usd=found.cost_usd,
    )
    batch.insert(check)
    for number, one in enumerate(found.supplements, start=1):
        batch.insert(_supplement(check, number, one))
    event = next_event(
        run,
        EventType.REFLECTION,
        isComplete=IS_COMPLETE[found.state],
        analysis=found.analysis,
        missingsCount=len(found.missing_aspects),
        supplementsCount=len(found.supplements),
    )
    batch.insert(event)


def _supplement(check: CompletenessCheck, number: int, one: Any) -> Supplement:
    return Supplement(
        project_id=check.project_id,
        completeness_check=check,
        number=number,
        task_kind=check.task_kind,
        operation=one.operation,
        operation_key=operation_key(one.operation),
        reason=one.reason,
        suggested_tools=list(one.suggested_tools),
    )


def _write_plan(run: Run, step: Step, batch: Batch, *, plan: CheckedPlan) -> None:
    """The event that tells of a supplementary plan that can be carried out; nothing for any other plan."""
    if plan.issues or not step.key.startswith(f"attempt-{step.attempt_number}{PART}/"):
        return
    batch.write()
    tools = dict.fromkeys(one.tool for one in plan.plan.steps if one.tool)
    event = next_event(
        run,
        EventType.REFLECTION_PLAN,
        plan={
            "manifest": [{"name": name} for name in tools],
            "steps": [one.model_dump(mode="json") for one in plan.plan.steps],
        },
        supplementsCount=_supplements_asked_for(run, attempt=step.attempt_number),
    )
    batch.insert(event)


def _supplements_asked_for(run: Run, *, attempt: int | None) -> int:
    """As the journal has it, where a fork may have copied it from its parent."""
    made = Step.objects.filter(run=run, kind=RecordCompleteness.kind, attempt_number=attempt).last()
    return len(made.result["supplements"]) if made and isinstance(made.result, dict) else 0


def _write_supplements(run: Run, batch: Batch, *, done: SupplementsRun) -> None:
    """How each supplement went, the statistics of the run, and the event that tells them."""
    batch.write()
    check = CompletenessCheck.objects.filter(run=run, attempt_number=done.attempt).last()
    if check is not None:
        check.used, check.attempted, check.succeeded = done.used, done.attempted, done.succeeded
        check.save(update_fields=["used", "attempted", "succeeded"])
    for number, result in enumerate(done.results, start=1):
        Supplement.objects.filter(completeness_check=check, number=number).update(
            attempted=result.attempted,
            succeeded=result.succeeded,
            error=result.error,
            tokens=result.tokens,
            cost_usd=result.cost_usd,
        )
    event = next_event(
        run,
        EventType.REFLECTION_EXEC,
        exec={
            "used": done.used,
            "attempted": done.attempted,
            "succeeded": done.succeeded,
            "successRate": round(done.success_rate, 4),
        },
    )
    batch.insert(event)
