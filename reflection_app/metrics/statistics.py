"""Intervals, weighted shares and means, agreement beyond chance. Pure."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from math import sqrt
from typing import NamedTuple

# Pure, unlike the rest of the notebook.
from notebook_app.lift import Z_95, Interval, difference, wilson

# Used by other subjects from here.
__all__ = ["Z_95", "Interval", "difference", "wilson"]

# Shares and means of a sample in which each case stands for as many as its chance of being drawn says. Pure.
#
# A case that was drawn with chance π weighs 1/π (D. G. Horvitz, D. J. Thompson, "A Generalization of Sampling Without
# Replacement From a Finite Universe", JASA 47, 1952). Cases of one cluster, a run's, are alike; the variance is that of
# the clusters' sums, linearised (K. M. Wolter, "Introduction to Variance Estimation", 2nd ed. 2007, chapter 6).


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


# Cohen's κ of a weighted sample, with its 95 % interval. Pure.
#
# Sources: J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20,
# 1960; J. L. Fleiss, J. Cohen, B. S. Everitt, "Large Sample Standard Errors of Kappa and Weighted Kappa",
# Psychological Bulletin 72, 1969, whose variance this is where all weights are equal.

type Cell = tuple[str, str]
# As many cases agreeing by chance alone are put beside what was seen, so that κ = 1 over few cases is not certain.
BESIDE = 2.0


def kappa_of(pairs: Sequence[tuple[Cell, Case]]) -> Interval | None:
    """κ = (p_o − p_e) / (1 − p_e) over `pairs` of ratings, each with its case's weight and cluster.

    None without pairs, and where both always said the same one thing. The interval's variance is the linearised one of
    the sample, or the multinomial one of the table with BESIDE cases added where that is larger.
    """
    seen = kappa_and_variance(pairs)
    if seen is None:
        return None
    kappa, variance = seen
    centre, expected = _with_some_by_chance(_shares(pairs), worth(case for _, case in pairs))
    half = Z_95 * sqrt(max(variance, expected))
    return Interval(kappa, low=max(-1.0, min(kappa, centre) - half), high=min(1.0, max(kappa, centre) + half))


def kappa_and_variance(pairs: Sequence[tuple[Cell, Case]]) -> tuple[float, float] | None:
    """κ and its linearised variance in the sample; None where there is no κ."""
    shares = _shares(pairs)
    kappa, slopes = _kappa(shares)
    if kappa is None:
        return None
    middle = sum(slopes[cell] * share for cell, share in shares.items())
    return kappa, variance_of(Case(slopes[cell] - middle, case.weight, case.cluster) for cell, case in pairs)


def _shares(pairs: Sequence[tuple[Cell, Case]]) -> dict[Cell, float]:
    total = sum(case.weight for _, case in pairs)
    shares: dict[Cell, float] = {}
    for cell, case in pairs:
        shares[cell] = shares.get(cell, 0.0) + case.weight / total
    return shares


def _margins(shares: Mapping[Cell, float]) -> tuple[dict[str, float], dict[str, float]]:
    rows: dict[str, float] = {}
    columns: dict[str, float] = {}
    for (row, column), share in shares.items():
        rows[row] = rows.get(row, 0.0) + share
        columns[column] = columns.get(column, 0.0) + share
    return rows, columns


def _kappa(shares: Mapping[Cell, float]) -> tuple[float | None, dict[Cell, float]]:
    """κ, and how it changes with each cell's share: δ/(1 − p_e) − (1 − p_o)(c_row + r_column)/(1 − p_e)²."""
    rows, columns = _margins(shares)
    if not shares or (len(rows) == 1 and rows.keys() == columns.keys()):
        return None, {}
    observed = sum(share for (row, column), share in shares.items() if row == column)
    left = 1 - sum(share * columns.get(row, 0.0) for row, share in rows.items())
    slopes = {
        (row, column): (row == column) / left
        - (1 - observed) * (columns.get(row, 0.0) + rows.get(column, 0.0)) / left**2
        for row, column in shares
    }
    return (observed - 1 + left) / left, slopes


