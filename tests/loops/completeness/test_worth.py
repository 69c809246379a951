"""Which supplements are worth their price, by what a history tells."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.completeness.checks import CheckState, Completeness, CompletenessSettings, Supplement
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.loops.completeness.estimates import (
    Basis,
    CompletedBefore,
    CostsBefore,
    Histories,
    Measure,
    Spread,
    SupplementHistory,
)
from reflection_app.loops.completeness.worth import Left, estimate_of, weighed
from reflection_app.metrics.statistics import wilson

USUAL = CompletenessSettings()
NONE_KNOWN = SupplementHistory()


def costs(tokens: float, usd: str | None = None, *, count: int = 10, basis: Basis = Basis.KIND) -> CostsBefore:
    money = None if usd is None else Spread[Decimal](low=Decimal(usd), middle=Decimal(usd), high=Decimal(usd))
    spread = Spread[float](low=tokens, middle=tokens, high=tokens)
    return CostsBefore(basis=basis, count=count, tokens=spread, cost_usd=money)


def turned(completed: int, runs: int, *, basis: Basis = Basis.KIND) -> CompletedBefore:
    interval = wilson(completed, runs)
    assert interval is not None
    return CompletedBefore(basis=basis, runs=runs, completed=completed, low=interval.low, high=interval.high)


def known(tokens: float, usd: str | None, completed: int, runs: int) -> SupplementHistory:
    return SupplementHistory(costs=(costs(tokens, usd),), completed=(turned(completed, runs),))


def weigh(*histories: SupplementHistory, left: Left | None = None, **settings: Any) -> Completeness:
    """What is left of supplements `a`, `b`, `c` … with these histories."""
    names = "abcdefghij"[: len(histories)]
    found = Completeness(state=CheckState.INCOMPLETE, supplements=tuple(Supplement(operation=one) for one in names))
    chosen = CompletenessSettings(**({"max_supplements": 20} | settings))
    return weighed(found, histories=Histories(supplements=histories), settings=chosen, left=left or Left())


def kept(found: Completeness) -> str:
    return "".join(one.operation for one in found.supplements)


def left_out(found: Completeness) -> dict[str, DropCode | None]:
    return {one.operation: one.code for one in found.dropped}


def test_the_most_worth_for_its_money_comes_first_and_only_then_is_it_counted_how_many() -> None:
    histories = (known(500, "0.10", 8, 10), known(500, "0.01", 5, 10), known(500, "0.02", 9, 10))
    found = weigh(*histories)
    assert (kept(found), found.ordered_by) == ("bca", Measure.USD)
    found = weigh(*histories, max_supplements=2)
    assert kept(found) == "bc", "the first that the model named is the dearest for what it brings"
    [dropped] = found.dropped
    assert (dropped.code, dropped.parameters, dropped.is_open) == (DropCode.TOO_MANY, {"most": 2}, True)
    assert dropped.estimate is not None


def test_a_price_that_is_not_known_is_not_taken_for_free_and_tokens_decide() -> None:
    found = weigh(known(100, "0.50", 5, 10), known(9_000, None, 5, 10))
    assert (kept(found), found.ordered_by) == ("ab", Measure.TOKENS)


def test_models_that_are_free_are_ordered_by_their_tokens() -> None:
    found = weigh(known(900, "0", 5, 10), known(100, "0", 5, 10))
    assert (kept(found), found.ordered_by) == ("ba", Measure.TOKENS)


def test_one_of_which_nothing_is_known_counts_as_the_dearest() -> None:
    found = weigh(NONE_KNOWN, known(100, "0.01", 5, 10), known(100, "0.09", 5, 10))
    assert kept(found) == "bac"


def test_without_any_history_the_models_order_stands_with_a_worth_of_a_half() -> None:
    found = weigh(NONE_KNOWN, NONE_KNOWN)
    assert (kept(found), found.ordered_by) == ("ab", Measure.WORTH)
    estimate = found.supplements[0].estimate
    assert estimate is not None
    assert (estimate.worth, estimate.worth_low, estimate.worth_high, estimate.tokens) == (0.5, 0, 1, None)
    assert estimate.cost_basis is estimate.worth_basis is Basis.NOTHING
    assert kept(weighed(found, histories=Histories(), settings=USUAL, left=Left())) == "ab", "nobody looked"


@pytest.mark.parametrize(
    ("completed", "runs", "is_kept"), [(0, 3, True), (0, 40, False), (1, 10, True), (10, 100, False), (25, 100, True)]
)
def test_it_is_dropped_below_the_line_only_where_its_history_leaves_no_doubt(
    completed: int, runs: int, is_kept: bool
) -> None:
    found = weigh(known(100, "0.01", completed, runs), least_worth=0.2)
    assert bool(found.supplements) is is_kept
    if not is_kept:
        [dropped] = found.dropped
        assert (dropped.code, dropped.parameters["runs"]) == (DropCode.BELOW_WORTH, runs)
        assert dropped.parameters["least"] == 0.2


def test_it_is_dropped_where_a_run_that_it_completes_costs_too_much() -> None:
    told = (known(100, "0.02", 20, 100), known(100, "0.02", 90, 100), NONE_KNOWN)
    found = weigh(*told, max_cost_per_completed_usd="0.05")
    assert set(kept(found)) == set("bc")
    [dropped] = found.dropped
    assert dropped.code is DropCode.TOO_DEAR
    assert (
        Decimal(str(dropped.parameters["cost_usd"])) > Decimal("0.05") == Decimal(str(dropped.parameters["most_usd"]))
    )


@pytest.mark.parametrize("limit", [{"max_cost_usd": "1"}, {"max_cost_per_completed_usd": "1"}])
def test_without_a_known_price_nothing_is_carried_out_under_a_limit_of_money(limit: dict[str, Any]) -> None:
    unpriced = Left(is_priced=False, check_usd=Decimal(1))
    found = weigh(known(100, None, 9, 10), NONE_KNOWN, left=unpriced, **limit)
    assert left_out(found) == {"a": DropCode.PRICE_UNKNOWN, "b": DropCode.PRICE_UNKNOWN}
    assert kept(weigh(known(100, None, 9, 10), left=Left(is_priced=False))) == "a", "no limit of money has to be kept"


def test_a_history_without_prices_is_priced_by_what_this_run_pays_for_its_tokens() -> None:
    found = weigh(known(1_000, None, 9, 10), left=Left(usd_per_token=Decimal("0.00001")))
    estimate = found.supplements[0].estimate
    assert estimate is not None
    assert estimate.cost_usd is not None
    assert (estimate.cost_usd.middle, estimate.by_tokens) == (Decimal("0.01"), True)
    assert found.ordered_by is Measure.USD


def test_what_does_not_fit_is_left_out_and_what_is_cheaper_still_fits() -> None:
    histories = (known(100, "0.03", 9, 10), known(100, "0.05", 9, 10), known(100, "0.02", 1, 10))
    found = weigh(*histories, left=Left(check_usd=Decimal("0.06")))
    assert (kept(found), left_out(found)) == ("ac", {"b": DropCode.OVER_CHECK_MONEY})
    [dropped] = found.dropped
    assert dropped.parameters == {"cost_usd": "0.05", "left_usd": "0.03"}


@pytest.mark.parametrize(
    ("left", "code"),
    [
        (Left(check_usd=Decimal(0)), DropCode.OVER_CHECK_MONEY),
        (Left(cost_usd=Decimal("0.001")), DropCode.OVER_RUN_MONEY),
        (Left(tokens=99), DropCode.OVER_RUN_TOKENS),
        (Left(seconds=0.0), DropCode.OVER_RUN_TIME),
    ],
)
def test_each_budget_that_is_left_is_named(left: Left, code: DropCode) -> None:
    assert left_out(weigh(known(100, "0.01", 9, 10), left=left)) == {"a": code}
    empty = Left(tokens=0, cost_usd=Decimal(0))
    assert left_out(weigh(NONE_KNOWN, left=empty)) == {"a": DropCode.OVER_RUN_MONEY}, "nothing fits into nothing"


def test_the_nearest_basis_with_enough_comes_first_and_else_the_one_with_most() -> None:
    few = SupplementHistory(
        costs=(costs(1, count=2, basis=Basis.SAME), costs(2, count=4, basis=Basis.KIND)),
        completed=(turned(2, 2, basis=Basis.SAME), turned(3, 4, basis=Basis.KIND)),
    )
    estimate = estimate_of(few)
    assert (estimate.cost_basis, estimate.cost_count, estimate.worth_basis) == (Basis.KIND, 4, Basis.KIND)
    assert estimate.worth == pytest.approx(4 / 6)
    enough = few.model_copy(update={"costs": (costs(1, count=5, basis=Basis.SAME), costs(2, count=90))})
    assert estimate_of(enough).cost_basis is Basis.SAME


def test_what_journals_of_old_say_in_a_sentence_is_read_as_its_code() -> None:
    old = {"operation": "x", "why": "There is no tool 'fax' on the list.", "is_open": False}
    assert Dropped.model_validate(old).model_dump(include={"code", "parameters", "why"}) == {
        "code": DropCode.UNKNOWN_TOOL,
        "parameters": {"name": "fax"},
        "why": "",
    }
    counted = Dropped.model_validate({"operation": "x", "why": "Only the first 3 are carried out."})
    assert (counted.code, counted.parameters) == (DropCode.TOO_MANY, {"most": 3})
    unknown = Dropped.model_validate({"operation": "x", "why": "Somebody else's reason."})
    assert (unknown.code, unknown.why) == (None, "Somebody else's reason.")


numbers = st.integers(0, 20)
histories = st.one_of(
    st.just(NONE_KNOWN),
    st.builds(
        lambda tokens, usd, runs, share: known(tokens, usd, round(share * runs), runs),
        st.integers(0, 100_000),
        st.sampled_from([None, "0", "0.001", "0.5", "12"]),
        st.integers(1, 200),
        st.floats(0, 1),
    ),
)


@given(
    st.lists(histories, max_size=8),
    st.integers(0, 5),
    st.none() | st.integers(0, 50_000),
    st.none() | st.sampled_from([Decimal(0), Decimal("0.01"), Decimal(5)]),
    st.booleans(),
)
def test_nothing_is_lost_and_what_is_kept_fits(
    told: list[SupplementHistory], most: int, tokens: int | None, usd: Decimal | None, is_priced: bool
) -> None:
    left = Left(tokens=tokens, check_usd=usd, is_priced=is_priced)
    found = weigh(*told, left=left, max_supplements=most, max_cost_usd=None if usd is None else "5")
    assert sorted([*kept(found), *left_out(found)]) == sorted("abcdefghij"[: len(told)])
    assert len(found.supplements) <= most
    estimates = [one.estimate for one in found.supplements if one.estimate]
    if tokens is not None:
        assert sum(one.tokens.middle for one in estimates if one.tokens) <= tokens
    if usd is not None:
        assert sum(one.cost_usd.middle for one in estimates if one.cost_usd) <= usd
    if usd is not None and not is_priced:
        assert not found.supplements
