"""The change of a figure against the period before, and when it is called better or worse."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from reflection_app.metrics.definitions import Chosen, Figure, Spend, Sums, Unit, figure, figures_of
from reflection_app.metrics.views.charts import Cell, Chart, Mark, count_axis, share_axis
from reflection_app.metrics.views.choice import Links
from reflection_app.metrics.views.run_charts import tokens_chart
from reflection_app.metrics.views.words import change, figure_words, number_words, shown_figures


def share(successes: int, of: int) -> Figure:
    return figure("success_rate", successes / of, of)


def mean(value: float) -> Figure:
    return figure("avg_iterations_to_success", value, 10)


def test_a_change_beyond_chance_is_better_or_worse_by_the_figures_own_direction() -> None:
    found = change(share(90, 100), share(60, 100), better="up")
    assert found is not None
    assert (found.words, found.direction, found.verdict) == ("+30 points", "up", "good")
    assert found.sizes == "n = 100, previously 100"
    # Newcombe 1998, method 10, of 90/100 and 60/100: 0.1844 to 0.4074.
    assert found.note == "95 % interval of the change: +18 to +41 points"
    worse = change(share(90, 100), share(60, 100), better="down")
    assert worse is not None
    assert worse.verdict == "bad"


def test_a_change_that_may_be_chance_is_judged_as_nothing() -> None:
    found = change(share(8, 10), share(6, 10), better="up")
    assert found is not None
    assert (found.words, found.verdict) == ("+20 points", "plain")
    assert found.note.startswith("not significant yet")


@pytest.mark.parametrize(
    ("now", "before", "words", "verdict"),
    [
        (2.0, 1.0, "+100 %", "bad"),
        (1.05, 1.0, "+5 %", "plain"),
        (0.5, 1.0, "−50 %", "good"),
        (1.0, 1.0, "no change", "plain"),
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


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.996, Unit.SHARE, "99.6 %"),
        (12345.0, Unit.TOKENS, "12,345"),
        (1.914, Unit.MEAN, "1.91"),
        (10_500.0, Unit.MS, "10 s"),
        (14_040.0, Unit.SECONDS, "3 h 54 min"),
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


# Money of which some is not known is told as the least that it can be, and as unknown where nothing of it is.


def test_without_any_price_no_cost_is_told() -> None:
    figures = figures_of(Sums(succeeded=2, llm_calls=4, unpriced_calls=4, counted_unpriced_calls=4))
    for name in ("cost_usd", "cost_usd_per_success"):
        assert (figures[name].value, figures[name].is_at_least) == (None, True)
        assert figure_words(figures[name]) == "unknown"


def test_with_some_prices_it_is_the_least() -> None:
    cost = {"unpriced_calls": 1, "cost_usd": Decimal(4), "counted_unpriced_calls": 1, "counted_cost_usd": Decimal(3)}
    figures = figures_of(Sums(succeeded=2, llm_calls=4, **cost))
    assert (figures["cost_usd_per_success"].value, figures["cost_usd_per_success"].is_at_least) == (1.5, True)
    assert figure_words(figures["cost_usd_per_success"]) == "at least $1.50"
    # What is known in part of one time is nothing to compare another with.
    assert change(figures["cost_usd"], figures["cost_usd"], better="down") is None


def test_with_all_prices_and_with_calls_that_cost_nothing_it_is_the_sum() -> None:
    figures = figures_of(Sums(succeeded=2, llm_calls=4, cost_usd=Decimal(3)))
    assert (figures["cost_usd"].value, figures["cost_usd"].is_at_least) == (3, False)
    free = figures_of(Sums(succeeded=2, llm_calls=4))
    assert (free["cost_usd"].value, figure_words(free["cost_usd"])) == (0, "$0")


# What the axes of charts say.


def test_of_few_things_an_axis_names_each_whole_number_once() -> None:
    axis = count_axis("runs", [Mark("a", 2.0), Mark("b", None), Mark("c", 5.0)])
    assert axis["dtick"] == 1
    assert axis["title"] == {"text": "runs"}


@pytest.mark.parametrize(
    ("shares", "told", "low", "high"),
    [
        ([0.72, 0.88], "60–100 % shown", 0.59, 1.01),
        ([0.0, 0.02], "0–30 % shown", 0.0, 0.31),
        ([0.97, None], "70–100 % shown", 0.69, 1.01),
        ([0.0, 1.0], "", 0.0, 1.02),
        ([None], "", 0.0, 1.02),
    ],
)
def test_an_axis_of_shares_fits_them_and_says_what_it_leaves_out(
    shares: list[float | None], told: str, low: float, high: float
) -> None:
    axis = share_axis(shares)
    assert axis.get("title", {"text": ""})["text"] == told
    assert axis["range"] == pytest.approx([low, high], abs=0.01)


def test_one_point_is_no_chart_but_its_figures() -> None:
    rows = ((Cell("2026-01-01"), Cell("92 %", "/runs/")),)
    chart = Chart(name="success", title="Success", columns=("From", "Share"), rows=rows)
    assert chart.lone == [("From", Cell("2026-01-01")), ("Share", Cell("92 %", "/runs/"))]
    assert Chart(name="success", title="Success", columns=("From", "Share"), rows=rows * 2).lone == []


def test_roles_in_one_chart_are_told_apart_by_their_colour() -> None:
    roles = ("actor", "planner", "critic", "completeness", "reflector", "classifier", "tester", "diagnoser")
    took = {"model": "model", "calls": 1, "completion_tokens": 1, "cost_usd": Decimal(0)}
    spend = [Spend(role=role, prompt_tokens=100 - number, **took) for number, role in enumerate(roles)]  # type: ignore[arg-type]
    chosen = Chosen(since=datetime(2026, 1, 1, tzinfo=UTC), until=datetime(2026, 1, 2, tzinfo=UTC))
    data = tokens_chart(spend, Links("team", chosen)).figure["data"]
    assert len({trace["meta"]["tone"] for trace in data}) == len(roles)
