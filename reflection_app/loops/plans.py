"""Plans: dependent steps, their validation and their order. Pure values."""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from reflection_app.loops.answer_reading import Lenient
from reflection_app.loops.answer_schemas import TEXT, list_of, open_object, texts
from reflection_app.loops.storable import Text, storable
from reflection_app.loops.texts import at_most
from reflection_app.loops.values import Value

MOST_STEPS = 20
# Parsing limit; a longer list is not a plan.
MOST_LISTED = 200
LONGEST_ID = 60
LONGEST_DESCRIPTION = 2_000
NO_TOOL = {"", "null", "none"}


def _text(value: Any) -> Any:
    """Accept numbers as ids. Models number their steps as often as they name them."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _ids(value: Any) -> Any:
    return [value] if isinstance(value, str | int) and not isinstance(value, bool) else value


def _tool(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() in NO_TOOL else value


StepId = Annotated[str, BeforeValidator(_text), AfterValidator(storable), Field(min_length=1, max_length=LONGEST_ID)]
ToolName = Annotated[str, AfterValidator(storable), Field(max_length=64)]
Required = Annotated[tuple[StepId, ...], Field(max_length=MOST_LISTED)]
Description = Annotated[str, AfterValidator(storable), at_most(LONGEST_DESCRIPTION), Field(min_length=1)]


class PlanStep(Lenient):
    """A step of a plan. `requires` is None if the planner omitted it, which is a fault of the plan."""

    id: StepId
    description: Description
    tool: Annotated[ToolName | None, BeforeValidator(_tool)] = None
    requires: Annotated[Required | None, BeforeValidator(_ids)] = None


class Plan(Lenient):
    """Steps as given by a planner, not validated yet."""

    steps: Annotated[tuple[PlanStep, ...], Field(max_length=MOST_LISTED)]


PLAN_SCHEMA = open_object(
    steps=list_of(
        open_object(id=TEXT, description=TEXT, tool={"type": ["string", "null"]}, requires=texts()), most=MOST_STEPS
    )
)


class PlanFault(StrEnum):
    EMPTY = "empty"
    TOO_MANY_STEPS = "too_many_steps"
    DUPLICATE_ID = "duplicate_id"
    MISSING_REQUIRES = "missing_requires"
    UNKNOWN_REQUIRES = "unknown_requires"
    UNKNOWN_TOOL = "unknown_tool"
    CYCLE = "cycle"


class PlanIssue(Value):
    """A fault of a plan. `steps` are the ids of the steps concerned, in order for a cycle."""

    fault: PlanFault
    steps: tuple[str, ...] = ()
    description: Text


class CheckedPlan(Value):
    """A plan with its issues. Only a plan without issues is carried out."""

    plan: Plan
    issues: tuple[PlanIssue, ...] = ()


class PlanStepState(StrEnum):
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class PlanStepOutcome(Value):
    """Result of a plan step. `waited_for` are required steps that were not done."""

    step: str
    state: PlanStepState
    error: Text = ""
    waited_for: tuple[str, ...] = ()


def check_plan(plan: Plan, *, tools: Collection[str], done: Collection[str] = ()) -> CheckedPlan:
    """Return the plan with its issues. `done` are ids of earlier steps: they may be required, but not reused."""
    steps = plan.steps
    if not steps:
        issue = PlanIssue(fault=PlanFault.EMPTY, description="The plan has no steps.")
        return CheckedPlan(plan=plan, issues=(issue,))
    issues = []
    if len(steps) > MOST_STEPS:
        description = f"The plan has {len(steps)} steps; the most is {MOST_STEPS}."
        issues.append(PlanIssue(fault=PlanFault.TOO_MANY_STEPS, description=description))
    ids = [step.id for step in steps]
    known = {*ids, *done}
    for step_id in dict.fromkeys(ids):
        if step_id in done:
            description = f"Step {step_id} has the id of a step that is done already."
        elif ids.count(step_id) > 1:
            description = f"{ids.count(step_id)} steps have the id {step_id}."
        else:
            continue
        issues.append(PlanIssue(fault=PlanFault.DUPLICATE_ID, steps=(step_id,), description=description))
    for step in steps:
        if step.requires is None:
            description = (
                f"Step {step.id} does not say what it requires; where it needs nothing, that is an empty list."
            )
            issues.append(PlanIssue(fault=PlanFault.MISSING_REQUIRES, steps=(step.id,), description=description))
        unknown = [required for required in dict.fromkeys(step.requires or ()) if required not in known]
        if unknown:
            description = f"Step {step.id} requires {', '.join(unknown)}, which the plan does not have."
            issues.append(PlanIssue(fault=PlanFault.UNKNOWN_REQUIRES, steps=(step.id,), description=description))
    issues += [
        PlanIssue(
            fault=PlanFault.UNKNOWN_TOOL,
            steps=(step.id,),
            description=f"Step {step.id} names a tool {step.tool!r} that does not exist. "
            f"The tools are: {', '.join(tools) or 'none'}.",
        )
        for step in steps
        if step.tool is not None and step.tool not in tools
    ]
    issues += [
        PlanIssue(
            fault=PlanFault.CYCLE,
            steps=cycle,
            description=f"Steps need each other in a circle: {' needs '.join((*cycle, cycle[0]))}.",
        )
        for cycle in cycles(steps)
    ]
    return CheckedPlan(plan=plan, issues=tuple(issues))


def cycles(steps: Iterable[PlanStep]) -> list[tuple[str, ...]]:
    """Return cycles of steps: for each step on a cycle one of the shortest, without duplicates."""
    needs: dict[str, tuple[str, ...]] = {}
    for step in steps:
        needs.setdefault(step.id, step.requires or ())
    found: list[tuple[str, ...]] = []
    on_a_cycle: set[str] = set()
    for step_id in needs:
        cycle = None if step_id in on_a_cycle else _shortest_cycle(step_id, needs)
        if cycle is not None:
            found.append(cycle)
            on_a_cycle.update(cycle)
    return found


def _shortest_cycle(start: str, needs: dict[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    paths: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    for path in paths:  # Grows while iterated: breadth first, so the first way back is the shortest.
        for required in needs.get(path[-1], ()):
            if required == start:
                return path
            if required not in seen:
                seen.add(required)
                paths.append((*path, required))
    return None


def in_order(plan: Plan) -> list[PlanStep]:
    """Return the steps of a valid plan in an order that respects `requires`; otherwise the plan's own order."""
    own = {step.id for step in plan.steps}
    waiting, placed, ordered = list(plan.steps), set[str](), list[PlanStep]()
    while waiting:
        ready = next(step for step in waiting if not (set(step.requires or ()) & own) - placed)
        waiting.remove(ready)
        placed.add(ready.id)
        ordered.append(ready)
    return ordered
