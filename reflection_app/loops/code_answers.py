"""Taking the code out of a model's answer."""

import ast
import re

# A fence may be indented, may be left open at the end of a truncated answer, and may name a language or not.
_FENCE = re.compile(
    r"^[ \t]*(`{3,}+|~{3,}+)[ \t]*([\w+-]*+)[^\n]*+\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_PYTHON = frozenset({"", "python", "py", "python3"})


def blocks_in(answer: str, *, languages: frozenset[str]) -> list[str]:
    """What stands in the code fences of `answer` that name one of `languages`; "" is a fence that names none."""
    return [match[3] for match in _FENCE.finditer(answer) if match[2].lower() in languages]


def code_of(answer: str, *, entry_point: str | None = None) -> str:
    """The code in a model's answer: the last block that defines `entry_point`, else the longest Python block.

    An answer without a block is taken whole: many models answer with bare code.
    """
    blocks = blocks_in(answer, languages=_PYTHON)
    if not blocks:
        return answer.strip("\n")
    defining = [block for block in blocks if entry_point and _defines(block, entry_point.split(".")[0])]
    return (defining[-1] if defining else max(blocks, key=len)).rstrip()


def _defines(code: str, name: str) -> bool:
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return re.search(rf"^(?:async\s+)?(?:def|class)\s+{re.escape(name)}\b", code, re.MULTILINE) is not None
    return any(name in _names_of(node) for node in body)


def _names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []
