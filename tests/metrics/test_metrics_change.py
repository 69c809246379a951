"""The change of a figure against the period before, and when it is called better or worse."""

import pytest

from reflection_app.metrics.definitions import Figure, Unit, figure
from reflection_app.metrics.views.words import change, number_words, shown_figures


def share(successes: int, of: int) -> Figure:
    return figure("success_rate", successes / of, of)


def mean(value: float) -> Figure:
    return figure("avg_iterations_to_success", value, 10)


def test_a_change_beyond_chance_is_better_or_worse_by_the_figures_own_direction() -> None:
    found = change(share(90, 100), share(60, 100), better="up")
    assert found is not None
    assert (found.words, found.direction, found.verdict) == ("+30 points", "up", "good")
    # Newcombe 1998, method 10, of 90/100 and 60/100: 0.1844 to 0.4074.
    assert found.note == "95 % interval of the change: +18 to +41 points"
    worse = change(share(90, 100), share(60, 100), better="down")
    assert worse is not None
    assert worse.verdict == "bad"


def test_a_change_that_may_be_chance_is_judged_as_nothing() -> None:
    found = change(share(8, 10), share(6, 10), better="up")
    assert found is not None
    assert (found.words, found.verdict) == ("+20 points", "plain")
    assert found.note.startswith("may be chance")


@pytest.mark.parametrize(
    ("now", "before", "words", "verdict"),
    [
        (2.0, 1.0, "+100 %", "bad"),
        (1.05, 1.0, "+5 %", "plain"),
        (0.5, 1.0, "−50 %", "good"),
        (1.0, 1.0, "as before", "plain"),
    ],
)
def test_a_mean_changes_by_its_part(now: float, before: float, words: str, verdict: str) -> None:
    found = change(mean(now), mean(before), better="down")
    assert found is not None
    assert (found.words, found.verdict) == (words, verdict)


def test_without_a_number_before_there_is_no_change() -> None:
    nothing = figure("success_rate", None, 0)
    assert change(share(10, 20), nothing, better="up") is None
    assert change(share(10, 20), None, better="up") is None
    assert change(mean(1.0), mean(0.0), better="up") is None


@pytest.mark.parametrize(("now", "before"), [(100, 9), (9, 100), (1, 1)])
def test_a_period_of_fewer_than_ten_is_not_compared(now: int, before: int) -> None:
    assert change(share(1, now), share(1, before), better="up") is None
    assert (
        change(Figure("cost_usd", 1.0, Unit.USD, of=now), Figure("cost_usd", 9.0, Unit.USD, of=before), better="")
        is None
    )


def test_a_change_says_of_how_many_each_period_is() -> None:
    found = change(share(90, 1_000), share(60, 100), better="up")
    assert found is not None
    assert found.sizes == "n = 1,000, before 100"


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.996, Unit.SHARE, "99.6 %"),
        (0.004, Unit.SHARE, "0.4 %"),
        (1.0, Unit.SHARE, "100 %"),
        (12345.0, Unit.TOKENS, "12,345"),
        (1.914, Unit.MEAN, "1.91"),
        (10_500.0, Unit.MS, "10 s"),
        (0.2, Unit.SECONDS, "< 1 s"),
        (14_040.0, Unit.SECONDS, "3 h 54 min"),
        (302_400.0, Unit.SECONDS, "3.5 d"),
        (0.0042, Unit.USD, "$0.0042"),
        (None, Unit.USD, "–"),
    ],
)
def test_numbers_are_written_with_their_units(value: float | None, unit: Unit, words: str) -> None:
    assert number_words(value, unit) == words


@pytest.mark.parametrize(
    ("unit", "value", "leads"), [(Unit.USD, 0.0, False), (Unit.USD, 0.1, True), (Unit.SHARE, 0.0, True)]
)
def test_a_cost_of_nothing_leads_nowhere_and_a_share_of_nothing_to_its_whole(
    unit: Unit, value: float, leads: bool
) -> None:
    figure = Figure(name="cost_usd", value=value, unit=unit, of=3)
    [shown] = shown_figures(["cost_usd"], {"cost_usd": figure}, {}, lambda _name: "/runs")
    assert bool(shown.href) is leads
