"""A test script taken apart outside the sandbox: set-up statements, tests, and what each test is called.

Tests are the top-level statements that assert something, calls of the script's own checking functions, and test
functions and methods without parameters. Code objects are compiled here, by the interpreter that will run them.
"""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Literal

from reflection_app.sandbox.script_asks import Ask, Asks, called_name
from reflection_app.sandbox.script_sides import SCRIPT_FILE, ShowSides, compile_nodes

Function = ast.FunctionDef | ast.AsyncFunctionDef


class UnusableScript(ValueError):
    """The test script cannot be parsed; the text says where."""


@dataclass(frozen=True)
class Item:
    """A step of the script; `code` of a statement, `path` of a test function. `needs` names fixtures it lacks."""

    kind: Literal["setup", "statement", "call"]
    name: str
    code: CodeType | None = None
    path: str = ""
    needs: str = ""
    needs_told: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What runs, what it is asked to tell, and the script as it may be seen inside."""

    items: list[Item]
    asks: list[Ask]
    shown: str


def plan_script(script: str, *, code: str, entry_point: str | None) -> Plan:
    """The items in the order in which they run, at least one of them a test."""
    script = script.replace("\r\n", "\n").replace("\r", "\n")  # as the parser counts lines
    try:
        tree = ast.parse(script, SCRIPT_FILE)
        script += missing_call(tree, entry_point=entry_point)
        tree = ast.parse(script, SCRIPT_FILE)
        asks = Asks(tree, script)
        bodies = {node.name: asks.needed_by(node.body) for node in tree.body if isinstance(node, ast.FunctionDef)}
        true_names = names_to_protect(tree, code=code, entry_point=entry_point)
        checkers = {node.name for node in tree.body if isinstance(node, Function) and asserts(node)}
        names = [first_line(ast.get_source_segment(script, node) or "") for node in tree.body]
        tests = [is_test(node, checkers) for node in tree.body]
        calls = list(test_functions(tree, asks))
        needed = [asks.needed_by([node]) or bodies.get(called_name(node), ()) for node in tree.body]
        show = ShowSides(true_names, asks)
        if not any(tests) and not calls:
            return Plan([Item("statement", "script", code=compile_nodes([*tree.body], show))], asks.all, script)
        items = [
            Item("statement" if test else "setup", name, code=compile_nodes([node], show), needs_told=numbers)
            for node, name, test, numbers in zip([*tree.body], names, tests, needed, strict=True)
        ]
    except UnusableScript:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnusableScript(str(error)) from error
    return Plan(items + calls, asks.all, asks.text_to_show(script))


def missing_call(tree: ast.Module, *, entry_point: str | None) -> str:
    """The line `check(entry_point)` where the script defines such a function, as HumanEval does, and calls nothing.

    Without an entry point it is an UnusableScript: it would pass without having tested anything.
    """
    statements = [node for node in tree.body if not isinstance(node, Function | ast.ClassDef)]
    calls = any(isinstance(inner, ast.Assert | ast.Call) for node in statements for inner in ast.walk(node))
    checkers = [node for node in tree.body if isinstance(node, Function) and asserts(node)]
    if calls or any(test_functions(tree, Asks(ast.Module([], []), ""))) or not checkers:
        return ""
    checker = checkers[-1]
    if entry_point is None or len(checker.args.args) != 1:
        raise UnusableScript(f"it defines {checker.name}, which asserts, but never calls it")
    return f"\n{checker.name}({entry_point})\n"


def first_line(source: str) -> str:
    line, *more = source.strip().split("\n")
    return line + (" …" if more else "")


def asserts(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Assert) for inner in ast.walk(node))


def is_test(node: ast.stmt, checkers: set[str]) -> bool:
    """Whether a top-level statement judges something by running."""
    if isinstance(node, Function | ast.ClassDef) or is_main_block(node):
        return False
    if asserts(node):
        return True
    return called_name(node) in checkers


def is_main_block(node: ast.stmt) -> bool:
    """Whether it is `if __name__ == ...`, which does not run here."""
    return isinstance(node, ast.If) and any(
        isinstance(inner, ast.Name) and inner.id == "__name__" for inner in ast.walk(node.test)
    )


def test_functions(tree: ast.Module, asks: Asks) -> Iterator[Item]:
    """The test functions, and the test methods of test classes, that the script defines and does not call itself."""
    called = set(map(called_name, tree.body))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and node.name not in called:
            yield call_item(node, path=node.name, given=0, needs_told=asks.needed_by(node.body))
        elif isinstance(node, ast.ClassDef) and is_test_class(node):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name.startswith("test"):
                    told = asks.needed_by(method.body)
                    yield call_item(method, path=f"{node.name}.{method.name}", given=1, needs_told=told)


def is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def call_item(node: ast.FunctionDef, *, path: str, given: int, needs_told: tuple[int, ...]) -> Item:
    required = [*node.args.posonlyargs, *node.args.args]
    required = required[given : len(required) - len(node.args.defaults)]
    needs = ", ".join(argument.arg for argument in required)
    return Item("call", path.replace(".", "::"), path=path, needs=needs, needs_told=needs_told)


def names_to_protect(tree: ast.Module, *, code: str, entry_point: str | None) -> set[str]:
    """The builtins that the script uses as such: bound by no statement of its own, and not what is being tested."""
    bound = {
        getattr(node, "name", None) or getattr(node, "id", None) or getattr(node, "arg", None)
        for node in ast.walk(tree)
        if isinstance(node, Function | ast.ClassDef | ast.alias | ast.arg)
        or (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    }
    return {name for name in dir(builtins) if not name.startswith("_")} - bound - tested_names(code, entry_point)


def tested_names(code: str, entry_point: str | None) -> set[str]:
    """The entry point, or else the only function of the candidate: it may have the name of a builtin."""
    if entry_point:
        return {entry_point.split(".")[0]}
    try:
        functions = [node.name for node in ast.parse(code).body if isinstance(node, Function)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return set(functions) if len(functions) == 1 else set()
