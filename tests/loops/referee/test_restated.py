from typing import Any

import pytest

from reflection_app.loops.referee.answers import are_restated


@pytest.mark.parametrize(
    "pairs",
    [
        [([1, 2], [2, 1]), ([3, 1], [1, 3])],
        [([1, 2], (1, 2)), ([1], (1,))],
        [([20.1, 50.0], [20.1, 0.5]), ([0.0, 25.0], [0.0, 0.25])],
        [(True, False), (False, True)],
        [(3, -3), (4, -4)],
        [(188.49555, 188.5), (47.1238, 47.12)],
        [(5, "5"), (7, "7")],
    ],
)
def test_another_form_of_the_same_answers_is_seen(pairs: list[tuple[Any, Any]]) -> None:
    assert are_restated(pairs)


@pytest.mark.parametrize(
    "pairs",
    [
        [([1, 2], [2, 1])],
        [(True, False), (True, False)],
        [(4, 0), (2, 0), (8, 0)],
        [([1, 2], [2, 1]), ([1], (2,))],
        [(1, 10), (2, 30)],
        [([], [1]), ([], [2])],
        [("ab", "ba"), ("c", "d")],
        [(10**400, 1.5), (1, 2)],
        [(float("nan"), 1.0), (1.0, 2.0)],
    ],
)
def test_other_answers_are_no_other_form(pairs: list[tuple[Any, Any]]) -> None:
    assert not are_restated(pairs)
