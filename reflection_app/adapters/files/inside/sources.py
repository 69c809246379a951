"""Source code: whether it can be parsed, where there is a parser for its language."""

import ast
import warnings
from importlib import import_module
from typing import Any

from reflection_app.adapters.files.inside.found import CannotLook, Found, line_place
from reflection_app.loops.completeness.file_codes import FaultCode

PYTHON = "text/x-python"
# The module of each grammar and the function in it that gives it. C and C++ are left out: what their preprocessor has
# not seen is often no C yet, and a parser alone calls it broken.
GRAMMARS = {
    "text/javascript": ("tree_sitter_javascript", "language"),
    "text/x-typescript": ("tree_sitter_typescript", "language_typescript"),
    "text/x-tsx": ("tree_sitter_typescript", "language_tsx"),
    "text/x-java": ("tree_sitter_java", "language"),
    "text/x-go": ("tree_sitter_go", "language"),
    "text/x-rust": ("tree_sitter_rust", "language"),
}
TYPESCRIPT = ("text/x-typescript", "text/x-tsx")
MOST_FAULTS = 3
# What a bundler wrote has one line for everything, and signs in it that no person writes and not every grammar knows.
LONGEST_LINE = 10_000
MOST_NODES = 5_000_000


def look_at_source(content: bytes, found: Found) -> None:
    if found.media_type == PYTHON:
        look_at_python(content, found)
    elif found.media_type in GRAMMARS:
        look_by_grammar(content, found)
    else:
        raise CannotLook(found.media_type)


def look_at_python(content: bytes, found: Found) -> None:
    """By the grammar of the Python that runs here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(content)
        except SyntaxError as error:
            found.fault(FaultCode.SYNTAX, place=line_place(error.lineno or 1), actual=error.msg)
        except ValueError as error:  # NUL
            found.fault(FaultCode.SYNTAX, actual=str(error))
        except (RecursionError, MemoryError):
            found.fault(FaultCode.UNFOLDS)


def look_by_grammar(content: bytes, found: Found) -> None:
    """A fault for each place where the parser had to leave something out or to put something in."""
    module, function = GRAMMARS[found.media_type]
    try:
        from tree_sitter import Language, Parser

        grammar = Language(getattr(import_module(module), function)())
    except ImportError:
        raise CannotLook(module.replace("_", "-")) from None
    tree = Parser(grammar).parse(content.removeprefix(b"\xef\xbb\xbf"))
    if not tree.root_node.has_error:
        return
    if max(map(len, content.split(b"\n"))) > LONGEST_LINE:
        raise CannotLook(found.media_type)
    for node in broken_nodes(tree.root_node):
        if found.media_type in TYPESCRIPT and (node.text or b"").startswith(b"import("):
            continue  # a type by its module, which the grammar does not know in every place
        shown = f"missing {node.type}" if node.is_missing else (node.text or b"")[:60].decode("utf-8", "replace")
        found.fault(FaultCode.SYNTAX, place=line_place(node.start_point[0] + 1), actual=shown)


def broken_nodes(root: Any) -> list[Any]:
    """The first places that are broken, from the top of the file."""
    waiting, broken = [root], list[Any]()
    for _ in range(MOST_NODES):
        if not waiting or len(broken) >= MOST_FAULTS:
            break
        node = waiting.pop()
        if node.is_error or node.is_missing:
            broken.append(node)
        elif node.has_error:
            waiting.extend(reversed(node.children))
    return broken
