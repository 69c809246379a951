"""What supplements cost and brought in a project so far, for estimates of the next ones (loops/completeness/worth.py).

The newest count, and none that is older than half a year: models and their prices change, and what was dropped for its
worth is tried again once what spoke against it is old. Forks are no runs of their own here.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from statistics import quantiles
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, Value
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone

from reflection_app.adapters.llm import ModelError, screening_model
from reflection_app.loops.attempt_effects import CallTool, Generate
from reflection_app.loops.completeness.checks import CheckState, content_of, operation_key
from reflection_app.loops.completeness.dropped import BY_WORTH, DropCode
from reflection_app.loops.completeness.estimates import (
    Basis,
    CompletedBefore,
    CostsBefore,
    Histories,
    Spread,
    SupplementHistory,
)
from reflection_app.loops.completeness.worth import FEWEST
from reflection_app.loops.effect import Performed, Spent
from reflection_app.loops.effects import EstimateSupplements
from reflection_app.loops.task_spec import Mode
from reflection_app.metrics.statistics import wilson
from reflection_app.repairs.likeness import CHINESE_OPERATIONS, OPERATIONS, likeness
from reflection_app.repairs.models import Supplement
from reflection_app.runs.models import Run, Step, StepState

log = logging.getLogger(__name__)

OLDEST = timedelta(days=180)
MOST_OF_KIND = 300
MOST_OF_OTHERS = 200
# Of one basis: what is newest says most of what the next one will cost.
MOST_SAMPLES = 50
MOST_RUNS = 100
MOST_STEPS = 4_000
USD_PLACES = Decimal("1e-8")
PLAN_STEP = re.compile(r".*/step-\d+(?=/)")

# One that worked is not worth less because another one was left out: else what is dropped would drag down the rest.
LEFT_OUT = f"$[*] ? ({' || '.join(f'@.code == "{code}"' for code in sorted([*BY_WORTH, DropCode.TOO_MANY]))})"

# Two operations say the same where they share so much of their telling words, or, by the same tools, of their meaning.
# By meaning alone half of 16 rewordings reach the line, and 6 of 16 others that differ in one word (the first file and
# the second): of those that are done by the same tool the cost is alike, and that is what is asked here.
ALIKE_BY_WORDS = 0.6
ALIKE_BY_MEANING = 4.0
# Compared by meaning with the newest alone, and no run waits long for it.
MOST_COMPARED = 20
COMPARED_WITHIN_S = 5.0


@dataclass(frozen=True)
class Past:
    """One supplement that was paid for: whose it was, what it cost, and whether its run was complete after it.

    `is_curtailed`: something else of its check was left out for its worth or its price, so that the run could not
    become complete, whatever this one did.
    """

    run: UUID
    kind: str
    key: str
    operation: str
    tools: frozenset[str]
    tokens: int
    cost_usd: Decimal | None
    seconds: float | None
    completed: bool
    is_curtailed: bool


def estimate_supplements(effect: EstimateSupplements, *, run_id: UUID) -> Performed[Any]:
    """What the run's project knows of each; its own supplements are no evidence."""
    began = time.monotonic()
    run = Run.objects.select_related("task").only("project_id", "task__kind").get(pk=run_id)
    past = past_supplements(run.project_id, kind=run.task.kind, without=run_id)
    planned: list[PlanStepCost] | None = None
    histories = []
    for operation, tools in zip(effect.operations, effect.tools, strict=True):
        same = same_operations(operation, past, kind=run.task.kind, tools=frozenset(tools))
        history = history_of(past, kind=run.task.kind, tools=frozenset(tools), same=same)
        nearest = sum(one.count for one in history.costs if one.basis in {Basis.SAME, Basis.KIND, Basis.TOOL})
        if nearest < FEWEST and tools:
            if planned is None:
                planned = planned_steps(run.project_id, without=run_id)
            history = with_plan_steps(history, planned, tools=frozenset(tools), asked=len(effect.operations))
        histories.append(history)
    value = Histories(supplements=tuple(histories))
    return Performed(value=value, spent=Spent(duration_s=time.monotonic() - began))


