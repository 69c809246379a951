"""Parse a test script, or report where and why it cannot be parsed."""

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from desk_sandbox.scripts.unit_asserts import APPROX

SCRIPT_FILE = "tests.py"
TOO_DEEP = "is nested too deeply, or too long in one expression, for Python to read"
_one_at_a_time = threading.Lock()


class ScriptRefused(ValueError):
    """The script cannot be used; the text has the reason, and the place if known."""

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        places = {"line": line, "column": column}
        where = ", ".join(f"{name} {number}" for name, number in places.items() if number)
        super().__init__(f"{where}: {message}" if where else message)


def refused_at(node: ast.AST, message: str) -> ScriptRefused:
    """Return the refusal with the place of `node`."""
    line, column = getattr(node, "lineno", None), getattr(node, "col_offset", None)
    return ScriptRefused(message, line=line, column=None if column is None else column + 1)


def with_plain_line_ends(script: str) -> str:
    """Return the script with the line ends that the parser counts."""
    return script.replace("\r\n", "\n").replace("\r", "\n")


def parse_script(script: str) -> ast.Module:
    """Return the tree of a script that Python can compile. Raise ScriptRefused with Python's message and the place."""
    try:
        with without_syntax_warnings():
            tree = ast.parse(script, SCRIPT_FILE)
            compile(tree, SCRIPT_FILE, "exec", dont_inherit=True)  # also finds a `return` outside of a function
    except SyntaxError as error:
        raise ScriptRefused(error.msg, line=error.lineno, column=error.offset) from None
    except (RecursionError, MemoryError):
        raise ScriptRefused(TOO_DEEP) from None
    except ValueError as error:
        raise ScriptRefused(str(error)) from None
    return tree


@contextmanager
def without_syntax_warnings() -> Iterator[None]:
    r"""Suppress warnings, such as those on "\d" or an assertion on a tuple.

    The script's author does not read our log. Only one thread at a time: the filters belong to the process, and
    overlapping changes would leave them modified.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


# Use of pytest by a test script: which parts exist here, under which names, and which are refused

# pytest itself is not in the sandbox; these parts of it are.
GIVEN = {"raises": "__raises__", "approx": APPROX, "fail": "__fail__"}
IN_DECORATORS = frozenset({"fixture", "param", "mark"})
# Marks that do more than label a test.
REFUSED_MARKS = frozenset({"skip", "skipif", "xfail", "usefixtures", "filterwarnings"})
THERE_IS = "of pytest there are raises, approx, fail, fixture, param, mark.parametrize and marks that only name a test"


class PytestWords:
    """The names under which the script knows pytest and its parts."""

    def __init__(self, tree: ast.Module) -> None:
        self.modules: set[str] = set()
        self.parts: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.modules |= {alias.asname or "pytest" for alias in node.names if alias.name == "pytest"}
            elif isinstance(node, ast.ImportFrom) and node.module == "pytest" and not node.level:
                for alias in node.names:
                    if alias.name not in GIVEN and alias.name not in IN_DECORATORS:
                        raise refused_at(node, f"`from pytest import {alias.name}` is not there; {THERE_IS}")
                    self.parts[alias.asname or alias.name] = alias.name

    def part(self, node: ast.AST) -> str:
        """Return the part of pytest that this names, such as `mark.parametrize`, or ""."""
        if isinstance(node, ast.Name):
            return self.parts.get(node.id, "")
        if not isinstance(node, ast.Attribute):
            return ""
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            return node.attr
        outer = self.part(node.value)
        return f"{outer}.{node.attr}" if outer else ""

    def called(self, node: ast.expr) -> str:
        """Return the part that this names or calls."""
        return self.part(node.func if isinstance(node, ast.Call) else node)


class WithoutPytest(ast.NodeTransformer):
    """Remove pytest's imports, and rename its parts to names unknown to the code under test."""

    def __init__(self, words: PytestWords) -> None:
        self.words = words

    def visit_Import(self, node: ast.Import) -> ast.stmt:
        node.names = [alias for alias in node.names if alias.name != "pytest"]
        return node if node.names else ast.copy_location(ast.Pass(), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node) if node.module == "pytest" and not node.level else node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._part_of(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._part_of(node)

    def _part_of(self, node: ast.Name | ast.Attribute) -> ast.expr:
        part = self.words.part(node)
        if not part:
            self.generic_visit(node)
            return node
        if part in GIVEN:
            return ast.copy_location(ast.Name(GIVEN[part], ast.Load()), node)
        if part.startswith("mark."):  # `pytestmark = pytest.mark.slow`
            check_mark(part, node)
            return ast.copy_location(ast.Constant(None), node)
        raise refused_at(node, f"`pytest.{part}` is not there; {THERE_IS}")


def check_mark(part: str, node: ast.AST) -> None:
    """Raise ScriptRefused for a mark that would change whether the test counts."""
    name = part.partition(".")[2]
    if name in REFUSED_MARKS:
        raise refused_at(node, f"`pytest.mark.{name}` is not there: leave such a test out; {THERE_IS}")
