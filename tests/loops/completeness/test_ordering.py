"""Supplements are ordered by the record of their tools, within their number and the money limit."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.completeness.asking import ordered
from reflection_app.loops.completeness.checks import CheckState, Completeness, CompletenessSettings, Supplement
from reflection_app.loops.completeness.dropped import DropCode
from reflection_app.loops.completeness.records import Records, SupplementRecord


def known(completed: int, runs: int, tokens: float = 100) -> SupplementRecord:
    return SupplementRecord(runs=runs, completed=completed, tokens=tokens)


def order(
    *records: SupplementRecord | None, left_usd: str | None = None, cost_known: bool = True, **settings: Any
) -> Completeness:
    """Supplements `a`, `b`, `c` … with these records, ordered."""
    found = Completeness(
        state=CheckState.INCOMPLETE,
        supplements=tuple(Supplement(operation=one) for one in "abcdefghij"[: len(records)]),
        cost_known=cost_known,
    )
    chosen = CompletenessSettings(**({"max_supplements": 20} | settings))
    return ordered(found, records, settings=chosen, left_usd=None if left_usd is None else Decimal(left_usd))


def kept(found: Completeness) -> str:
    return "".join(one.operation for one in found.supplements)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((known(1, 10), known(9, 10), known(5, 10)), "bca"),
        ((known(5, 10, tokens=900), known(5, 10, tokens=100)), "ba"),
        ((known(8, 10, tokens=1_000), known(4, 10, tokens=100)), "ba"),
        # Few runs are drawn toward one half.
        ((known(1, 1), known(90, 100)), "ba"),
        # Without a record: every second run, at the cost of the dearest.
        ((None, known(9, 10), known(1, 10)), "bac"),
        ((None, None), "ab"),
    ],
)
def test_the_most_completed_runs_for_their_tokens_come_first(
    records: tuple[SupplementRecord | None, ...], expected: str
) -> None:
    found = order(*records)
    assert kept(found) == expected
    assert {one.operation: one.record for one in found.supplements} == dict(zip("abc", records, strict=False))


def test_what_is_over_the_number_is_left_out_from_the_end() -> None:
    found = order(known(1, 10), known(9, 10), known(5, 10), max_supplements=2)
    assert kept(found) == "bc"
    [dropped] = found.dropped
    assert (dropped.operation, dropped.code, dropped.parameters, dropped.is_open) == (
        "a",
        DropCode.TOO_MANY,
        {"most": 2},
        True,
    )


@pytest.mark.parametrize(
    ("left_usd", "cost_known", "code"),
    [
        ("0.01", True, None),
        ("0", True, DropCode.MONEY_SPENT),
        ("-0.01", True, DropCode.MONEY_SPENT),
        ("0.01", False, DropCode.PRICE_UNKNOWN),
        (None, False, None),
    ],
)
def test_nothing_is_carried_out_where_the_money_limit_is_used_up_or_cannot_be_kept(
    left_usd: str | None, cost_known: bool, code: DropCode | None
) -> None:
    found = order(known(9, 10), None, left_usd=left_usd, cost_known=cost_known)
    assert kept(found) == ("" if code else "ab")
    assert {one.code for one in found.dropped} == ({code} if code else set())
    assert all(one.is_open for one in found.dropped)


def test_a_journal_with_estimates_is_read() -> None:
    spread = {"low": 1.0, "middle": 2.0, "high": 3.0}
    history = {"costs": [{"basis": "same", "count": 3, "tokens": spread}], "completed": []}
    assert Records.model_validate({"supplements": [history, {"costs": [], "completed": []}]}) == Records()
    estimate = {"worth": 0.7, "tokens": spread, "cost_basis": "same"}
    recorded = {
        "state": "incomplete",
        "ordered_by": "usd",
        "supplements": [{"operation": "a", "estimate": estimate}],
        "dropped": [{"operation": "b", "code": "below_worth", "parameters": {"worth": 0.1}, "estimate": estimate}],
    }
    found = Completeness.model_validate(recorded)
    assert (kept(found), found.supplements[0].record, found.dropped[0].code) == ("a", None, DropCode.MONEY_SPENT)
    assert Completeness.model_validate(found.model_dump(mode="json")) == found


@given(
    st.lists(
        st.none()
        | st.builds(
            lambda runs, share, tokens: known(round(share * runs), runs, tokens),
            st.integers(1, 200),
            st.floats(0, 1),
            st.floats(0, 100_000),
        ),
        max_size=8,
    ),
    st.integers(0, 5),
)
def test_nothing_is_lost(records: list[SupplementRecord | None], most: int) -> None:
    found = order(*records, max_supplements=most)
    assert len(found.supplements) == min(most, len(records))
    assert sorted([*kept(found), *(one.operation for one in found.dropped)]) == list("abcdefgh"[: len(records)])