def past_supplements(project_id: UUID, *, kind: str, without: UUID) -> list[Past]:
    """The newest supplements that cost something, those of the kind of task apart from the rest; newest first."""
    rows = (
        Supplement.objects.filter(
            Q(attempted=True) | Q(tokens__gt=0),
            project=project_id,
            created_at__gte=timezone.now() - OLDEST,
            completeness_check__run__parent=None,
        )
        .exclude(completeness_check__run=without)
        .annotate(
            lacks=Func(
                F("completeness_check__dropped"),
                Value(LEFT_OUT),
                template="jsonb_path_exists(%(expressions)s::jsonpath)",
                output_field=BooleanField(),
            ),
            lacks_another=Exists(
                Supplement.objects.filter(completeness_check=OuterRef("completeness_check")).exclude(left_out="")
            ),
        )
        .order_by("-created_at")
        .values_list(
            "completeness_check__run",
            "task_kind",
            "operation_key",
            "operation",
            "suggested_tools",
            "tokens",
            "cost_usd",
            "cost_known",
            "completeness_check__run__unpriced_calls",
            "seconds",
            "succeeded",
            "completeness_check__state",
            "lacks",
            "lacks_another",
        )
    )
    newest = [
        *rows.filter(task_kind=kind)[:MOST_OF_KIND],
        *rows.exclude(task_kind=kind)[:MOST_OF_OTHERS],
    ]
    return [_past(row) for row in newest]


def _past(row: tuple[Any, ...]) -> Past:
    run, kind, key, operation, tools, tokens, cost_usd, cost_known, unpriced, seconds, succeeded, state, *lacks = row
    # Rows from before their price was kept with them are known by their run.
    is_priced = cost_known and not (seconds is None and unpriced)
    return Past(
        run=run,
        kind=kind,
        key=key,
        operation=operation,
        tools=frozenset(tools),
        tokens=tokens,
        cost_usd=cost_usd if is_priced else None,
        seconds=seconds,
        completed=bool(succeeded) and state == CheckState.SUPPLEMENTED,
        is_curtailed=any(lacks),
    )


def same_operations(operation: str, past: Sequence[Past], *, kind: str, tools: frozenset[str]) -> frozenset[str]:
    """The keys of those past operations of the kind that say the same, by their words or by their meaning."""
    known = {one.key: one.operation for one in past if one.kind == kind}
    by_tools = {one.key for one in past if one.kind == kind and one.tools & tools}
    key, words = operation_key(operation), content_of(operation)
    same = {other for other, said in known.items() if other == key or shared(words, content_of(said)) >= ALIKE_BY_WORDS}
    model = screening_model()
    others = [other for other in known if other in by_tools and other not in same][:MOST_COMPARED]
    if model is None or not others:
        return frozenset(same)
    until = time.monotonic() + COMPARED_WITHIN_S
    try:
        for other in others:
            ground = (OPERATIONS, CHINESE_OPERATIONS)
            if likeness(operation, known[other], model=model, until=until, ground=ground) >= ALIKE_BY_MEANING:
                same.add(other)
    except ModelError as error:
        log.warning("past supplements are compared by their words: %s", error)
    return frozenset(same)


