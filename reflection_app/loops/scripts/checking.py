"""What is said of a test script when it is handed in, before anything is paid for."""

import ast
from functools import lru_cache

from reflection_app.loops.scripts.fixtures import Function
from reflection_app.loops.scripts.plain_form import asserts, plain_form, test_classes
from reflection_app.loops.scripts.syntax import ScriptRefused, parse_script, with_plain_line_ends

NO_TEST = (
    "holds no test: write assertions, functions whose names begin with test_, or such methods in a class of "
    "unittest.TestCase"
)


@lru_cache(maxsize=8)  # a task is looked at more than once on its way in
def check_script(script: str, *, entry_point: str | None) -> None:
    """Raises ScriptRefused where the script could not show anything of any code: where, and why."""
    form = plain_form(parse_script(with_plain_line_ends(script)))
    if form.refused:
        raise ScriptRefused(next(iter(form.refused.values())))
    missing_call(form.tree, entry_point=entry_point)


def missing_call(tree: ast.Module, *, entry_point: str | None) -> str:
    """The line `check(entry_point)` where the script defines such a function, as HumanEval does, and calls nothing.

    Without an entry point it is a ScriptRefused, as is a script without any test: it would pass with nothing tested.
    """
    statements = [node for node in tree.body if not isinstance(node, Function | ast.ClassDef)]
    if any(isinstance(inner, ast.Assert | ast.Call) for node in statements for inner in ast.walk(node)):
        return ""
    if any(True for _ in functions_to_call(tree)):
        return ""
    checkers = [node for node in tree.body if isinstance(node, Function) and asserts(node)]
    if not checkers:
        raise ScriptRefused(NO_TEST)
    checker = checkers[-1]
    if entry_point is None or len(checker.args.args) != 1:
        raise ScriptRefused(f"it defines {checker.name}, which asserts, but never calls it", line=checker.lineno)
    return f"\n{checker.name}({entry_point})\n"


def functions_to_call(tree: ast.Module) -> list[tuple[str, Function]]:
    """The test functions, and with the class's name the methods of test classes."""
    found: list[tuple[str, Function]] = []
    classes = {id(node) for node in test_classes(tree)}
    for node in tree.body:
        if isinstance(node, Function) and node.name.startswith("test"):
            found.append(("", node))
        elif isinstance(node, ast.ClassDef) and id(node) in classes:
            methods = (method for method in node.body if isinstance(method, Function))
            found += [(node.name, method) for method in methods if method.name.startswith("test")]
    return found
