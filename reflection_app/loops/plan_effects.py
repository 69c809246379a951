"""Effects of choosing a loop, and of planning."""

from pydantic import TypeAdapter

from reflection_app.loops.effect import Effect
from reflection_app.loops.plans import CheckedPlan, PlanStepOutcome
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.values import Value


class Route(Value):
    """Which loop a task got, and why."""

    mode: Mode
    task_kind: str
    why: str = ""


class ChooseLoop(Effect[Route]):
    """Keep which loop the task goes on with."""

    kind = "choose_loop"
    results = TypeAdapter(Route)

    route: Route


class RecordPlan(Effect[CheckedPlan]):
    """Keep a version of a plan with what is wrong with it."""

    kind = "record_plan"
    results = TypeAdapter(CheckedPlan)

    plan: CheckedPlan


class RecordPlanStep(Effect[PlanStepOutcome]):
    """Keep how a step of a plan ended."""

    kind = "record_plan_step"
    results = TypeAdapter(PlanStepOutcome)

    outcome: PlanStepOutcome
