"""Shares and means of a sample in which each case stands for as many as its chance of being drawn says. Pure.

A case that was drawn with chance π weighs 1/π (D. G. Horvitz, D. J. Thompson, "A Generalization of Sampling Without
Replacement From a Finite Universe", JASA 47, 1952). Cases of one cluster, a run's, are alike; the variance is that of
the clusters' sums, linearised (K. M. Wolter, "Introduction to Variance Estimation", 2nd ed. 2007, chapter 6).
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from math import sqrt
from typing import NamedTuple

from reflection_app.metrics.intervals import Z_95, Interval, wilson


class Case(NamedTuple):
    """One number of one case: 1 or 0 where a share is asked for."""

    value: float
    weight: float
    cluster: Hashable


def weighted_mean(cases: Sequence[Case]) -> float | None:
    """Σ w·y / Σ w; None without cases."""
    total = sum(case.weight for case in cases)
    return sum(case.weight * case.value for case in cases) / total if total else None


def variance_of(deviations: Iterable[Case]) -> float:
    """The variance of an estimate whose cases' linearised `deviations` these are, with weighted mean 0.

    C/(C − 1) · Σ_c (Σ_{i in c} w_i z_i)² / (Σ w)² over the C clusters; 0 where there is but one.
    """
    sums: dict[Hashable, float] = defaultdict(float)
    total = 0.0
    for one in deviations:
        sums[one.cluster] += one.weight * one.value
        total += one.weight
    if len(sums) < 2 or not total:
        return 0.0
    return len(sums) / (len(sums) - 1) * sum(part * part for part in sums.values()) / total**2


def worth(cases: Iterable[Case]) -> float:
    """How many clusters of equal weight say as much: (Σ w)² / Σ_c (Σ_{i in c} w_i)².

    L. Kish, "Survey Sampling", 1965.
    """
    sums: dict[Hashable, float] = defaultdict(float)
    for case in cases:
        sums[case.cluster] += case.weight
    squares = sum(weight * weight for weight in sums.values())
    return sum(sums.values()) ** 2 / squares if squares else 0.0


def share_of(cases: Sequence[Case]) -> Interval | None:
    """The weighted share of cases with value 1, with Wilson's interval over what the sample is worth.

    Worth is p(1 − p)/(n − 1) over the variance, times n, so that of a plain sample all n count. It is never more than
    what the weights alone leave: where the few heavy cases agree by chance, the variance that they show is too small.
    """
    share = weighted_mean(cases)
    if share is None:
        return None
    size = worth(cases)
    variance = variance_of(Case(case.value - share, case.weight, case.cluster) for case in cases)
    if variance > 0:
        clusters = len({case.cluster for case in cases})
        size = min(size, share * (1 - share) / variance * clusters / (clusters - 1))
    return wilson(share * size, size)


def mean_of(cases: Sequence[Case]) -> Interval | None:
    """The weighted mean with its normal interval."""
    mean = weighted_mean(cases)
    if mean is None:
        return None
    half = Z_95 * sqrt(variance_of(Case(case.value - mean, case.weight, case.cluster) for case in cases))
    return Interval(estimate=mean, low=mean - half, high=mean + half)
