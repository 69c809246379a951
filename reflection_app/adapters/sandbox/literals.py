"""Whether what a script was told equals a literal, as Python's `==` has it for plain data."""

from typing import Any

from reflection_app.adapters.sandbox.inside.approx import Approx, agrees, has_approx
from reflection_app.adapters.sandbox.set_order import size_of_tree
from reflection_app.adapters.sandbox.values import MalformedValue


def equals(tree: Any, literal: Any, *, is_identity: bool) -> bool:
    """The tree is in the exact form, in which keys of a dictionary are trees too; what is no plain data is unequal."""
    if is_identity:
        return tree is literal
    if size_of_tree(tree) != size_of_literal(literal):
        return False  # what is built below is then as small as the literal
    try:
        actual = thaw(tree)
        return agrees(actual, literal) if has_approx(literal) else bool(actual == literal)
    except (TypeError, RecursionError, OverflowError) as error:
        raise MalformedValue("a set of what can be in no set, or a number beyond all bounds") from error


def size_of_literal(literal: Any) -> int:
    if isinstance(literal, Approx):
        return size_of_literal(literal.expected)
    if isinstance(literal, dict):
        return 1 + sum(size_of_literal(key) + size_of_literal(value) for key, value in literal.items())
    return 1 + (sum(map(size_of_literal, literal)) if isinstance(literal, list | tuple | set) else 0)


def thaw(tree: Any) -> Any:
    """The Python value; what is no plain data becomes an object that equals nothing."""
    if not isinstance(tree, dict):
        return tree
    tag, content = next(iter(tree.items()))
    if tag == "x":
        return object()
    if tag in {"m", "d"}:
        return {(thaw(key) if tag == "m" else key): thaw(value) for key, value in content}
    kind = {"l": list, "t": tuple, "s": frozenset}[tag]
    return kind(map(thaw, content))
