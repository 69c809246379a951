"""Which supplements are worth their price: ordered, and dropped before they are carried out. Pure.

A supplement is worth the share of runs that such a one turned complete. Of few runs that share is chance, so it is
drawn to a half, as if one more had come out either way (Laplace's rule of succession), and nothing is dropped for a
worth that its history leaves room to doubt: what counts against a line of the project is the kind end of the interval.
Otherwise a supplement that failed once or twice would never be tried, nor measured, again.

Whether a budget holds it is told by what it usually comes to, the median. What has no history passes: the budgets
themselves, which are kept while it is carried out, bound it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from reflection_app.loops.completeness.checks import Completeness, CompletenessSettings, Supplement
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.loops.completeness.estimates import (
    CompletedBefore,
    CostsBefore,
    Estimate,
    Histories,
    Measure,
    Spread,
    SupplementHistory,
)

# A nearer basis comes before a farther one from this many on; below, the one that rests on most.
FEWEST = 5
MOST_DROPPED = 100
USD_PLACES = Decimal("1e-8")


@dataclass(frozen=True)
class Left:
    """What a run has left for its supplements; None where nothing bounds it. `check_usd` is that of the check's limit.

    `is_priced`: every call so far had a price, which was `usd_per_token` on average.
    """

    tokens: int | None = None
    cost_usd: Decimal | None = None
    seconds: float | None = None
    check_usd: Decimal | None = None
    is_priced: bool = True
    usd_per_token: Decimal | None = None


def estimate_of(history: SupplementHistory, *, usd_per_token: Decimal | None = None) -> Estimate:
    """The estimate that a history gives."""
    costs, completed = _nearest_costs(history.costs), _nearest_completed(history.completed)
    estimate = Estimate()
    if costs is not None:
        usd = costs.cost_usd
        by_tokens = usd is None and usd_per_token is not None
        if usd is None and usd_per_token is not None:
            usd = _priced(costs.tokens, usd_per_token)
        estimate = estimate.model_copy(
            update={
                "tokens": costs.tokens,
                "cost_usd": usd,
                "seconds": costs.seconds,
                "cost_basis": costs.basis,
                "cost_count": costs.count,
                "by_tokens": by_tokens,
            }
        )
    if completed is not None:
        estimate = estimate.model_copy(
            update={
                "worth": (completed.completed + 1) / (completed.runs + 2),
                "worth_low": completed.low,
                "worth_high": completed.high,
                "worth_basis": completed.basis,
                "worth_runs": completed.runs,
                "worth_completed": completed.completed,
            }
        )
    return estimate


def _nearest_costs(known: Sequence[CostsBefore]) -> CostsBefore | None:
    enough = next((one for one in known if one.count >= FEWEST), None)
    return enough or max(known, key=lambda one: one.count, default=None)


def _nearest_completed(known: Sequence[CompletedBefore]) -> CompletedBefore | None:
    enough = next((one for one in known if one.runs >= FEWEST), None)
    return enough or max(known, key=lambda one: one.runs, default=None)


def _priced(tokens: Spread[float], usd_per_token: Decimal) -> Spread[Decimal]:
    low, middle, high = (
        (Decimal(str(number)) * usd_per_token).quantize(USD_PLACES)
        for number in (tokens.low, tokens.middle, tokens.high)
    )
    return Spread[Decimal](low=low, middle=middle, high=high)


def weighed(found: Completeness, *, histories: Histories, settings: CompletenessSettings, left: Left) -> Completeness:
    """`found` with its supplements estimated, the best for their price first, and without those that are not worth it.

    At most `max_supplements` are left, of those that are ordered.
    """
    known = (*histories.supplements, *(SupplementHistory(),) * len(found.supplements))
    estimated = [
        (one, estimate_of(history, usd_per_token=left.usd_per_token if left.is_priced else None))
        for one, history in zip(found.supplements, known, strict=False)
    ]
    measure, ordered = in_order_of_worth(estimated)
    kept: list[Supplement] = []
    dropped: list[Dropped] = []
    taken = _Taken()
    for one, estimate in ordered:
        why = _below_the_line(estimate, settings=settings, left=left) or taken.over(estimate, left=left)
        if why is None and len(kept) >= settings.max_supplements:
            why = (DropCode.TOO_MANY, {"most": settings.max_supplements})
        if why is None:
            taken.add(estimate)
            kept.append(one.model_copy(update={"estimate": estimate}))
        else:
            code, parameters = why
            dropped.append(
                Dropped(operation=one.operation, code=code, parameters=parameters, is_open=True, estimate=estimate)
            )
    return found.model_copy(
        update={
            "supplements": tuple(kept),
            "dropped": (*found.dropped, *dropped)[:MOST_DROPPED],
            "ordered_by": measure if found.supplements else None,
        }
    )


type Estimated = tuple[Supplement, Estimate]
type Why = tuple[DropCode, dict[str, str | int | float]]


def in_order_of_worth(estimated: Sequence[Estimated]) -> tuple[Measure, list[Estimated]]:
    """By worth for price, the best first; equals in the model's order.

    One whose price is not known is not taken for free: tokens decide about all of them then. One of which no cost is
    known is taken to cost as much as the dearest.
    """
    usd = [estimate.cost_usd.middle for _one, estimate in estimated if estimate.cost_usd is not None]
    tokens = [estimate.tokens.middle for _one, estimate in estimated if estimate.tokens is not None]
    known = [estimate for _one, estimate in estimated if estimate.tokens is not None]
    if not tokens:
        return Measure.WORTH, sorted(estimated, key=lambda pair: -pair[1].worth)
    if len(usd) == len(known) and all(usd):
        dearest = max(usd)

        def price(estimate: Estimate) -> float:
            return float(estimate.cost_usd.middle if estimate.cost_usd else dearest)

        measure = Measure.USD
    else:
        most = max(tokens)

        def price(estimate: Estimate) -> float:
            return max(1.0, estimate.tokens.middle if estimate.tokens else most)

        measure = Measure.TOKENS
    return measure, sorted(estimated, key=lambda pair: -pair[1].worth / price(pair[1]))


def _below_the_line(estimate: Estimate, *, settings: CompletenessSettings, left: Left) -> Why | None:
    """Why the project's own lines leave it out, or None where they do not."""
    if estimate.worth_high < settings.least_worth:
        return DropCode.BELOW_WORTH, {
            "worth": round(estimate.worth_high, 4),
            "least": settings.least_worth,
            "runs": estimate.worth_runs,
        }
    most = settings.max_cost_per_completed_usd
    if (most is not None or settings.max_cost_usd is not None) and not left.is_priced:
        return DropCode.PRICE_UNKNOWN, {}
    if most is not None and estimate.cost_usd is not None:
        # The kind end of the interval is never 0: Wilson's upper bound of no success in n runs is above it.
        each = (estimate.cost_usd.middle / Decimal(str(estimate.worth_high))).quantize(USD_PLACES)
        if each > most:
            return DropCode.TOO_DEAR, {"cost_usd": str(each), "most_usd": str(most), "runs": estimate.worth_runs}
    return None


