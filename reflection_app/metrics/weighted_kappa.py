"""Cohen's κ of a weighted sample, with its 95 % interval. Pure.

Sources: J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20, 1960;
J. L. Fleiss, J. Cohen, B. S. Everitt, "Large Sample Standard Errors of Kappa and Weighted Kappa", Psychological
Bulletin 72, 1969, whose variance this is where all weights are equal.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from reflection_app.metrics.intervals import Z_95, Interval
from reflection_app.metrics.weighted_samples import Case, variance_of, worth

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
