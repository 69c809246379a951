"""The statements of a script as they are compiled for the sandbox."""

import ast
from types import CodeType

from reflection_app.adapters.sandbox.script_asks import Asks
from reflection_app.loops.scripts.syntax import SCRIPT_FILE
from reflection_app.loops.scripts.unit_asserts import APPROX

UNITTEST_EQUAL = {"assertEqual", "assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSetEqual"}


class ShowSides(ast.NodeTransformer):
    """Tells what a literal answers, proves and keeps both sides of other equalities; builtins are the true ones."""

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
        # What compares is taken hold of before the candidate is called, which could put something else in its place.
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
