"""The figures of completeness checks in a project: what they found, what became of it, and what keeps recurring."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from django.db.models import Avg, Count, F, Max, Min, Q, QuerySet, Sum, Window
from django.db.models.functions import RowNumber

from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome
from reflection_app.repairs.models import CompletenessCheck, Supplement
from reflection_app.runs.models import Run, RunState

# Whether a supplement that recurs is worth what it costs. Pure: counts and sums in, a word out.
#
# The runs in which it was carried out are set against the other checked runs of the same kind of task. Nobody chose by
# lot which runs got it, so the difference is a hint and no proof; and of few runs it is not even that.

# On each side of the comparison: with fewer, one run more or less would turn the word round.
FEWEST_RUNS = 5
# In shares of runs that succeeded. Less than this is as good as nothing.
LEAST_GAIN = 0.05
# What a success more may cost, in whole runs of that kind.
MOST_RUNS_PER_SUCCESS = 3.0


class Worth(StrEnum):
    WORTH_IT = "worth it"
    COSTS_MORE = "costs more than it brings"
    TOO_FEW = "too few to say"


@dataclass(frozen=True)
class Side:
    """Runs that ended, and how many of them succeeded."""

    runs: int = 0
    succeeded: int = 0

    @property
    def share(self) -> float | None:
        return self.succeeded / self.runs if self.runs else None


@dataclass(frozen=True)
class SupplementValue:
    """What a supplement brought and cost. Tokens decide, since the price of a model may not be known."""

    done: Side
    others: Side
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    cost_known: bool = True
    tokens_per_run: float = 0.0

    @property
    def gain(self) -> float | None:
        """How many runs more succeeded with it, as a share."""
        if self.done.share is None or self.others.share is None:
            return None
        # Rounded, so that 0.6 - 0.5 is the tenth that it is.
        return round(self.done.share - self.others.share, 9)

    @property
    def tokens_each(self) -> float:
        """What it cost in one run."""
        return self.tokens / self.done.runs if self.done.runs else 0.0

    @property
    def worth(self) -> Worth:
        """The rule: enough runs on both sides, more successes, and each of those for at most a few runs' tokens."""
        if min(self.done.runs, self.others.runs) < FEWEST_RUNS or self.gain is None:
            return Worth.TOO_FEW
        if self.gain < LEAST_GAIN:
            return Worth.COSTS_MORE
        is_cheap = self.tokens_each / self.gain <= MOST_RUNS_PER_SUCCESS * self.tokens_per_run
        return Worth.WORTH_IT if is_cheap else Worth.COSTS_MORE


# One run alone lacked something; from the second on it recurs.
FEWEST_RECURRING = 2
MOST_SHOWN = 50
MOST_WORDINGS = 10

FINISHED = Q(completeness_check__run__state=RunState.FINISHED)
SUCCEEDED = Q(completeness_check__run__outcome=Outcome.SUCCEEDED.value)


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
class Wording:
    """Other words of a supplement, and how many runs lacked it in these."""

    operation: str
    runs: int


@dataclass(frozen=True)
class Recurring:
    """A supplement that several runs of a kind of task lacked; `operation` is as it was said first.

    `source` is what the notebook knows it by. Of `wordings`, the most frequent are here, and there are `reworded`.
    """

    task_kind: str
    source: str
    operation: str
    found: int
    runs: int
    attempted: int
    succeeded: int
    value: SupplementValue
    wordings: tuple[Wording, ...] = ()
    reworded: int = 0


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
    rows = Supplement.objects.filter(
        project=project_id, group__isnull=False, completeness_check__run__parent=None
    ).order_by()
    if task_kind is not None:
        rows = rows.filter(task_kind=task_kind)
    done = Q(succeeded=True) & FINISHED
    groups = (
        rows.values("group", "task_kind", source=F("group__source"))
        .annotate(
            found=Count("pk"),
            runs=Count("completeness_check__run", distinct=True),
            tried=Count("pk", filter=Q(attempted=True)),
            did=Count("pk", filter=Q(succeeded=True)),
            tokens_sum=Sum("tokens"),
            cost_sum=Sum("cost_usd"),
            unpriced=Count("pk", filter=Q(completeness_check__run__unpriced_calls__gt=0)),
            done_runs=Count("completeness_check__run", distinct=True, filter=done),
            done_succeeded=Count("completeness_check__run", distinct=True, filter=done & SUCCEEDED),
            newest=Max("created_at"),
        )
        .filter(runs__gte=FEWEST_RECURRING)
        .order_by("-runs", "-newest", "group")[:MOST_SHOWN]
    )
    found = list(groups)
    # The checked runs of each kind of task that have ended, with their mean tokens.
    ended = (
        Run.objects.filter(
            project=project_id,
            parent=None,
            state=RunState.FINISHED,
            task__kind__in={group["task_kind"] for group in found},
            pk__in=CompletenessCheck.objects.filter(project=project_id).values("run"),
        )
        .exclude(mode=Mode.COMPLETENESS_CHECK.value)
        .order_by()
        .values(kind=F("task__kind"))
        .annotate(
            total=Count("pk"),
            good=Count("pk", filter=Q(outcome=Outcome.SUCCEEDED.value)),
            tokens=Avg(F("prompt_tokens") + F("completion_tokens")),
        )
    )
    kinds = {row["kind"]: (Side(row["total"], row["good"]), float(row["tokens"] or 0)) for row in ended}
    said = _wordings(rows.filter(group__in=[group["group"] for group in found]))
    recurring = []
    for group in found:
        kind, done_runs = group["task_kind"], group["done_runs"]
        all_runs, tokens_per_run = kinds.get(kind, (Side(), 0.0))
        others = Side(max(0, all_runs.runs - done_runs), max(0, all_runs.succeeded - group["done_succeeded"]))
        value = SupplementValue(
            done=Side(done_runs, group["done_succeeded"]),
            others=others,
            tokens=group["tokens_sum"] or 0,
            cost_usd=group["cost_sum"] or Decimal(0),
            cost_known=not group["unpriced"],
            tokens_per_run=tokens_per_run,
        )
        counts = (group["found"], group["runs"], group["tried"], group["did"])
        first, others_said, reworded = said[group["group"]]
        recurring.append(
            Recurring(kind, group["source"], first, *counts, value, wordings=others_said, reworded=reworded)
        )
    return recurring


def _wordings(rows: QuerySet[Supplement]) -> dict[UUID, tuple[str, tuple[Wording, ...], int]]:
    """Of each group the words that it began with, the most frequent other ones, and how many other ones there are."""
    first, frequent = (
        Window(RowNumber(), partition_by=F("group"), order_by=order)
        for order in (("first", "operation_key"), ("-runs", "first", "operation_key"))
    )
    by_words = (
        rows.values("group", "operation_key")
        .annotate(said=Min("operation"), first=Min("created_at"), runs=Count("completeness_check__run", distinct=True))
        .annotate(age=first, rank=frequent, many=Window(Count("operation_key"), partition_by=F("group")))
        .filter(Q(age=1) | Q(rank__lte=MOST_WORDINGS + 1))
        .order_by("rank")
    )
    found: dict[UUID, tuple[str, tuple[Wording, ...], int]] = {}
    for row in by_words:
        name, others, many = found.get(row["group"], ("", (), row["many"] - 1))
        if row["age"] == 1:
            name = row["said"]
        elif len(others) < MOST_WORDINGS:
            others = (*others, Wording(row["said"], row["runs"]))
        found[row["group"]] = (name, others, many)
    return found