def shared(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the words of both that stand in both."""
    return len(one & other) / len(one | other) if one and other else 0.0


def history_of(past: Sequence[Past], *, kind: str, tools: frozenset[str], same: frozenset[str]) -> SupplementHistory:
    """What is known of a supplement from the nearest basis to the farthest."""

    def shares_tools(one: Past) -> bool:
        return bool(one.tools & tools) if tools else not one.tools

    bases: tuple[tuple[Basis, Callable[[Past], bool]], ...] = (
        (Basis.SAME, lambda one: one.kind == kind and one.key in same),
        (Basis.KIND, lambda one: one.kind == kind and shares_tools(one)),
        (Basis.TOOL, shares_tools),
        (Basis.ANY_OF_KIND, lambda one: one.kind == kind),
        (Basis.PROJECT, lambda _one: True),
    )
    costs, completed = [], []
    for basis, belongs in bases:
        found = [one for one in past if belongs(one)]
        if not found:
            continue
        samples = [(float(one.tokens), one.cost_usd, one.seconds) for one in found[:MOST_SAMPLES]]
        costs.append(costs_of(basis, samples))
        runs = {one.run for one in found if one.completed or not one.is_curtailed}
        turned = {one.run for one in found if one.completed}
        interval = wilson(len(turned), len(runs))
        if interval is None:
            continue
        completed.append(
            CompletedBefore(
                basis=basis,
                runs=len(runs),
                completed=len(turned),
                low=round(interval.low, 4),
                high=round(interval.high, 4),
            )
        )
    return SupplementHistory(costs=tuple(costs), completed=tuple(completed))


type Sample = tuple[float, Decimal | None, float | None]


def costs_of(basis: Basis, samples: Sequence[Sample]) -> CostsBefore:
    """The spread of what `samples` came to. Their money is known where that of at least half of them is."""
    priced = [usd for _tokens, usd, _seconds in samples if usd is not None]
    timed = [seconds for _tokens, _usd, seconds in samples if seconds is not None]
    usd = None
    if 2 * len(priced) >= len(samples):
        low, middle, high = (Decimal(str(one)).quantize(USD_PLACES) for one in _quartiles(map(float, priced)))
        usd = Spread[Decimal](low=low, middle=middle, high=high)
    return CostsBefore(
        basis=basis,
        count=len(samples),
        tokens=spread_of(tokens for tokens, _usd, _seconds in samples),
        cost_usd=usd,
        seconds=spread_of(timed) if timed else None,
    )


def spread_of(numbers: Iterable[float]) -> Spread[float]:
    low, middle, high = _quartiles(numbers)
    return Spread[float](low=round(low, 3), middle=round(middle, 3), high=round(high, 3))


def _quartiles(numbers: Iterable[float]) -> tuple[float, float, float]:
    listed = sorted(numbers)
    if len(listed) == 1:
        return listed[0], listed[0], listed[0]
    low, middle, high = quantiles(listed, n=4, method="inclusive")
    return low, middle, high


# Calls of tools in the plans of the project: what a step of a plan comes to, where too few supplements tell.


@dataclass(frozen=True)
class PlanStepCost:
    """What one step of a plan came to, or the making of a plan."""

    is_plan: bool
    tool: str
    tokens: int
    cost_usd: Decimal | None
    seconds: float


def planned_steps(project_id: UUID, *, without: UUID) -> list[PlanStepCost]:
    """The steps with tools of the newest plans of the project, and the making of these plans; newest first."""
    runs = Run.objects.filter(project=project_id, mode=Mode.PLANNING.value, parent=None).exclude(pk=without)
    newest = list(runs.order_by("-created_at", "-id").values_list("pk", flat=True)[:MOST_RUNS])
    rows = (
        Step.objects.filter(run__in=newest, kind__in=(Generate.kind, CallTool.kind), state=StepState.DONE)
        .filter(Q(role="planner") | Q(key__contains="/step-"))
        .annotate(tool=KeyTextTransform("tool", "request"))
        .order_by("-started_at")
        .values_list(
            *("run", "key", "kind", "role", "tool", "prompt_tokens", "completion_tokens", "cost_usd", "cost_known"),
            "duration_s",
        )[:MOST_STEPS]
    )
    found: dict[tuple[UUID, str], PlanStepCost] = {}
    for run, key, kind, role, tool, prompt, completion, cost_usd, cost_known, seconds in rows:
        step = PLAN_STEP.match(key)
        if role != "planner" and step is None:
            continue
        place = key.partition("/again-")[0] if step is None else step[0]
        before = found.get(
            (run, place), PlanStepCost(role == "planner", tool="", tokens=0, cost_usd=Decimal(0), seconds=0.0)
        )
        usd = None if before.cost_usd is None or not cost_known else before.cost_usd + cost_usd
        found[run, place] = PlanStepCost(
            before.is_plan,
            tool=tool if kind == CallTool.kind and tool else before.tool,
            tokens=before.tokens + prompt + completion,
            cost_usd=usd,
            seconds=before.seconds + seconds,
        )
    return list(found.values())


def with_plan_steps(
    history: SupplementHistory, planned: Sequence[PlanStepCost], *, tools: frozenset[str], asked: int
) -> SupplementHistory:
    """The history with what calls of these tools cost in plans, and each one's part of the plan that it needs."""
    calls = [one for one in planned if one.tool in tools][:MOST_SAMPLES]
    if not calls:
        return history
    plans = [one for one in planned if one.is_plan][:MOST_SAMPLES]
    plan = costs_of(Basis.CALLS, [(float(one.tokens), one.cost_usd, one.seconds) for one in plans]) if plans else None
    part_tokens = plan.tokens.middle / asked if plan else 0.0
    part_usd = plan.cost_usd.middle / asked if plan and plan.cost_usd else Decimal(0)
    part_s = plan.seconds.middle / asked if plan and plan.seconds else 0.0
    samples: list[Sample] = [
        (
            one.tokens + part_tokens,
            None if one.cost_usd is None or (plan and plan.cost_usd is None) else one.cost_usd + part_usd,
            one.seconds + part_s,
        )
        for one in calls
    ]
    costs = [*history.costs, costs_of(Basis.CALLS, samples)]
    order = list(Basis)
    return history.model_copy(update={"costs": tuple(sorted(costs, key=lambda one: order.index(one.basis)))})
