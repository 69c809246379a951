"""What checks cost and bought, and how true the estimates were."""

from decimal import Decimal

import pytest

from reflection_app.loops.completeness.dropped import DropCode
from reflection_app.loops.completeness.estimates import Estimate, Spread
from reflection_app.metrics.worth_figures import (
    Bought,
    Compared,
    LeftOut,
    Spending,
    accuracy,
    accuracy_of,
    bought,
    left_out,
)
from reflection_app.repairs.models import CompletenessCheck
from tests.factories import make_project
from tests.repairs.past_supplements import past_supplement


def found_of(usd: tuple[str, str, str], *, supplied: int, completed: int, is_known: bool = True) -> Bought:
    checks, supplements, looks = (Spending(1_000, Decimal(one), is_known=is_known) for one in usd)
    return Bought(checks, supplements=supplements, second_looks=looks, supplied=supplied, completed=completed)


def test_a_completed_run_costs_all_that_was_spent_for_each_with_the_interval_of_the_share() -> None:
    found = found_of(("0.10", "0.80", "0.10"), supplied=10, completed=5)
    assert found.share is not None
    assert (round(found.share.low, 3), round(found.share.high, 3)) == (0.237, 0.763)
    each = found.cost_each_usd
    assert each is not None
    assert each.high is not None
    assert (each.middle, round(each.low, 3), round(each.high, 3)) == (0.2, 0.131, 0.423)
    assert found.tokens_each is not None
    assert found.tokens_each.middle == 600


def test_no_cost_is_told_of_a_run_that_was_not_completed_or_has_no_price() -> None:
    assert found_of(("1", "1", "1"), supplied=4, completed=0).cost_each_usd is None
    unpriced = found_of(("1", "1", "1"), supplied=4, completed=2, is_known=False)
    assert unpriced.cost_each_usd is None
    assert unpriced.tokens_each is not None
    assert not unpriced.total.is_known


def estimate(tokens: float, worth: float = 0.5) -> Estimate:
    return Estimate(tokens=Spread[float](low=tokens / 2, middle=tokens, high=tokens * 1.5), worth=worth)


def test_estimates_are_compared_with_what_they_came_to() -> None:
    came_to = [100, 200, 200, 400, 1_000]
    found = accuracy([Compared(estimate(200, 0.6), tokens=tokens, completed=tokens < 300) for tokens in came_to])
    assert found is not None
    assert (found.ratio, found.ratio_low, found.ratio_high, found.inside) == (1, 1, 2, 0.6)
    assert (found.worth, found.completed.estimate) == (0.6, 0.6)


def test_too_few_estimates_say_nothing() -> None:
    assert accuracy([Compared(estimate(200), tokens=100, completed=True)] * 4) is None
    assert accuracy([Compared(Estimate(), tokens=100, completed=True)] * 50) is None


@pytest.mark.django_db
def test_the_rows_are_summed_with_second_looks_apart_and_by_project() -> None:
    project = make_project("sums")
    for completed in (True, True, False):
        past_supplement(project, completed=completed, estimate=estimate(1_000).model_dump(mode="json"))
    past_supplement(make_project("elsewhere"))
    check = CompletenessCheck.objects.filter(project=project)[0]
    CompletenessCheck.objects.filter(pk=check.pk).update(
        tokens=70, cost_usd=Decimal("0.01"), second_tokens=60, second_cost_usd=Decimal("0.02")
    )
    found = bought(project.pk)
    assert (found.checks, found.second_looks) == (Spending(70, Decimal("0.01")), Spending(60, Decimal("0.02")))
    assert found.supplements == Spending(3_000, Decimal("0.006"))
    assert (found.supplied, found.completed, found.total.tokens) == (3, 2, 3_130)
    assert accuracy_of(project.pk) is None, "three are too few"
    past_supplement(project, cost_known=False)
    assert (bought(project.pk).supplements.is_known, bought(project.pk).checks.is_known) == (False, True)


@pytest.mark.django_db
def test_reasons_are_counted_those_of_old_and_those_of_supplements_that_were_not_begun_among_them() -> None:
    project = make_project("reasons")
    one = past_supplement(project)
    CompletenessCheck.objects.filter(pk=one.completeness_check_id).update(
        dropped=[
            {"operation": "a", "why": "It was suggested twice."},
            {"operation": "b", "code": "twice", "parameters": {}, "why": ""},
            {"operation": "c", "code": "below_worth", "parameters": {}},
            {"operation": "d", "code": "of another version", "parameters": {}},
            {"operation": "e", "why": "Nobody knows."},
        ]
    )
    past_supplement(project, left_out="money_spent", attempted=False, tokens=0)
    assert left_out(project.pk) == [
        LeftOut(DropCode.TWICE, 2),
        LeftOut(DropCode.BELOW_WORTH, 1),
        LeftOut(DropCode.MONEY_SPENT, 1),
    ]
    assert [one.by_worth for one in left_out(project.pk)] == [False, True, True]
