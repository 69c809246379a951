"""Checks of a submitted test script, before it causes any cost."""

import ast
import builtins
import re
import sys
from functools import lru_cache

from desk_sandbox.scripts.cases import Function
from desk_sandbox.scripts.plain_form import asserts, plain_form, test_classes
from desk_sandbox.scripts.syntax import (
    ScriptRefused,
    parse_script,
    with_plain_line_ends,
    without_syntax_warnings,
)

NO_TEST = (
    "holds no test: write assertions, functions whose names begin with test_, or such methods in a class of "
    "unittest.TestCase"
)


@lru_cache(maxsize=8)  # a task is checked more than once while it is submitted
def check_script(script: str, *, entry_point: str | None) -> None:
    """Raise ScriptRefused, with place and reason, if the script could not test any code."""
    form = plain_form(parse_script(with_plain_line_ends(script)))
    if form.refused:
        raise ScriptRefused(next(iter(form.refused.values())))
    missing_call(form.tree, entry_point=entry_point)


def missing_call(tree: ast.Module, *, entry_point: str | None) -> str:
    """Return the line `check(entry_point)` if the script defines such a function and calls nothing.

    HumanEval has such scripts. Raise ScriptRefused if there is no entry point, or no test at all: such a script would
    pass with nothing tested.
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
    """Return the test functions with "", and the methods of test classes with the class's name."""
    found: list[tuple[str, Function]] = []
    classes = {id(node) for node in test_classes(tree)}
    for node in tree.body:
        if isinstance(node, Function) and node.name.startswith("test"):
            found.append(("", node))
        elif isinstance(node, ast.ClassDef) and id(node) in classes:
            methods = (method for method in node.body if isinstance(method, Function))
            found += [(node.name, method) for method in methods if method.name.startswith("test")]
    return found


# Names that a test script takes from the code under test, and names that are undefined

SOLUTION = "solution"
GIVEN = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}
# Usual names of modules that a script forgot to import; no task asks for a function with such a name.
MODULES = sys.stdlib_module_names | {"pytest", "np", "numpy", "pd", "pandas"}
# With these, names can be defined and accessed in ways that static analysis does not find.
DYNAMIC = frozenset({"globals", "locals", "exec", "eval", "vars", "setattr", "__import__", "importlib"})
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def free_names(tree: ast.AST) -> frozenset[str]:
    """Return the names that the tree reads and nowhere binds, without builtins."""
    read: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        bound |= _bound_by(node)
    return frozenset(read - bound - GIVEN)


def _bound_by(node: ast.AST) -> set[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.alias():
            return {(node.asname or node.name).partition(".")[0]}
        case ast.arg():
            return {node.arg}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return {name}
        case ast.MatchMapping(rest=str(name)):
            return {name}
    return set()


def defined_names(code: str) -> frozenset[str] | None:
    """Return the names that the code defines in its module, or None if static analysis cannot determine them."""
    try:
        with without_syntax_warnings():
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: set[str] = set()
    pending: list[ast.AST] = [*tree.body]
    while pending:
        node = pending.pop()
        found |= _bound_by(node)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                found.add(node.id)
            if node.id in DYNAMIC:
                return None
        if isinstance(node, ast.alias) and node.name == "*":
            return None
        if isinstance(node, Scope):
            if any(isinstance(inner, ast.Global) for inner in ast.walk(node)):
                return None
            continue
        pending.extend(ast.iter_child_nodes(node))
    return frozenset(found)


def uses_the_code(tree: ast.Module, names: frozenset[str]) -> bool:
    """Return True if the script can reach the code: by one of these names, the module, or dynamically."""
    free = free_names(tree)
    if free & (names | {SOLUTION}):
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and (node.id in DYNAMIC or node.id in names):
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SOLUTION in node.value:
            return True
        if isinstance(node, ast.alias) and node.name.partition(".")[0] in {"importlib", "inspect", "sys", SOLUTION}:
            return True
        if isinstance(node, ast.ImportFrom) and node.module == SOLUTION:
            return True
    return False


def wanted_names(script: str, *, code: str, entry_point: str | None, objective: str) -> tuple[str, ...]:
    """Return the undefined names in the script that the code should have defined.

    If the code has what was requested, other undefined names are mistakes of the script, unless the task mentions them.
    Requested are the entry point, a name that the task mentions, or another name that the script uses.
    """
    try:
        tree = parse_script(with_plain_line_ends(script))
    except ScriptRefused:
        return ()
    free, defined = free_names(tree), defined_names(code)
    if defined is None:
        return tuple(sorted(free - MODULES))
    missing = free - defined - MODULES
    first = entry_point.partition(".")[0] if entry_point else ""
    # Compared without case: a task mentions a queue if the code should define a Queue.
    words = {word.casefold() for word in re.findall(r"[^\W\d]\w*", objective)}
    with without_syntax_warnings():
        functions = {node.name for node in ast.parse(code).body if isinstance(node, Scope)}
    # A name of one letter occurs in any text.
    named = {name for name in functions if len(name) > 1 and name.casefold() in words}
    does_as_told = first in defined or bool(functions & free) or bool(named)
    wanted = {name for name in missing if name == first or name.casefold() in words}
    return tuple(sorted(wanted if does_as_told else missing))
