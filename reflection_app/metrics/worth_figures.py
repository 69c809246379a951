"""What completeness checks cost in a project and bought, what was left out, and how true the estimates were."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean, quantiles
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Func, JSONField, Q, Sum
from django.db.models.fields.json import KeyTextTransform

from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.completeness.dropped import BY_WORTH, DropCode, code_of
from reflection_app.loops.completeness.estimates import Estimate
from reflection_app.metrics.statistics import Interval, wilson
from reflection_app.repairs.models import CompletenessCheck, Supplement

# Of estimates that were made, the newest: what the history tells changes with every run.
MOST_COMPARED = 500
# Fewer tell nothing of how true estimates are.
FEWEST_COMPARED = 5


@dataclass(frozen=True)
class Spending:
    """What a part cost. `is_known`: every call of it had a price."""

    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    is_known: bool = True

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(
            self.tokens + other.tokens, self.cost_usd + other.cost_usd, is_known=self.is_known and other.is_known
        )


@dataclass(frozen=True)
class Bought:
    """What was spent on checks, on supplements and on second looks, and how many runs that turned complete.

    `supplied` are the runs in which a supplement was carried out, `completed` those that were complete after it.
    """

    checks: Spending
    supplements: Spending
    second_looks: Spending
    supplied: int
    completed: int

    @property
    def total(self) -> Spending:
        return self.checks + self.supplements + self.second_looks

    @property
    def share(self) -> Interval | None:
        """Of the runs with supplements, those that were complete after them."""
        return wilson(self.completed, self.supplied)

    @property
    def cost_each_usd(self) -> "Each | None":
        """What a run that was turned complete came to, all counted; None where none was, or no price is known."""
        return self._each(float(self.total.cost_usd)) if self.total.is_known and self.total.cost_usd else None

    @property
    def tokens_each(self) -> "Each | None":
        return self._each(float(self.total.tokens))

    def _each(self, spent: float) -> "Each | None":
        share = self.share
        if share is None or not self.completed:
            return None
        # As many runs as the ends of the share's interval say, had been completed for the same money.
        return Each(
            spent / self.completed,
            low=spent / (self.supplied * share.high),
            high=spent / (self.supplied * share.low) if share.low else None,
        )


@dataclass(frozen=True)
class Each:
    """What one came to, with the 95 % interval that the share of completed runs leaves; no upper end where it is 0."""

    middle: float
    low: float
    high: float | None

    @property
    def usd(self) -> tuple[Decimal, Decimal, Decimal | None]:
        """The three as money."""
        high = None if self.high is None else Decimal(str(self.high))
        return Decimal(str(self.middle)), Decimal(str(self.low)), high


def bought(project_id: UUID) -> Bought:
    checks = CompletenessCheck.objects.filter(project=project_id).order_by()
    looked = checks.aggregate(
        all_tokens=Sum("tokens"),
        usd=Sum("cost_usd"),
        again_tokens=Sum("second_tokens"),
        again_usd=Sum("second_cost_usd"),
        unpriced=Count("pk", filter=Q(cost_known=False) | Q(tokens__gt=0, run__unpriced_calls__gt=0)),
        supplied=Count("run", distinct=True, filter=Q(used=True)),
        completed=Count("run", distinct=True, filter=Q(used=True, state=CheckState.SUPPLEMENTED.value)),
    )
    supplements = Supplement.objects.filter(project=project_id).order_by()
    supplied = supplements.aggregate(
        all_tokens=Sum("tokens"),
        usd=Sum("cost_usd"),
        unpriced=Count(
            "pk",
            filter=Q(cost_known=False)
            | Q(seconds__isnull=True, tokens__gt=0, completeness_check__run__unpriced_calls__gt=0),
        ),
    )
    checks_known = not looked["unpriced"]
    return Bought(
        checks=Spending(looked["all_tokens"] or 0, looked["usd"] or Decimal(0), is_known=checks_known),
        supplements=Spending(
            supplied["all_tokens"] or 0, supplied["usd"] or Decimal(0), is_known=not supplied["unpriced"]
        ),
        second_looks=Spending(looked["again_tokens"] or 0, looked["again_usd"] or Decimal(0), is_known=checks_known),
        supplied=looked["supplied"],
        completed=looked["completed"],
    )


# What was left out, and why.


@dataclass(frozen=True)
class LeftOut:
    """How often something was left out for this reason; `by_worth`, for its worth, its price, or what was left."""

    code: DropCode
    count: int

    @property
    def by_worth(self) -> bool:
        return self.code in BY_WORTH


def left_out(project_id: UUID) -> list[LeftOut]:
    """The reasons, the most frequent first. Reasons of old that nobody knows the code of are not counted."""
    each = Func(F("dropped"), function="jsonb_array_elements", output_field=JSONField())
    rows = (
        CompletenessCheck.objects.filter(project=project_id)
        .order_by()
        .annotate(one=each)
        .annotate(code=KeyTextTransform("code", "one"), why=KeyTextTransform("why", "one"))
        .values_list("code", "why")
        .annotate(count=Count("pk"))
    )
    counts: Counter[DropCode] = Counter()
    for code, why, count in rows:
        known = DropCode(code) if code in DropCode else code_of(why or "")[0]
        if known:
            counts[known] += count
    begun_not = Supplement.objects.filter(project=project_id).exclude(left_out="").order_by()
    for code, count in begun_not.values_list("left_out").annotate(count=Count("pk")):
        if code in DropCode:
            counts[DropCode(code)] += count
    return [LeftOut(code, count) for code, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]


# How true the estimates were. Pure, but for the rows.


@dataclass(frozen=True)
class Accuracy:
    """Of `compared` supplements that were estimated and carried out.

    `ratio` is the median of what they came to for what was estimated, between `ratio_low` and `ratio_high` for half of
    them; `inside` the share that came to something between the estimate's quartiles, which is about a half of good
    estimates. `worth` is the mean worth that was estimated, `completed` the share that came true.
    """

    compared: int
    ratio: float
    ratio_low: float
    ratio_high: float
    inside: float
    worth: float
    completed: Interval


@dataclass(frozen=True)
class Compared:
    """One estimate beside what came of it, in tokens."""

    estimate: Estimate
    tokens: int
    completed: bool


def accuracy(compared: Sequence[Compared]) -> Accuracy | None:
    """None where too few can be compared."""
    spreads = [(one, spread) for one in compared if (spread := one.estimate.tokens) is not None and spread.middle > 0]
    completed = wilson(sum(one.completed for one, _spread in spreads), len(spreads))
    if len(spreads) < FEWEST_COMPARED or completed is None:
        return None
    ratios = [one.tokens / spread.middle for one, spread in spreads]
    low, middle, high = quantiles(ratios, n=4, method="inclusive")
    return Accuracy(
        compared=len(spreads),
        ratio=middle,
        ratio_low=low,
        ratio_high=high,
        inside=sum(spread.low <= one.tokens <= spread.high for one, spread in spreads) / len(spreads),
        worth=fmean(one.estimate.worth for one, _spread in spreads),
        completed=completed,
    )


def accuracy_of(project_id: UUID) -> Accuracy | None:
    rows = (
        Supplement.objects.filter(project=project_id, attempted=True, estimate__isnull=False)
        .order_by("-created_at")
        .values_list("estimate", "tokens", "succeeded", "completeness_check__state")[:MOST_COMPARED]
    )
    return accuracy(list(_compared(rows)))


def _compared(rows: Iterable[tuple[Any, int, bool | None, str]]) -> Iterable[Compared]:
    for estimate, tokens, succeeded, state in rows:
        completed = bool(succeeded) and state == CheckState.SUPPLEMENTED
        yield Compared(Estimate.model_validate(estimate), tokens=tokens, completed=completed)