@dataclass
class _Taken:
    """What the supplements that are kept so far will come to, as far as it can be told."""

    tokens: float = 0.0
    cost_usd: Decimal = Decimal(0)
    seconds: float = 0.0

    def over(self, estimate: Estimate, *, left: Left) -> Why | None:
        """Which budget it would not fit into any more, or None where it fits. Nothing fits where nothing is left."""
        usd = estimate.cost_usd.middle if estimate.cost_usd else Decimal(0)
        for code, most in ((DropCode.OVER_CHECK_MONEY, left.check_usd), (DropCode.OVER_RUN_MONEY, left.cost_usd)):
            if most is not None and (most <= 0 or self.cost_usd + usd > most):
                return code, {"cost_usd": str(usd), "left_usd": str(max(Decimal(0), most - self.cost_usd))}
        tokens = estimate.tokens.middle if estimate.tokens else 0.0
        if left.tokens is not None and (left.tokens <= 0 or self.tokens + tokens > left.tokens):
            room = max(0, round(left.tokens - self.tokens))
            return DropCode.OVER_RUN_TOKENS, {"tokens": round(tokens), "left_tokens": room}
        seconds = estimate.seconds.middle if estimate.seconds else 0.0
        if left.seconds is not None and (left.seconds <= 0 or self.seconds + seconds > left.seconds):
            room_s = max(0.0, round(left.seconds - self.seconds, 1))
            return DropCode.OVER_RUN_TIME, {"seconds": round(seconds, 1), "left_seconds": room_s}
        return None

    def add(self, estimate: Estimate) -> None:
        self.tokens += estimate.tokens.middle if estimate.tokens else 0.0
        self.cost_usd += estimate.cost_usd.middle if estimate.cost_usd else Decimal(0)
        self.seconds += estimate.seconds.middle if estimate.seconds else 0.0
