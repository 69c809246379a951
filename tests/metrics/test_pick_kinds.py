"""What a kind of pick is worth is counted by problem and told of each from the others."""

import pytest

from reflection_app.metrics.referees import PRIOR_PROBLEMS, Picked, held_out, kinds_of
from reflection_app.metrics.statistics import wilson


def picked(problem: str, *, right: bool, rival: bool | None = None, stated: float = 0.35, because: str = "x") -> Picked:
    return Picked(
        problem=problem,
        because=because,
        stated=stated,
        is_right=right,
        rival_is_right=right if rival is None else rival,
    )


def test_runs_of_one_problem_count_as_one() -> None:
    runs = [picked("a", right=True)] * 50 + [picked("b", right=False), picked("c", right=False)]
    (kind,) = kinds_of(runs)
    assert (kind.runs, kind.problems, kind.right) == (52, 3, 50)
    by_problem = wilson(1, 3)
    assert by_problem is not None
    assert (kind.low, kind.high) == (round(by_problem.low, 4), round(by_problem.high, 4))


def test_a_problem_has_no_say_in_its_own_confidence_and_few_problems_say_little() -> None:
    shares = held_out([picked("a", right=True), picked("b", right=True), picked("c", right=False)])
    half = PRIOR_PROBLEMS / 2
    assert shares == {
        "a": pytest.approx((half + 1) / (PRIOR_PROBLEMS + 2)),
        "b": pytest.approx((half + 1) / (PRIOR_PROBLEMS + 2)),
        "c": pytest.approx((half + 2) / (PRIOR_PROBLEMS + 2)),
    }
    assert held_out([picked("a", right=True)]) == {"a": 0.5}


def test_kinds_of_one_confidence_are_told_from_all_of_them_together() -> None:
    runs = [picked(str(number), right=True, because="x") for number in range(30)]
    _, other = kinds_of([*runs, picked("last", right=False, because="y")])
    assert (other.because, other.held_out) == ("y", 0.75)
    assert [kind.stated for kind in kinds_of([*runs, picked("a", right=True, stated=0.9)])] == [0.9, 0.35]


@pytest.mark.parametrize(
    ("gained", "lost", "pays"), [(0, 0, False), (6, 1, False), (4, 0, False), (5, 0, True), (12, 2, True)]
)
def test_switching_pays_where_the_gain_is_beyond_chance_without_any_one_problem(
    gained: int, lost: int, pays: bool
) -> None:
    better = [picked(f"better {number}", right=False, rival=True) for number in range(gained)]
    worse = [picked(f"worse {number}", right=True, rival=False) for number in range(lost)]
    (kind,) = kinds_of([*better, *worse, picked("alike", right=True)])
    assert (kind.gained, kind.lost, kind.pays) == (gained, lost, pays)


def test_what_one_problem_gains_twice_and_loses_once_is_one_gain() -> None:
    runs = [picked("a", right=False, rival=True)] * 2 + [picked("a", right=True, rival=False)]
    (kind,) = kinds_of(runs)
    assert (kind.gained, kind.lost) == (1, 0)
