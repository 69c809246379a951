"""Plans as the run page shows them: each with its versions, its steps, and how far each step is."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Q

from reflection_app.loops.effects import RecordPlan, RecordPlanStep
from reflection_app.loops.plans import CheckedPlan, PlanStep, PlanStepOutcome
from reflection_app.loops.task_spec import Mode
from reflection_app.runs.models.run import Run, Step, StepState
from reflection_app.runs.views.tool_view import is_of_supplements, place_of

# The number of an attempt, and whether it is its supplementary plan, which comes after its own.
Place = tuple[int, bool]


@dataclass(frozen=True)
class PlanStepShown:
    """One step. `state` is `done`, `failed`, `skipped`, `running`, `waiting` or, once the run ended, `not_reached`."""

    step: PlanStep
    state: str
    outcome: PlanStepOutcome | None
    duration_s: float
    # The step of the journal that shows what was done, where there is one.
    seq: int | None


@dataclass(frozen=True)
class PlanShown:
    """The plan of one attempt or of its supplements. `refused` are its versions that could not be carried out."""

    attempt: int
    is_supplementary: bool
    refused: tuple[CheckedPlan, ...]
    steps: tuple[PlanStepShown, ...]

    @property
    def place(self) -> str:
        return f"plan-{self.attempt}{'-supplement' if self.is_supplementary else ''}"

    @property
    def done(self) -> int:
        return sum(one.state == "done" for one in self.steps)


def has_plans(run: Run) -> bool:
    return run.mode == Mode.PLANNING.value


def plans_of(run: Run) -> tuple[PlanShown, ...]:
    """The plans of `run`, the newest first; none where it does not plan."""
    if not has_plans(run):
        return ()
    recorded: dict[Place, list[CheckedPlan]] = defaultdict(list)
    under: dict[tuple[Place, str], list[Step]] = defaultdict(list)
    rows = Step.objects.filter(run=run).filter(Q(kind=RecordPlan.kind) | Q(key__contains="/step-")).defer("request")
    for row in rows:
        if row.attempt_number is None:
            continue
        of = (row.attempt_number, is_of_supplements(row))
        if row.kind == RecordPlan.kind:
            recorded[of].append(CheckedPlan.model_validate(row.result))
        else:
            under[of, place_of(row)].append(row)
    return tuple(_shown(run, of, recorded[of], under=under) for of in sorted(recorded, reverse=True))


def _shown(
    run: Run, of: Place, versions: list[CheckedPlan], *, under: dict[tuple[Place, str], list[Step]]
) -> PlanShown:
    valid = next((checked for checked in versions if not checked.issues), None)
    steps = valid.plan.steps if valid else ()
    return PlanShown(
        attempt=of[0],
        is_supplementary=of[1],
        refused=tuple(checked for checked in versions if checked.issues),
        steps=tuple(
            _step(one, under.get((of, str(place)), []), is_ended=run.is_finished)
            for place, one in enumerate(steps, start=1)
        ),
    )


def _step(step: PlanStep, rows: list[Step], *, is_ended: bool) -> PlanStepShown:
    recorded = next((row for row in rows if row.kind == RecordPlanStep.kind), None)
    outcome = PlanStepOutcome.model_validate(recorded.result) if recorded else None
    if outcome is not None:
        state = outcome.state.value
    elif is_ended:
        state = "not_reached" if all(row.state == StepState.ABANDONED for row in rows) else "failed"
    else:
        state = "running" if rows else "waiting"
    worked = [row for row in rows if row.kind != RecordPlanStep.kind]
    return PlanStepShown(
        step=step,
        state=state,
        outcome=outcome,
        duration_s=sum(row.duration_s for row in worked),
        seq=worked[-1].seq if worked else None,
    )
