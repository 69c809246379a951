"""A test script as a syntax tree, or where and why it cannot be read."""

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

SCRIPT_FILE = "tests.py"
TOO_DEEP = "is nested too deeply, or too long in one expression, for Python to read"
_one_at_a_time = threading.Lock()


class ScriptRefused(ValueError):
    """The script cannot be used; the text says why, and where if a place is known."""

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        places = {"line": line, "column": column}
        where = ", ".join(f"{name} {number}" for name, number in places.items() if number)
        super().__init__(f"{where}: {message}" if where else message)


def refused_at(node: ast.AST, message: str) -> ScriptRefused:
    """The refusal that names the place of `node`."""
    line, column = getattr(node, "lineno", None), getattr(node, "col_offset", None)
    return ScriptRefused(message, line=line, column=None if column is None else column + 1)


def with_plain_line_ends(script: str) -> str:
    """The script with lines as the parser counts them."""
    return script.replace("\r\n", "\n").replace("\r", "\n")


def parse_script(script: str) -> ast.Module:
    """The tree of a script that Python can compile. Raises ScriptRefused with Python's own message and the place."""
    try:
        with without_syntax_warnings():
            tree = ast.parse(script, SCRIPT_FILE)
            compile(tree, SCRIPT_FILE, "exec", dont_inherit=True)  # finds a `return` outside of a function, too
    except SyntaxError as error:
        raise ScriptRefused(error.msg, line=error.lineno, column=error.offset) from None
    except (RecursionError, MemoryError):
        raise ScriptRefused(TOO_DEEP) from None
    except ValueError as error:
        raise ScriptRefused(str(error)) from None
    return tree


@contextmanager
def without_syntax_warnings() -> Iterator[None]:
    r"""Nothing is said of a "\d" or of an assertion on a tuple: whoever wrote the script does not read our log.

    One thread at a time, since the filters are the whole process's and two that overlap would leave them changed.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
