"""Money of which some is not known is told as the least that it can be, and as unknown where nothing of it is."""

from decimal import Decimal

from reflection_app.metrics.definitions import Sums, figures_of
from reflection_app.metrics.views.words import change, figure_words


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


def test_tokens_and_shares_are_never_marked() -> None:
    figures = figures_of(Sums(runs=2, succeeded=2, llm_calls=4, unpriced_calls=4, prompt_tokens=9))
    assert not any(figure.is_at_least for name, figure in figures.items() if not name.startswith("cost"))
