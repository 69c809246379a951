"""Assertions that compare with a literal: the literal stays outside, and the reported value is compared here.

They are `assert f(1) == [2]`, `assert None is f(1)`, `assert f(1) == pytest.approx(2)` and similar ones. They must be
statements of the script or directly in a function's body. They are removed from what enters the sandbox; in their place
the script reports the value of the other side.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from desk_sandbox.inside.approx import Approx
from desk_sandbox.scripts.plain_form import called_name
from desk_sandbox.scripts.unit_asserts import APPROX

PLAIN = (bool, int, float, str, list, tuple, set, dict)


@dataclass(frozen=True)
class Ask:
    """An assertion: the side to report, and its required value."""

    node: ast.Assert
    told: ast.expr
    hidden: ast.expr
    literal: Any
    is_identity: bool
    source: str


class Asks:
    """All such assertions of a script, by number."""

    def __init__(self, tree: ast.Module, script: str) -> None:
        bodies = [tree.body, *(node.body for node in functions_that_are_tests(tree))]
        places = [statement for body in bodies for statement in body]
        found = (read_ask(node, script) for node in places if isinstance(node, ast.Assert))
        self.all: list[Ask] = [ask for ask in found if ask is not None]
        self.numbers = {id(ask.node): number for number, ask in enumerate(self.all)}

    def needed_by(self, body: list[ast.stmt]) -> tuple[int, ...]:
        """Return the numbers that must have been reported once these statements have run to their end."""
        leaves = any(isinstance(inner, ast.Return | ast.Yield) for node in body for inner in ast.walk(node))
        return () if leaves else tuple(self.numbers[id(node)] for node in body if id(node) in self.numbers)

    def text_to_show(self, script: str) -> str:
        """Return the script without the literals, messages and comments of these assertions."""
        lines = [line.encode() for line in script.split("\n")]
        for ask in self.all:
            last, end = (ask.node.end_lineno or ask.node.lineno) - 1, ask.node.end_col_offset or 0
            if lines[last][end:].lstrip().startswith(b"#"):
                lines[last] = lines[last][:end]
        parts = [part for ask in self.all for part in (ask.hidden, ask.node.msg) if part is not None]
        # Cases of one test have the same message and may share the expected value.
        hidden = {(part.lineno, part.col_offset): part for part in parts}
        for place in sorted(hidden, reverse=True):
            hide(lines, hidden[place])
        return b"\n".join(lines).decode()


def functions_that_are_tests(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions whose every call is a separate test, so that their reports are always read."""
    used = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    defined = Counter(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    called = Counter(map(called_name, tree.body))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list:
            is_test = called[node.name] or node.name.startswith("test")
            if is_test and defined[node.name] == 1 and used[node.name] == called[node.name]:
                yield node
        elif isinstance(node, ast.ClassDef):
            methods = [method for method in node.body if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)]
            yield from (m for m in methods if m.name.startswith("test") and not m.decorator_list)


def hide(lines: list[bytes], node: ast.expr) -> None:
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    rest = lines[last][node.end_col_offset :]
    for between in range(first + 1, last + 1):
        lines[between] = b""
    lines[first] = lines[first][: node.col_offset] + b"..." + (rest if first == last else b"")
    if first != last:
        lines[last] = rest


def read_ask(node: ast.Assert, script: str) -> Ask | None:
    test = node.test
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is)):
        return None
    is_identity = isinstance(test.ops[0], ast.Is)
    sides = (test.left, test.comparators[0])
    literals = [[*literals_of(side)] for side in sides]
    if bool(literals[0]) == bool(literals[1]):
        return None
    told, hidden = sides if literals[1] else sides[::-1]
    [literal] = literals[0] or literals[1]
    if is_identity and not (literal is None or isinstance(literal, bool)):
        return None
    return Ask(node, told, hidden, literal, is_identity, ast.get_source_segment(script, node) or "")


def literals_of(node: ast.expr) -> Iterator[Any]:
    """Yield the value if the node is a literal of plain data, or an `approx` of such data."""
    try:
        value = read_literal(node)
    except (ValueError, TypeError, RecursionError):
        return
    if is_plain(value):
        yield value


def read_literal(node: ast.expr) -> Any:
    """Return the value as `ast.literal_eval` does, also with `approx(…)` alone or in a list, tuple or dict."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == APPROX:
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
        return Approx(*map(ast.literal_eval, node.args), **options)
    if isinstance(node, ast.List | ast.Tuple):
        return (list if isinstance(node, ast.List) else tuple)(map(read_literal, node.elts))
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [ast.literal_eval(key) for key in node.keys if key is not None]
        return dict(zip(keys, map(read_literal, node.values), strict=True))
    return ast.literal_eval(node)


def is_plain(value: Any) -> bool:
    if isinstance(value, Approx):
        return is_plain(value.expected)
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(part) for key, part in value.items())
    if isinstance(value, list | tuple | set):
        return all(map(is_plain, value))
    return value is None or isinstance(value, PLAIN)
