"""Values returned by a candidate: parse what the sandbox sent, render it, and compare it with the expected value.

The sandbox sends containers as objects with one key: `{"l": list}`, `{"t": tuple}`, `{"s": set}`, `{"d": pairs}`. `m`
replaces `d` if keys are values too, not texts. Anything else is `{"x": repr}`. All input here is hostile.
"""

import json
import math
from itertools import chain
from typing import Any

# Sort order for comparing the parts of a returned set with those of a JSON list.
#
# The values are hostile, and so are the keys. All have one shape, so any two can be compared, and they are no larger
# than the values they represent.

Order = tuple[str, float, str, tuple["Order", ...]]


def order_of_tree(tree: Any) -> Order:
    """Return a sort key that gives equal values of a set and of a JSON list the same position."""
    if not isinstance(tree, dict):
        return order_of_json(tree)
    tag, content = next(iter(tree.items()))
    if tag == "x":
        return ("foreign", 0.0, content, ())
    if tag == "d":
        return order_of_pairs([(key, order_of_tree(value)) for key, value in content])
    parts = [order_of_tree(item) for item in (chain(*content) if tag == "m" else content)]
    return ("list", 0.0, "", tuple(sorted(parts) if tag == "s" else parts))


def order_of_json(value: Any, *, any_order: bool = False) -> Order:
    """Return the same key for a JSON value; `any_order` if lists in it represent sets."""
    if isinstance(value, bool) or value is None:
        return ("constant", 0.0, str(value), ())
    if isinstance(value, int | float):
        return order_of_number(value)
    if isinstance(value, str):
        return ("text", 0.0, value, ())
    if isinstance(value, dict):
        return order_of_pairs([(key, order_of_json(part, any_order=any_order)) for key, part in value.items()])
    parts = [order_of_json(item, any_order=any_order) for item in value]
    return ("list", 0.0, "", tuple(sorted(parts) if any_order else parts))


def order_of_number(value: float) -> Order:
    if isinstance(value, int) and abs(value) >= 2**1000:
        return ("number", math.copysign(math.inf, 1 if value > 0 else -1), "", ())
    return ("not a number", 0.0, "", ()) if math.isnan(value) else ("number", float(value), "", ())


def order_of_pairs(pairs: list[tuple[str, Order]]) -> Order:
    return ("pairs", 0.0, "", tuple(("pair", 0.0, key, (part,)) for key, part in sorted(pairs)))


def size_of_tree(tree: Any) -> int:
    """Return the number of values in the tree, including itself."""
    if not isinstance(tree, dict) or "x" in tree:
        return 1
    tag, content = next(iter(tree.items()))
    if tag == "d":
        return 1 + sum(size_of_tree(part) for _, part in content)
    return 1 + sum(map(size_of_tree, chain(*content) if tag == "m" else content))


def size_of_json(value: Any) -> int:
    """Return the same number for an equal JSON value."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return 1 + sum(map(size_of_json, parts))


MAX_DEPTH = 120
TAGS = {"l", "t", "s", "d", "m", "x"}


class MalformedValue(ValueError):
    """Output of the sandbox is not in the form that the harness writes."""


def read_message(payload: bytes) -> dict[str, Any]:
    """Return the single JSON object in the payload. Raise MalformedValue."""
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise MalformedValue(str(error)) from error
    if not isinstance(message, dict):
        raise MalformedValue("not an object")
    return message


def check_tree(tree: Any, *, depth: int = 0) -> None:
    """Raise MalformedValue unless the tree has the form described above."""
    if tree is None or isinstance(tree, bool | int | float | str):
        return
    if depth > MAX_DEPTH or not isinstance(tree, dict) or len(tree) != 1:
        raise MalformedValue("not a value")
    tag, content = next(iter(tree.items()))
    if tag not in TAGS or (tag == "x") != isinstance(content, str) or not isinstance(content, list | str):
        raise MalformedValue("not a value")
    if tag == "x":
        return
    for item in content:
        if tag == "d":
            if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)):
                raise MalformedValue("not a pair")
            check_tree(item[1], depth=depth + 1)
        elif tag == "m":
            if not (isinstance(item, list) and len(item) == 2):
                raise MalformedValue("not a pair")
            check_tree(item[0], depth=depth + 1)
            check_tree(item[1], depth=depth + 1)
        else:
            check_tree(item, depth=depth + 1)


def foreign_part(tree: Any) -> str | None:
    """Return the repr of the first part without a JSON form, or None."""
    if not isinstance(tree, dict):
        return None
    tag, content = next(iter(tree.items()))
    if tag == "x":
        return str(content)
    parts = (pair[1] for pair in content) if tag in {"d", "m"} else content
    return next((found for part in parts if (found := foreign_part(part)) is not None), None)


def render(tree: Any) -> str:
    """Return the value as Python would write it."""
    if not isinstance(tree, dict):
        return repr(tree)
    tag, content = next(iter(tree.items()))
    if tag == "x":
        return str(content)
    if tag in {"d", "m"}:  # keys that are texts are rendered like any text
        return "{" + ", ".join(f"{render(key)}: {render(value)}" for key, value in content) + "}"
    inner = ", ".join(render(item) for item in content)
    if tag == "s":
        return f"{{{inner}}}" if content else "set()"
    return f"[{inner}]" if tag == "l" else f"({inner}{',' * (len(content) == 1)})"


def matches(tree: Any, expected: Any) -> bool:
    """Return True if the returned value is the expected JSON value.

    Tuples match lists, and sets match lists in any order. 1 matches 1.0, but True does not match 1. Floats match to
    nine digits, and NaN matches NaN. Dictionary keys are compared as texts.
    """
    if expected is None or isinstance(expected, bool | str):
        return type(tree) is type(expected) and bool(tree == expected)
    if isinstance(expected, int | float):
        return isinstance(tree, int | float) and not isinstance(tree, bool) and same_number(tree, expected)
    tag, content = next(iter(tree.items())) if isinstance(tree, dict) else ("", [])
    if isinstance(expected, dict):
        return tag == "d" and same_pairs(content, expected)
    if tag not in {"l", "t", "s"} or len(content) != len(expected):
        return False
    if tag == "s":
        return same_sets(content, expected)
    return all(matches(part, wanted) for part, wanted in zip(content, expected, strict=True))


def same_sets(parts: list[Any], expected: list[Any]) -> bool:
    """Return True if the parts, as many as expected, are the expected values in some order."""
    if sum(map(size_of_tree, parts)) != sum(map(size_of_json, expected)):
        return False  # values sorted below are then no larger than the expected ones
    any_order = any(isinstance(part, dict) and "s" in part for part in parts)
    wanted = sorted(expected, key=lambda value: order_of_json(value, any_order=any_order))
    return all(matches(part, value) for part, value in zip(sorted(parts, key=order_of_tree), wanted, strict=True))


def same_number(left: float, right: float) -> bool:
    """Return True if two integers are equal, or others are within a relative 1e-9 (1e-12 around zero)."""
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    try:
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(left) and math.isnan(right))
    except OverflowError:
        return left == right


def same_pairs(pairs: list[list[Any]], expected: dict[str, Any]) -> bool:
    """Return True if the pairs are the expected dictionary. Two keys with the same text never match."""
    if len(pairs) != len(expected):
        return False
    found = dict(pairs)
    return found.keys() == expected.keys() and all(matches(found[key], value) for key, value in expected.items())
