"""In what order the parts of a returned set are compared with those of a JSON list.

The keys are hostile as the values are: they have one shape for all kinds, so that any two can be compared, and they
are no larger than what they stand for.
"""

import math
from itertools import chain
from typing import Any

Order = tuple[str, float, str, tuple["Order", ...]]


def order_of_tree(tree: Any) -> Order:
    """A key that puts equal values of a set and of a JSON list at the same place."""
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
    """The same key for a JSON value; `any_order` where the lists in it stand for sets."""
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
    """How many values there are in it, itself included."""
    if not isinstance(tree, dict) or "x" in tree:
        return 1
    tag, content = next(iter(tree.items()))
    if tag == "d":
        return 1 + sum(size_of_tree(part) for _, part in content)
    return 1 + sum(map(size_of_tree, chain(*content) if tag == "m" else content))


def size_of_json(value: Any) -> int:
    """The same number for an equal JSON value."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return 1 + sum(map(size_of_json, parts))
