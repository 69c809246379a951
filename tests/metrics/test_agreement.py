"""Agreement of raters against published examples and against pairs counted one by one."""

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflection_app.metrics.statistics import cohens_kappa, difference, krippendorffs_alpha, percent_agreement, wilson

# Krippendorff 2011, section C: four observers, twelve units, some of them not rated by all.
FOUR_OBSERVERS = {
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}
# Section A: two observers, ten units, two categories. Section B: two observers, twelve units, five categories.
TWO_OF_TWO = {"Jon": "0 1 0 0 0 0 0 0 1 0", "Han": "1 1 1 0 0 1 0 0 0 0"}
TWO_OF_FIVE = {"Meg": "a a b b d c c c e d d a", "Owen": "b a b b b c c c e d d d"}


def units(table: dict[str, str]) -> list[dict[str, str]]:
    columns = {who: row.split() for who, row in table.items()}
    length = len(next(iter(columns.values())))
    return [{who: row[at] for who, row in columns.items() if row[at] != "."} for at in range(length)]


def pairs(table: list[list[int]]) -> list[tuple[str, str]]:
    """The ratings that a table of counts was made of."""
    return [
        (str(row), str(column))
        for row, counts in enumerate(table)
        for column, count in enumerate(counts)
        for _ in range(count)
    ]


@pytest.mark.parametrize(("table", "alpha"), [(FOUR_OBSERVERS, 0.743), (TWO_OF_TWO, 0.095), (TWO_OF_FIVE, 0.692)])
def test_nominal_alpha_is_that_of_the_paper(table: dict[str, str], alpha: float) -> None:
    assert krippendorffs_alpha(units(table)) == pytest.approx(alpha, abs=0.0005)


def test_ordinal_alpha_is_that_of_the_paper() -> None:
    assert krippendorffs_alpha(units(FOUR_OBSERVERS), order="12345") == pytest.approx(0.815, abs=0.0005)


def test_nothing_is_said_where_nothing_varies_or_nothing_was_rated_twice() -> None:
    always_the_same = [{"a": "PASS", "b": "PASS"}] * 3
    assert cohens_kappa([("PASS", "PASS")] * 3) is None
    assert krippendorffs_alpha(always_the_same) is None
    assert percent_agreement(always_the_same) == 1.0
    assert cohens_kappa([]) is None
    unrated: list[list[dict[str, str]]] = [[], [{"a": "PASS"}, {"b": "REJECT"}], [{}]]
    for nothing in unrated:
        assert krippendorffs_alpha(nothing) is None
        assert percent_agreement(nothing) is None


def test_verdicts_that_are_further_apart_count_more_where_they_are_ordered() -> None:
    order = ("REJECT", "REVISE", "PASS")
    same = [{"a": verdict, "b": verdict} for verdict in order for _ in range(4)]
    near = krippendorffs_alpha([*same, {"a": "PASS", "b": "REVISE"}], order=order)
    far = krippendorffs_alpha([*same, {"a": "PASS", "b": "REJECT"}], order=order)
    assert near is not None
    assert far is not None
    assert 0 < far < near < 1


RATERS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["PASS", "REVISE", "REJECT"]), max_size=4)


def by_counting(rated: list[dict[str, str]]) -> float | None:
    """Nominal α from its definition: how often pairs differ within units, and among all pairs of all ratings."""
    counted = [list(unit.values()) for unit in rated if len(unit) > 1]
    values = [value for unit in counted for value in unit]
    differing = sum(one != other for one, other in permutations(values, 2))
    if not differing:
        return None
    observed = sum(
        Fraction(sum(one != other for one, other in permutations(unit, 2)), len(unit) - 1) for unit in counted
    )
    return float(1 - (observed / len(values)) / Fraction(differing, len(values) * (len(values) - 1)))


@settings(max_examples=40)
@given(st.lists(RATERS, max_size=8))
def test_alpha_is_what_counting_every_pair_gives(rated: list[dict[str, str]]) -> None:
    expected = by_counting(rated)
    found = krippendorffs_alpha(rated)
    assert (found is None) == (expected is None)
    assert found == pytest.approx(expected, abs=1e-9) if expected is not None else True


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), max_size=12))
def test_kappa_is_what_counting_every_pair_gives(rated: list[tuple[str, str]]) -> None:
    total = len(rated)
    by_chance = sum(first == second for first, _ in rated for _, second in rated)
    found = cohens_kappa(rated)
    if not total or by_chance == total**2:
        assert found is None
        return
    observed, expected = Fraction(sum(a == b for a, b in rated), total), Fraction(by_chance, total**2)
    assert found == pytest.approx(float((observed - expected) / (1 - expected)))


# Intervals against published ones.


# Newcombe 1998, Stat. Med. 17:857, table I, method 3.
OF_SHARES = [
    ((81, 263), (0.2553, 0.3662)),
    ((0, 20), (0.0, 0.1611)),
]
# Newcombe 1998, Stat. Med. 17:873, table II, method 10.
OF_DIFFERENCES = [
    ((56, 70), (48, 80), 0.2000, (0.0524, 0.3339)),
    ((5, 56), (0, 29), 0.0893, (-0.0381, 0.1926)),
    ((0, 10), (0, 20), 0.0000, (-0.1611, 0.2775)),
    ((10, 10), (0, 20), 1.0000, (0.6791, 1.0000)),
]


@pytest.mark.parametrize(("counted", "bounds"), OF_SHARES)
def test_wilsons_interval_is_the_published_one(counted: tuple[int, int], bounds: tuple[float, float]) -> None:
    found = wilson(*counted)
    assert found is not None
    assert found.estimate == counted[0] / counted[1]
    assert (found.low, found.high) == pytest.approx(bounds, abs=5e-5)


@pytest.mark.parametrize(("first", "second", "estimate", "bounds"), OF_DIFFERENCES)
def test_newcombes_interval_is_the_published_one(
    first: tuple[int, int], second: tuple[int, int], estimate: float, bounds: tuple[float, float]
) -> None:
    ours = wilson(*first), wilson(*second)
    assert ours[0]
    assert ours[1]
    found = difference(ours[0], ours[1])
    assert found.estimate == pytest.approx(estimate, abs=5e-5)
    assert (found.low, found.high) == pytest.approx(bounds, abs=5e-5)
    assert found.has_zero is (bounds[0] <= 0 <= bounds[1])


def test_nothing_counted_has_no_interval() -> None:
    assert wilson(0, 0) is None


def test_counts_need_not_be_whole() -> None:
    whole, more, less = wilson(5, 10), wilson(5.25, 10.5), wilson(4.75, 9.5)
    assert whole
    assert more
    assert less
    assert less.low < whole.low < more.low < 0.5 < more.high < whole.high < less.high