def _with_some_by_chance(shares: Mapping[Cell, float], size: float) -> tuple[float, float]:
    """κ of the table with BESIDE cases added that agree by chance alone, and its multinomial variance."""
    rows, columns = _margins(shares)
    added = {
        (row, column): (size * shares.get((row, column), 0.0) + BESIDE * of_row * of_column) / (size + BESIDE)
        for row, of_row in rows.items()
        for column, of_column in columns.items()
    }
    kappa, slopes = _kappa(added)
    assert kappa is not None, "the margins are those of a table that has a κ"
    middle = sum(slopes[cell] * share for cell, share in added.items())
    variance = sum(share * (slopes[cell] - middle) ** 2 for cell, share in added.items())
    return kappa, variance / (size + BESIDE)


# How far people who judged the same things blindly agree, beyond what chance alone would bring. Pure.
#
# A unit is what was judged; its ratings are who said what. Not everybody has to have judged everything.
#
# Sources: J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20,
# 1960; K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania, 2011.

type Ratings = Mapping[str, str]
type Distance = Callable[[str, str], float]


def percent_agreement(units: Iterable[Ratings]) -> float | None:
    """The share of pairs of ratings of the same unit that are equal; None where no unit has two ratings."""
    pairs = [first == second for unit in units for first, second in combinations(unit.values(), 2)]
    return sum(pairs) / len(pairs) if pairs else None


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """κ = (p_o − p_e) / (1 − p_e) of two raters' `pairs` of ratings (Cohen 1960, formula 1).

    p_o is the share of equal pairs, and p_e = Σ_c p_1c · p_2c what it would be if each rater kept their own shares of
    the categories but gave them at random. None without pairs, and where both always said the same one thing.
    """
    seen = kappa_and_variance([(pair, Case(1.0, 1.0, number)) for number, pair in enumerate(pairs)])
    return seen[0] if seen else None


def krippendorffs_alpha(units: Iterable[Ratings], *, order: Sequence[str] = ()) -> float | None:
    """α = 1 − D_o / D_e over any number of raters, missing ratings allowed (Krippendorff 2011, steps A to D).

    With coincidences o_ck = Σ_u (pairs of ratings c–k within unit u) / (m_u − 1), where m_u counts the ratings of u,
    n_c = Σ_k o_ck and n = Σ_c n_c: D_o = Σ o_ck δ²_ck / n and D_e = Σ n_c n_k δ²_ck / (n (n − 1)). Units with one
    rating say nothing and are left out. δ² is nominal (0 where equal, else 1), or ordinal where `order` names all the
    categories from the lowest to the highest. None where nothing was rated twice, or nothing varies.
    """
    coincidences: dict[tuple[str, str], float] = {}
    for unit in units:
        ratings = list(unit.values())
        for first, second in combinations(ratings, 2):
            for pair in ((first, second), (second, first)):
                coincidences[pair] = coincidences.get(pair, 0.0) + 1 / (len(ratings) - 1)
    counts: dict[str, float] = {}
    for (first, _), weight in coincidences.items():
        counts[first] = counts.get(first, 0.0) + weight
    total = sum(counts.values())
    distance = _ordinal(order, counts) if order else _nominal
    observed = sum(weight * distance(*pair) for pair, weight in coincidences.items()) / total if total else 0.0
    expected = sum(counts[c] * counts[k] * distance(c, k) for c in counts for k in counts)
    if not expected:
        return None
    return 1 - observed * total * (total - 1) / expected


def _nominal(first: str, second: str) -> float:
    return float(first != second)


def _ordinal(order: Sequence[str], counts: Mapping[str, float]) -> Distance:
    """δ²_ck = (Σ_{g=c…k} n_g − (n_c + n_k) / 2)²: categories are as far apart as there are ratings between them."""
    place = {category: number for number, category in enumerate(order)}

    def distance(first: str, second: str) -> float:
        low, high = sorted((place[first], place[second]))
        between = sum(counts.get(category, 0.0) for category in order[low : high + 1])
        return float((between - (counts.get(first, 0.0) + counts.get(second, 0.0)) / 2) ** 2)

    return distance
