"""Whether a critic is right as often as its confidence says. Pure.

Sources: A. H. Murphy, R. L. Winkler, "Reliability of Subjective Probability Forecasts of Precipitation and
Temperature", Applied Statistics 26, 1977 (the curve); M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining Well
Calibrated Probabilities Using Bayesian Binning", AAAI 2015 (the calibration error, over bins of equal width).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reflection_app.metrics.intervals import Interval, difference
from reflection_app.metrics.weighted_samples import Case, mean_of, share_of, weighted_mean

BINS = 10


class Said(NamedTuple):
    """A confidence, and whether the verdict that it was said of was right: 1 or 0."""

    confidence: float
    right: Case


@dataclass(frozen=True)
class Bin:
    """Verdicts whose confidence is at least `low` and below `high`; the last bin holds 1, too.

    `confidence` is their mean, `right` how often people agreed, `share` their part of all verdicts with a confidence.
    """

    low: float
    high: float
    seen: int
    share: float
    confidence: float
    right: Interval


@dataclass(frozen=True)
class Reliability:
    """`error` is the expected calibration error Σ_b share_b · |right_b − confidence_b|.

    It is never negative, so that chance alone makes it larger than it is; no interval is given for it. `overconfidence`
    is mean confidence minus accuracy: above 0, the critic is right less often than it says.
    """

    pairs: int
    bins: tuple[Bin, ...]
    error: float | None
    overconfidence: Interval | None


def reliability_of(said: Sequence[Said]) -> Reliability:
    """The curve and its figures; without bins where the critic gave no confidence."""
    total = sum(one.right.weight for one in said)
    binned: dict[int, list[Said]] = {}
    for one in said:
        binned.setdefault(min(int(one.confidence * BINS), BINS - 1), []).append(one)
    bins = tuple(_bin(number, binned[number], total=total) for number in sorted(binned))
    return Reliability(
        pairs=len(said),
        bins=bins,
        error=sum(one.share * abs(one.right.estimate - one.confidence) for one in bins) if bins else None,
        overconfidence=_overconfidence(said),
    )


def _bin(number: int, said: Sequence[Said], *, total: float) -> Bin:
    right, confidence = share_of([one.right for one in said]), weighted_mean(_confidences(said))
    assert right is not None
    assert confidence is not None
    return Bin(
        low=number / BINS,
        high=(number + 1) / BINS,
        seen=len(said),
        share=sum(one.right.weight for one in said) / total,
        confidence=confidence,
        right=right,
    )


def _overconfidence(said: Sequence[Said]) -> Interval | None:
    """The wider of two intervals at each end.

    Taking confidence and being right for independent is too narrow where a critic is surer when it is wrong; the normal
    interval of what lies between them is too narrow where few were wrong.
    """
    confidence, right = mean_of(_confidences(said)), share_of([one.right for one in said])
    between = mean_of([Case(one.confidence - one.right.value, one.right.weight, one.right.cluster) for one in said])
    if confidence is None or right is None or between is None:
        return None
    apart = difference(confidence, right)
    return Interval(between.estimate, low=min(apart.low, between.low), high=max(apart.high, between.high))


def _confidences(said: Sequence[Said]) -> list[Case]:
    return [Case(one.confidence, one.right.weight, one.right.cluster) for one in said]
