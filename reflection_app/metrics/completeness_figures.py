"""The figures of completeness checks in a project: what they found, what became of it, and what keeps recurring."""

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Max, Q, Sum

from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.task_spec import Mode
from reflection_app.repairs.completeness import source_of
from reflection_app.repairs.models import CompletenessCheck, Supplement

# One run alone lacked something; from the second on it recurs.
FEWEST_RECURRING = 2
MOST_SHOWN = 50


@dataclass(frozen=True)
class Executed:
    """`used` are the runs in which a supplement was carried out; the rest are steps of all plans of those runs."""

    used: int
    attempted: int
    succeeded: int

    @property
    def success_rate(self) -> float | None:
        return self.succeeded / self.attempted if self.attempted else None


@dataclass(frozen=True)
class CompletenessFigures:
    """`incomplete` were found so. `supplementable` of them are of runs that carry supplements out themselves, and of
    these `supplemented` were completed by supplements."""

    complete: int
    incomplete: int
    supplementable: int
    supplemented: int
    unchecked: int
    tasks: int
    supplements: int
    tokens: int
    cost_usd: Decimal
    exec: Executed
    cost_known: bool = True

    @property
    def checks(self) -> int:
        return self.complete + self.incomplete + self.unchecked

    @property
    def share_incomplete(self) -> float | None:
        """Of the checks that could tell."""
        decided = self.complete + self.incomplete
        return self.incomplete / decided if decided else None

    @property
    def share_supplemented(self) -> float | None:
        return self.supplemented / self.supplementable if self.supplementable else None

    @property
    def supplements_per_task(self) -> float | None:
        return self.supplements / self.tasks if self.tasks else None


@dataclass(frozen=True)
class Recurring:
    """A supplement that several runs of a kind of task lacked; `operation` is as it was said first.

    `source` is what the notebook knows it by.
    """

    task_kind: str
    source: str
    operation: str
    found: int
    runs: int
    attempted: int
    succeeded: int
    tokens: int
    cost_usd: Decimal
    cost_known: bool


def completeness_figures(project_id: UUID) -> CompletenessFigures:
    """The figures over all checks of the project."""
    checks = CompletenessCheck.objects.filter(project=project_id).order_by()
    states = {state: Count("pk", filter=Q(state=state.value)) for state in CheckState}
    incomplete = Q(state__in=[CheckState.INCOMPLETE.value, CheckState.SUPPLEMENTED.value])
    totals = checks.aggregate(
        complete=states[CheckState.COMPLETE],
        incomplete=Count("pk", filter=incomplete),
        supplementable=Count("pk", filter=incomplete & ~Q(run__mode=Mode.COMPLETENESS_CHECK.value)),
        supplemented=states[CheckState.SUPPLEMENTED],
        unchecked=states[CheckState.UNCHECKED],
        tasks=Count("run__task", distinct=True),
        tokens=Sum("tokens"),
        cost_usd=Sum("cost_usd"),
        unpriced=Count("pk", filter=Q(run__unpriced_calls__gt=0)),
    )
    cost_usd, unpriced = totals.pop("cost_usd"), totals.pop("unpriced")
    # Each check has the statistics of its run up to then, so the newest of a run holds those before it, too.
    by_run = (
        checks.filter(attempted__isnull=False)
        .values("run")
        .annotate(tried=Max("attempted"), did=Max("succeeded"), with_supplements=Count("pk", filter=Q(used=True)))
    )
    executed = list(by_run.values_list("tried", "did", "with_supplements"))
    return CompletenessFigures(
        **{name: value or 0 for name, value in totals.items()},
        cost_usd=cost_usd or Decimal(0),
        cost_known=not unpriced,
        supplements=Supplement.objects.filter(project=project_id).count(),
        exec=Executed(
            used=sum(bool(used) for *_, used in executed),
            attempted=sum(tried for tried, *_ in executed),
            succeeded=sum(did for _, did, _ in executed),
        ),
    )


def recurring_supplements(project_id: UUID, *, task_kind: str | None = None) -> list[Recurring]:
    """What keeps recurring, by kind of task, the most frequent first; of one kind alone where it is named.

    Forks are no runs of their own here.
    """
    rows = Supplement.objects.filter(project=project_id, completeness_check__run__parent=None).order_by()
    if task_kind is not None:
        rows = rows.filter(task_kind=task_kind)
    groups = (
        rows.values("task_kind", "operation_key")
        .annotate(
            said=ArrayAgg("operation", order_by=("created_at", "id")),
            found=Count("pk"),
            runs=Count("completeness_check__run", distinct=True),
            tried=Count("pk", filter=Q(attempted=True)),
            did=Count("pk", filter=Q(succeeded=True)),
            tokens_sum=Sum("tokens"),
            cost_sum=Sum("cost_usd"),
            unpriced=Count("pk", filter=Q(cost_known=False) | Q(completeness_check__run__unpriced_calls__gt=0)),
            newest=Max("created_at"),
        )
        .filter(runs__gte=FEWEST_RECURRING)
        .order_by("-runs", "-newest", "operation_key")[:MOST_SHOWN]
    )
    return [
        Recurring(
            task_kind=group["task_kind"],
            source=source_of(group["task_kind"], group["operation_key"]),
            operation=group["said"][0],
            found=group["found"],
            runs=group["runs"],
            attempted=group["tried"],
            succeeded=group["did"],
            tokens=group["tokens_sum"],
            cost_usd=group["cost_sum"],
            cost_known=not group["unpriced"],
        )
        for group in groups
    ]
