"""`pytest.approx` for plain data: used inside the sandbox for computed values, and outside for literals."""

from math import isinf, isnan
from typing import Any

RELATIVE, ABSOLUTE = 1e-6, 1e-12
NUMBERS = (int, float, complex)
infinite, not_a_number, distance = isinf, isnan, abs


class Approx:
    """Equal to numbers nearby, and to containers of them; the tolerances are pytest's."""

    def __init__(self, expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False) -> None:  # noqa: A002 - pytest's
        self.expected, self.rel, self.abs, self.nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, other: object) -> bool:
        return agrees(other, self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"approx({self.expected!r})"


def has_approx(value: Any) -> bool:
    """Return True if `value` is an Approx or a plain container that holds one."""
    kind = type(value)
    if kind is Approx:
        return True
    if kind is list or kind is tuple:
        return any(map(has_approx, value))
    return kind is dict and any(map(has_approx, value.values()))


def agrees(actual: Any, expected: Any, within: Approx | None = None) -> bool:
    """Return True if plain data equals the expected value, within a tolerance if there is one."""
    if type(expected) is Approx:
        expected, within = expected.expected, expected
    if isinstance(expected, list | tuple):
        kinds = (list, tuple) if within else (type(expected),)
        same_size = type(actual) in kinds and len(actual) == len(expected)
        return same_size and all(agrees(a, b, within) for a, b in zip(actual, expected, strict=True))
    if isinstance(expected, dict):
        same_keys = type(actual) is dict and actual.keys() == expected.keys()
        return same_keys and all(agrees(actual[key], part, within) for key, part in expected.items())
    if within is None or isinstance(expected, bool) or not isinstance(expected, NUMBERS):
        return bool(actual == expected)
    return not isinstance(actual, bool) and isinstance(actual, NUMBERS) and is_near(actual, expected, within)


def is_near(actual: Any, expected: Any, within: Approx) -> bool:
    if actual == expected:
        return True
    if isinstance(expected, complex) or isinstance(actual, complex):
        return bool(distance(actual - expected) <= tolerance(expected, within))
    if not_a_number(expected):
        return within.nan_ok and not_a_number(actual)
    if infinite(expected) or infinite(actual):
        return False
    return bool(distance(actual - expected) <= tolerance(expected, within))


def tolerance(expected: Any, within: Approx) -> float:
    absolute = ABSOLUTE if within.abs is None else within.abs
    if within.rel is None and within.abs is not None:
        return float(absolute)
    relative = (RELATIVE if within.rel is None else within.rel) * distance(expected)
    return float(max(relative, absolute))
