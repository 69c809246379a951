"""Whether one attempt gives another's answers in another form.

Where tests and code part over a form (ascending or descending, a share or a percentage, yes or no, rounded or not),
they agree on the matter, and the prompt has to settle the form: a rewrite that takes the tests' side has not mended a
fault, it has changed sides.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from reflection_app.loops.referee.plain_values import is_number, leaves

Pair = tuple[Any, Any]
FACTORS = (-1, 10, 100, 1000)
MOST_PLACES = 6
FEWEST_PAIRS = 2


def are_restated(pairs: Sequence[Pair]) -> bool:
    """Whether every new answer is the old one in another form, the same change of form for all of them.

    One pair is too few: 1 and 10 may be anything.
    """
    if len(pairs) < FEWEST_PAIRS:
        return False
    return _are_negated(pairs) or any(all(form(old, new) for old, new in pairs) for form in FORMS)


def _are_negated(pairs: Sequence[Pair]) -> bool:
    """True for False throughout. Code that always gave the same has not answered, so its opposite restates nothing."""
    booleans = all(isinstance(old, bool) and isinstance(new, bool) and old is not new for old, new in pairs)
    return booleans and len({old for old, _ in pairs}) == 2


def _is_reordered(old: Any, new: Any) -> bool:
    """The same parts in another order or another kind of container."""
    kinds = (list, tuple, set, frozenset)
    if not (isinstance(old, kinds) and isinstance(new, kinds)) or len(old) != len(new):
        return False
    return sorted(map(repr, old)) == sorted(map(repr, new))


def _is_rescaled(factor: int) -> Callable[[Any, Any], bool]:
    def is_rescaled(old: Any, new: Any) -> bool:
        """Every number as it was or changed by the factor."""
        numbers = _numbers_of(old, new)
        return numbers is not None and all(
            _is_close(left, right) or _is_close(left * factor, right) or _is_close(left, right * factor)
            for left, right in numbers
        )

    return is_rescaled


def _is_rounded(old: Any, new: Any) -> bool:
    numbers = _numbers_of(old, new)
    return numbers is not None and all(
        any(round(a, places) == b or round(b, places) == a for places in range(MOST_PLACES + 1)) for a, b in numbers
    )


def _is_text_of(old: Any, new: Any) -> bool:
    return isinstance(old, str) != isinstance(new, str) and str(old).strip().lower() == str(new).strip().lower()


def _numbers_of(old: Any, new: Any) -> list[Pair] | None:
    """The numbers side by side, or None if the two do not have the same number of them, and nothing else."""
    left, right = list(leaves(old)), list(leaves(new))
    if not left or len(left) != len(right) or not all(map(is_number, left + right)):
        return None
    return list(zip(left, right, strict=True))


def _is_close(left: float, right: float) -> bool:
    try:
        return math.isclose(left, right, rel_tol=1e-6)
    except OverflowError:
        return left == right


FORMS: tuple[Callable[[Any, Any], bool], ...] = (
    _is_reordered,
    _is_rounded,
    _is_text_of,
    *(_is_rescaled(factor) for factor in FACTORS),
)
