"""Split a test script outside the sandbox: set-up statements, tests, and the tests' names.

Tests are top-level statements that assert something, calls of the script's own checking functions, and test functions
and methods, converted by `plain_form`. The code objects are compiled here, by the same interpreter that runs them.
"""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Literal

from desk_sandbox.scripts.asks import Ask, Asks
from desk_sandbox.scripts.cases import Function
from desk_sandbox.scripts.names import functions_to_call, missing_call
from desk_sandbox.scripts.plain_form import PlainForm, asserts, called_name, is_main_block, plain_form
from desk_sandbox.scripts.syntax import (
    SCRIPT_FILE,
    ScriptRefused,
    parse_script,
    with_plain_line_ends,
    without_syntax_warnings,
)
from desk_sandbox.scripts.unit_asserts import APPROX

# Compilation of the script's statements for the sandbox

UNITTEST_EQUAL = {"assertEqual", "assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSetEqual"}


class ShowSides(ast.NodeTransformer):
    """Report values compared with literals, check and save both sides of other equalities.

    Builtins are replaced by the original ones.
    """

    def __init__(self, true_names: set[str], asks: Asks) -> None:
        self.true_names, self.asks = true_names, asks
        self.in_assert = False

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if isinstance(node.ctx, ast.Load) and node.id in self.true_names:
            node.id = f"__true_{node.id}__"
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if self.in_assert and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            return ast.copy_location(call("__equal__", node.left, node.comparators[0]), node)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt | list[ast.stmt]:
        if (number := self.asks.numbers.get(id(node))) is not None:
            told = self.visit(self.asks.all[number].told)
            return ast.copy_location(ast.Expr(call("__tell__", ast.Constant(number), told)), node)
        test = node.test
        is_pair = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)
        self.in_assert = True
        self.generic_visit(node)
        self.in_assert = False
        if not (is_pair and isinstance(node.test, ast.Call)):
            return node
        sides = [ast.Name(name, ast.Load()) for name in ("actual__", "expected__")]
        # References are saved before the candidate is called, which could replace the functions that compare.
        held: dict[str, ast.expr] = {name: ast.Name(f"__{name}", ast.Load()) for name in ("equal__", "approx__")}
        for inner in ast.walk(node.test):
            if isinstance(inner, ast.Name) and inner.id == APPROX:
                inner.id = "approx__"
        values = held | {side.id: value for side, value in zip(sides, node.test.args, strict=True)}
        kept = [
            ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), node) for name, value in values.items()
        ]
        pair = call("__pair__", *sides, *([node.msg] if node.msg else []))
        return [*kept, ast.copy_location(ast.Assert(call("equal__", *sides), pair), node)]

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in UNITTEST_EQUAL and len(node.args) >= 2:
            sides = ast.Starred(call("__sides__", *node.args[:2]), ast.Load())
            node.args = [sides, *node.args[2:]]
        return node


def call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])


def compile_nodes(nodes: list[ast.stmt], show: ShowSides) -> CodeType:
    tree = show.visit(ast.Module(nodes, []))
    return compile(ast.fix_missing_locations(tree), SCRIPT_FILE, "exec", dont_inherit=True)


# The compiler creates the cell that `super()` needs only if it sees this exact name.
UNHIDDEN = frozenset({"super"})


@dataclass(frozen=True)
class Item:
    """A step of the script: `code` for a statement, `path` for a test function (class and name for a method).

    `refused` is why a test cannot be run.
    """

    kind: Literal["setup", "statement", "call", "skip"]
    name: str
    code: CodeType | None = None
    path: tuple[str, ...] = ()
    refused: str = ""
    needs_told: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The items to run, the values to report, and the script in the version visible inside.

    `tree` is the script in plain form, before compilation.
    """

    items: list[Item]
    asks: list[Ask]
    shown: str
    tree: ast.Module


def plan_script(script: str, *, code: str, entry_point: str | None) -> Plan:
    """Return the items in execution order, at least one of them a test. Raise ScriptRefused."""
    script = with_plain_line_ends(script)
    form = plain_form(parse_script(script))
    added = "" if form.refused else missing_call(form.tree, entry_point=entry_point)
    if added:
        script += added
        form = plain_form(parse_script(script))
    tree = form.tree
    try:
        asks = Asks(tree, script)
        bodies = {node.name: asks.needed_by(node.body) for node in tree.body if isinstance(node, ast.FunctionDef)}
        true_names = names_to_protect(tree, code=code, entry_point=entry_point)
        checkers = {node.name for node in tree.body if isinstance(node, Function) and asserts(node)}
        names = [first_line(ast.get_source_segment(script, node) or "") for node in tree.body]
        tests = [is_test(node, checkers) for node in tree.body]
        calls = list(calls_in(form, asks))
        needed = [asks.needed_by([node]) or bodies.get(called_name(node), ()) for node in tree.body]
        unchanged = parse_script(script)
        show = ShowSides(true_names, asks)
        with without_syntax_warnings():
            if not any(tests) and not calls:
                whole = Item("statement", "script", code=compile_nodes([*tree.body], show))
                return Plan([whole], asks.all, script, unchanged)
            items = [
                Item("statement" if test else "setup", name, code=compile_nodes([node], show), needs_told=numbers)
                for node, name, test, numbers in zip([*tree.body], names, tests, needed, strict=True)
            ]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ScriptRefused(str(error)) from error
    return Plan(items + calls, asks.all, asks.text_to_show(script), unchanged)


def first_line(source: str) -> str:
    line, *more = source.strip().split("\n")
    return line + (" …" if more else "")


def is_test(node: ast.stmt, checkers: set[str]) -> bool:
    """Return True if a top-level statement judges something when it runs."""
    if isinstance(node, Function | ast.ClassDef) or is_main_block(node):
        return False
    if asserts(node):
        return True
    return called_name(node) in checkers


def calls_in(form: PlainForm, asks: Asks) -> Iterator[Item]:
    """Yield the test functions and methods that the script defines and does not call itself."""
    called = set(map(called_name, form.tree.body))
    for owner, node in functions_to_call(form.tree):
        if owner or node.name not in called:
            name = f"{owner}::{node.name}" if owner else node.name
            path = (owner, node.name) if owner else (node.name,)
            yield Item("call", form.labels.get(name, name), path=path, needs_told=asks.needed_by(node.body))
    for name, why in form.refused.items():
        yield Item("skip", name, refused=why)


def names_to_protect(tree: ast.Module, *, code: str, entry_point: str | None) -> set[str]:
    """Return the builtins that the script uses as such: neither rebound by it nor under test."""
    bound = {
        getattr(node, "asname", None)
        or getattr(node, "name", None)
        or getattr(node, "id", None)
        or getattr(node, "arg", None)
        for node in ast.walk(tree)
        if isinstance(node, Function | ast.ClassDef | ast.alias | ast.arg)
        or (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    }
    return (
        {name for name in dir(builtins) if not name.startswith("_")}
        - bound
        - UNHIDDEN
        - tested_names(code, entry_point)
    )


def tested_names(code: str, entry_point: str | None) -> set[str]:
    """Return the entry point, or else the candidate's only function, which may be named like a builtin."""
    if entry_point:
        return {entry_point.split(".")[0]}
    try:
        with without_syntax_warnings():
            functions = [node.name for node in ast.parse(code).body if isinstance(node, Function)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return set(functions) if len(functions) == 1 else set()
