"""Convert assertions of `unittest.TestCase` to plain assertions.

The code under test can replace a method of TestCase, but not a statement. The expected value of a plain assertion also
stays outside of the sandbox.
"""

import ast

APPROX = "__approx__"
COMPARED: dict[str, type[ast.cmpop]] = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertListEqual": ast.Eq,
    "assertTupleEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertSetEqual": ast.Eq,
    "assertMultiLineEqual": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
}
TO_NONE: dict[str, type[ast.cmpop]] = {"assertIsNone": ast.Is, "assertIsNotNone": ast.IsNot}
INSTANCES = ("assertIsInstance", "assertNotIsInstance")


class UnitAsserts(ast.NodeTransformer):
    """Rewrites the statements of one method, whose instance is called `me`."""

    def __init__(self, me: str) -> None:
        self.me = me

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if not (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id == self.me
        ):
            return node
        plain = _plain_assertion(call.func.attr, call)
        if plain is None:
            return node
        test, message = plain
        return ast.fix_missing_locations(ast.copy_location(ast.Assert(test=test, msg=message), node))


def _plain_assertion(name: str, call: ast.Call) -> tuple[ast.expr, ast.expr | None] | None:
    """Return the condition and the message, or None for other calls or unknown arguments."""
    keywords: dict[str | None, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords}
    two = ("first", "second") if name not in {"assertIs", "assertIsNot"} else ("expr1", "expr2")
    if name in {"assertTrue", "assertFalse"}:
        wanted: tuple[str, ...] = ("expr", "msg")
    elif name in TO_NONE:
        wanted = ("obj", "msg")
    elif name in INSTANCES:
        wanted = ("obj", "cls", "msg")
    elif name in {"assertIn", "assertNotIn"}:
        wanted = ("member", "container", "msg")
    elif name in COMPARED:
        wanted = (*two, "msg")
    elif name in {"assertAlmostEqual", "assertAlmostEquals"}:
        wanted = (*two, "places", "msg", "delta")
    else:
        return None
    if len(call.args) > len(wanted) or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    found = dict(zip(wanted, call.args, strict=False))
    if any(key is None or key in found or key not in wanted for key in keywords):
        return None
    found |= {str(key): value for key, value in keywords.items()}
    needed = [key for key in wanted if key not in {"msg", "places", "delta"}]
    if not all(key in found for key in needed):
        return None
    return _condition(name, [found[key] for key in needed], found), found.get("msg")


def _condition(name: str, sides: list[ast.expr], found: dict[str, ast.expr]) -> ast.expr:
    if name == "assertTrue":
        return sides[0]
    if name == "assertFalse":
        return ast.UnaryOp(ast.Not(), sides[0])
    if name in TO_NONE:
        return ast.Compare(sides[0], [TO_NONE[name]()], [ast.Constant(None)])
    if name in INSTANCES:
        is_one: ast.expr = ast.Call(ast.Name("isinstance", ast.Load()), sides, [])
        return is_one if name == "assertIsInstance" else ast.UnaryOp(ast.Not(), is_one)
    if name in COMPARED:
        return ast.Compare(sides[0], [COMPARED[name]()], [sides[1]])
    first, second = sides
    if _is_written_out(first) and not _is_written_out(second):
        first, second = second, first
    # Equal after rounding to `places` decimals (default 7), or within `delta`.
    if "delta" in found:
        most = found["delta"]
    else:
        places = found.get("places", ast.Constant(7))
        known = places.value if isinstance(places, ast.Constant) and isinstance(places.value, int) else None
        power = ast.BinOp(ast.Constant(10.0), ast.Pow(), ast.UnaryOp(ast.USub(), places))
        most = ast.Constant(0.5 * 10.0**-known) if known else ast.BinOp(ast.Constant(0.5), ast.Mult(), power)
    keywords = [ast.keyword("rel", ast.Constant(0.0)), ast.keyword("abs", most)]
    almost = ast.copy_location(ast.Call(ast.Name(APPROX, ast.Load()), [second], keywords), second)
    return ast.Compare(first, [ast.Eq()], [almost])


def _is_written_out(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return False
    return True
