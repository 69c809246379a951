"""Intervals against published ones."""

import pytest

from reflection_app.metrics.statistics import difference, wilson

# Newcombe 1998, Stat. Med. 17:857, table I, method 3.
OF_SHARES = [
    ((81, 263), (0.2553, 0.3662)),
    ((15, 148), (0.0624, 0.1605)),
    ((0, 20), (0.0, 0.1611)),
    ((1, 29), (0.0061, 0.1718)),
]
# Newcombe 1998, Stat. Med. 17:873, table II, method 10.
OF_DIFFERENCES = [
    ((56, 70), (48, 80), 0.2000, (0.0524, 0.3339)),
    ((9, 10), (3, 10), 0.6000, (0.1705, 0.8090)),
    ((5, 56), (0, 29), 0.0893, (-0.0381, 0.1926)),
    ((0, 10), (0, 20), 0.0000, (-0.1611, 0.2775)),
    ((10, 10), (0, 10), 1.0000, (0.6075, 1.0000)),
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
    assert ours[0] is not None
    assert ours[1] is not None
    found = difference(ours[0], ours[1])
    assert found.estimate == pytest.approx(estimate, abs=5e-5)
    assert (found.low, found.high) == pytest.approx(bounds, abs=5e-5)
    assert found.has_zero is (bounds[0] <= 0 <= bounds[1])


def test_nothing_counted_has_no_interval() -> None:
    assert wilson(0, 0) is None


def test_counts_need_not_be_whole() -> None:
    whole, more, less = wilson(5, 10), wilson(5.25, 10.5), wilson(4.75, 9.5)
    assert whole is not None
    assert more is not None
    assert less is not None
    assert less.low < whole.low < more.low < 0.5 < more.high < whole.high < less.high
