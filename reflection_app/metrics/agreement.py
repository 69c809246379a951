"""How far people who judged the same things blindly agree, beyond what chance alone would bring. Pure.

A unit is what was judged; its ratings are who said what. Not everybody has to have judged everything.

Sources: J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20, 1960;
K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania, 2011.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

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
    if not pairs:
        return None
    total = len(pairs)
    observed = sum(first == second for first, second in pairs) / total
    of_first, of_second = (Counter(ratings) for ratings in zip(*pairs, strict=True))
    # In whole numbers, so that 1 is met exactly where nothing varies.
    by_chance = sum(of_first[category] * of_second[category] for category in of_first)
    if by_chance == total**2:
        return None
    expected = by_chance / total**2
    return (observed - expected) / (1 - expected)


def krippendorffs_alpha(units: Iterable[Ratings], *, order: Sequence[str] = ()) -> float | None:
    """α = 1 − D_o / D_e over any number of raters, missing ratings allowed (Krippendorff 2011, steps A to D).

    With coincidences o_ck = Σ_u (pairs of ratings c–k within unit u) / (m_u − 1), where m_u counts the ratings of u,
    n_c = Σ_k o_ck and n = Σ_c n_c: D_o = Σ o_ck δ²_ck / n and D_e = Σ n_c n_k δ²_ck / (n (n − 1)). Units with one
    rating say nothing and are left out. δ² is nominal (0 where equal, else 1), or ordinal where `order` names all the
    categories from the lowest to the highest. None where nothing was rated twice, or nothing varies.
    """
    coincidences = _coincidences(units)
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


def _coincidences(units: Iterable[Ratings]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for unit in units:
        ratings = list(unit.values())
        for first, second in combinations(ratings, 2):
            for pair in ((first, second), (second, first)):
                found[pair] = found.get(pair, 0.0) + 1 / (len(ratings) - 1)
    return found


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
