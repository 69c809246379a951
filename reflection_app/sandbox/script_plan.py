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

SCRIPT_FILE = "tests.py"
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


def plan_script(script: str, *, code: str, entry_point: str | None) -> list[Item]:
    """The items in the order in which they run, at least one of them a test."""
    try:
        tree = ast.parse(script, SCRIPT_FILE)
        script += missing_call(tree, entry_point=entry_point)
        tree = ast.parse(script, SCRIPT_FILE)
        true_names = names_to_protect(tree, code=code, entry_point=entry_point)
        checkers = {node.name for node in tree.body if isinstance(node, Function) and asserts(node)}
        names = [first_line(ast.get_source_segment(script, node) or "") for node in tree.body]
        tests = [is_test(node, checkers) for node in tree.body]
        calls = list(test_functions(tree))
        if not any(tests) and not calls:
            return [Item("statement", "script", code=compile_nodes([*tree.body], true_names))]
        items = [
            Item("statement" if test else "setup", name, code=compile_nodes([node], true_names))
            for node, name, test in zip([*tree.body], names, tests, strict=True)
        ]
    except UnusableScript:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnusableScript(str(error)) from error
    return items + calls


def missing_call(tree: ast.Module, *, entry_point: str | None) -> str:
    """The line `check(entry_point)` where the script defines such a function, as HumanEval does, and calls nothing.

    Without an entry point it is an UnusableScript: it would pass without having tested anything.
    """
    statements = [node for node in tree.body if not isinstance(node, Function | ast.ClassDef)]
    calls = any(isinstance(inner, ast.Assert | ast.Call) for node in statements for inner in ast.walk(node))
    checkers = [node for node in tree.body if isinstance(node, Function) and asserts(node)]
    if calls or any(test_functions(tree)) or not checkers:
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
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in checkers


def is_main_block(node: ast.stmt) -> bool:
    """Whether it is `if __name__ == ...`, which does not run here."""
    return isinstance(node, ast.If) and any(
        isinstance(inner, ast.Name) and inner.id == "__name__" for inner in ast.walk(node.test)
    )


def test_functions(tree: ast.Module) -> Iterator[Item]:
    """The test functions, and the test methods of test classes, that the script defines and does not call itself."""
    called = {
        node.value.func.id
        for node in tree.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
    }
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and node.name not in called:
            yield call_item(node, path=node.name, given=0)
        elif isinstance(node, ast.ClassDef) and is_test_class(node):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name.startswith("test"):
                    yield call_item(method, path=f"{node.name}.{method.name}", given=1)


def is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def call_item(node: ast.FunctionDef, *, path: str, given: int) -> Item:
    required = [*node.args.posonlyargs, *node.args.args]
    required = required[given : len(required) - len(node.args.defaults)]
    needs = ", ".join(argument.arg for argument in required)
    return Item("call", path.replace(".", "::"), path=path, needs=needs)


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


def compile_nodes(nodes: list[ast.stmt], true_names: set[str]) -> CodeType:
    tree = ShowSides(true_names).visit(ast.Module(nodes, []))
    return compile(ast.fix_missing_locations(tree), SCRIPT_FILE, "exec", dont_inherit=True)


class ShowSides(ast.NodeTransformer):
    """Keeps both sides of `assert a == b` for the report, and makes names of builtins mean the true builtins."""

    def __init__(self, true_names: set[str]) -> None:
        self.true_names = true_names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if isinstance(node.ctx, ast.Load) and node.id in self.true_names:
            node.id = f"__true_{node.id}__"
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        test = node.test
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
            return node
        sides = [ast.Name(name, ast.Load()) for name in ("actual__", "expected__")]
        kept = [
            ast.copy_location(ast.Assign([ast.Name(side.id, ast.Store())], value), node)
            for side, value in zip(sides, (test.left, test.comparators[0]), strict=True)
        ]
        message = [node.msg] if node.msg else []
        pair = ast.Call(ast.Name("__pair__", ast.Load()), [*sides, *message], [])
        compared = ast.Compare(sides[0], [ast.Eq()], [sides[1]])
        return [*kept, ast.copy_location(ast.Assert(compared, pair), node)]
