"""What the task's own signature says that the function returns.

A value that breaks it is hard evidence, for the signature came with the task: against the answer that returned the
value, or against the test that expects it. What cannot be read allows everything.
"""

import ast
import re
from typing import Any

LONGEST_SIGNATURE = 4_000
MOST_COLONS = 100
SCALARS: dict[str, tuple[type, ...]] = {"int": (int,), "bool": (bool,), "float": (int, float), "str": (str,)}
CONTAINERS: dict[str, tuple[type, ...]] = {
    "list": (list,),
    "set": (set, frozenset),
    "frozenset": (set, frozenset),
    "tuple": (tuple,),
    "dict": (dict,),
}


def return_annotation(task: str, *, entry_point: str) -> str:
    """The return annotation of the function in the task's text, as source; empty where there is none."""
    start = re.search(rf"^[ \t]*(?:async[ \t]+)?(def[ \t]+{re.escape(entry_point)}[ \t]*\()", task, re.MULTILINE)
    if start is None:
        return ""
    text = task[start.start(1) : start.start(1) + LONGEST_SIGNATURE]
    ends = [place for place, letter in enumerate(text) if letter == ":"][:MOST_COLONS]
    for end in ends:
        try:
            [function] = ast.parse(text[:end] + ": pass").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(function, ast.FunctionDef) and function.returns is not None:
            return ast.unparse(function.returns)
        return ""
    return ""


def allows(annotation: str, value: Any) -> bool:
    """Whether the annotation lets the value through; True where it cannot be understood."""
    if not annotation:
        return True
    try:
        return _allows(ast.parse(annotation, mode="eval").body, value)
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return True


def _allows(node: ast.expr, value: Any) -> bool:
    match node:
        case ast.Constant(value=None):
            return value is None
        case ast.Constant(value=str() as text):
            return allows(text, value)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _allows(left, value) or _allows(right, value)
        case ast.Subscript(value=outer, slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _allows_generic(_name_of(outer), parts, value)
    return _allows_generic(_name_of(node), [], value)


def _name_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lower()
    return ""


def _allows_generic(name: str, parts: list[ast.expr], value: Any) -> bool:
    if name == "optional" and parts:
        return value is None or _allows(parts[0], value)
    if name == "union" and parts:
        return any(_allows(part, value) for part in parts)
    if name == "int" and isinstance(value, float):
        return value.is_integer()  # 12.0 equals 12, and passes where 12 is expected
    if name in SCALARS:
        return type(value) in SCALARS[name]
    if name not in CONTAINERS:
        return True
    return type(value) in CONTAINERS[name] and (not parts or _allows_parts(name, parts, value))


def _allows_parts(name: str, parts: list[ast.expr], value: Any) -> bool:
    if name == "dict":
        return len(parts) != 2 or all(_allows(parts[0], key) and _allows(parts[1], item) for key, item in value.items())
    if name != "tuple":
        return all(_allows(parts[0], item) for item in value)
    match parts:
        case [each, ast.Constant(value=end)] if end is Ellipsis:
            return all(_allows(each, item) for item in value)
    return len(parts) == len(value) and all(_allows(part, item) for part, item in zip(parts, value, strict=True))
