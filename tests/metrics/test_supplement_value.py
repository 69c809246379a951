import pytest

from reflection_app.metrics.completeness_figures import FEWEST_RUNS, Side, SupplementValue, Worth


def value(done: tuple[int, int], others: tuple[int, int], *, tokens_each: int = 100, per_run: int = 1_000) -> Worth:
    return SupplementValue(
        done=Side(*done), others=Side(*others), tokens=tokens_each * done[0], tokens_per_run=per_run
    ).worth


@pytest.mark.parametrize(
    ("done", "others", "worth"),
    [
        ((10, 9), (10, 5), Worth.WORTH_IT),
        ((10, 5), (10, 5), Worth.COSTS_MORE),
        ((10, 4), (10, 5), Worth.COSTS_MORE),
        ((100, 54), (100, 50), Worth.COSTS_MORE),
        ((100, 55), (100, 50), Worth.WORTH_IT),
        ((FEWEST_RUNS - 1, 4), (100, 0), Worth.TOO_FEW),
        ((100, 100), (FEWEST_RUNS - 1, 0), Worth.TOO_FEW),
        ((FEWEST_RUNS, 5), (FEWEST_RUNS, 0), Worth.WORTH_IT),
        ((0, 0), (0, 0), Worth.TOO_FEW),
    ],
)
def test_the_word_follows_from_successes_and_from_how_many_runs_there_are(
    done: tuple[int, int], others: tuple[int, int], worth: Worth
) -> None:
    assert value(done, others) is worth


def test_a_success_more_may_cost_a_few_runs_and_not_more() -> None:
    assert value((10, 6), (10, 5), tokens_each=300, per_run=1_000) is Worth.WORTH_IT
    assert value((10, 6), (10, 5), tokens_each=301, per_run=1_000) is Worth.COSTS_MORE


def test_shares_of_nothing_are_none() -> None:
    assert SupplementValue(done=Side(), others=Side()).gain is None
    assert SupplementValue(done=Side(3, 3), others=Side()).gain is None
