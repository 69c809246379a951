"""Equality that a candidate cannot fake: an object that claims to equal plain data does not."""

from collections.abc import Callable
from typing import Any

from desk_sandbox.inside.approx import agrees, has_approx
from desk_sandbox.inside.encode import VIEWS, rational

FORGED_TEXT = "An object of the code says that it equals a value which it is not."
PLAIN = {bool, int, float, str, bytes, complex, type(None)}
IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: never set for classes that Python code defined
ATOMS = {"bytearray", "range", "Decimal", "date", "time", "datetime", "timedelta", "timezone", "ellipsis", "array"}
CONTAINERS: tuple[tuple[Any, Any], ...] = ((list, list), (tuple, tuple), (set, frozenset), (frozenset, frozenset))
SCALARS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__index__),
    (float, float.__float__),
    (str, str.__str__),
    (bytes, bytes.__bytes__),
    (complex, complex.__complex__),
)
true_isinstance, true_issubclass = isinstance, issubclass
all_types, flags_of = set, type.__dict__["__flags__"].__get__


class Forged(Exception):
    """The two sides claim to be equal but are not."""


class Foreign(Exception):
    """The value is not plain data."""


def equal(left: Any, right: Any) -> bool:
    """Return the result of `left == right`.

    Raise Forged if it is true although one side is plain data and the other differs from it.
    """
    if has_approx(left) or has_approx(right):
        return is_about(left, right)
    if not left == right:  # noqa: SIM201 - the operator that the script wrote
        return False
    sides: list[Any] = []
    for side in (left, right):
        try:
            sides.append(purified(side))
        except Foreign:
            continue
    if sides and (len(sides) == 1 or sides[0] != sides[1]):
        raise Forged
    return True


def is_instance(value: Any, kinds: Any) -> bool:
    """Return the result of `isinstance`, by the true class of an object that claims another one."""
    if not true_isinstance(value, kinds):
        return False
    kind = type(value)
    return value.__class__ is kind or true_issubclass(kind, kinds)


def is_about(left: Any, right: Any) -> bool:
    """Return True if the side without `approx`, read as plain data, is approximately the other."""
    actual, expected = (left, right) if has_approx(right) else (right, left)
    try:
        return agrees(purified(actual), expected)
    except Foreign:
        return False


def proven(left: Any, right: Any) -> tuple[Any, Any]:
    """Return both sides for another comparison. Raise Forged like `equal`."""
    equal(left, right)
    return left, right


def purified(value: Any) -> Any:
    """Return the value in plain types only, without calling methods that Python code defined.

    Raise Foreign if it is not plain data.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if (kind is list or kind is tuple) and all_types(map(type, value)) <= PLAIN:
        return value
    kinds = type.mro(kind)
    if dict in kinds:
        return {purified(key): purified(part) for key, part in dict.items(value)}
    for base, plain in CONTAINERS:
        if base in kinds:
            return plain([purified(part) for part in base.__iter__(value)])
    for scalar, read in SCALARS:
        if scalar in kinds:
            return read(value)
    return purified_other(value)


def purified_other(value: Any) -> Any:
    """Return types compared by Python's C code only, numbers with a plain form, and dictionary views."""
    kind = type(value)
    if flags_of(kind) & IMMUTABLE and kind.__name__ in ATOMS:
        return value
    if kind in VIEWS:
        return frozenset([purified(part) for part in [*value]])
    number = rational(value)
    if number is None:
        raise Foreign
    return number
