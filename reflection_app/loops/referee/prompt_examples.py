"""The examples that a task's own text gives: `>>> f(2)` with `4` below it, `f(2) == 4`, `f(2) ➞ 4`, `f(2) returns 4`.

They came with the task, so their word is worth more than that of a test which a model wrote.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from reflection_app.loops.referee.plain_values import Unreadable, read_value

MOST_EXAMPLES = 20
LONGEST_CALL = 2_000
ARROW = re.compile(
    r"\s*(?:#\s*)?(?:==>|=>|==|->|=|→|➞|⇒|(?:should\s+)?(?:returns?|gives?|outputs?|evaluates\s+to|be)\b:?)\s*"
)


@dataclass(frozen=True)
class Example:
    """A call of the entry point with plain arguments and the plain value that it must give, both as source."""

    call: str
    value: str

    @property
    def source(self) -> str:
        """The example as an assertion, on one line."""
        return f"assert {self.call} == {self.value}"


def examples_in(task: str, *, entry_point: str) -> tuple[Example, ...]:
    """The examples of the task's text, without repeats; two that contradict each other are both left out."""
    found: dict[str, Example] = {}
    contradicted: set[str] = set()
    lines = task.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        for example in _examples_of_line(line, following, entry_point=entry_point):
            known = found.setdefault(example.call, example)
            if known.value != example.value:
                contradicted.add(example.call)
    return tuple(example for call, example in found.items() if call not in contradicted)[:MOST_EXAMPLES]


def _examples_of_line(line: str, following: str, *, entry_point: str) -> Iterator[Example]:
    for match in re.finditer(rf"(?<![\w.]){re.escape(entry_point)}\(", line):
        call, end = _call_at(line, match.start())
        if not call:
            continue
        rest = line[end:]
        is_prompted = line.lstrip().startswith(">>>") and not rest.strip()
        arrow = None if is_prompted else ARROW.match(rest)
        value = _whole_value(following) if is_prompted else _value_at(rest[arrow.end() :]) if arrow else ""
        if value:
            yield Example(call=call, value=value)


def _call_at(line: str, start: int) -> tuple[str, int]:
    """The call that begins there and where it ends; empty unless all its arguments are plain values."""
    for end in (match.end() for match in re.finditer(r"\)", line[start : start + LONGEST_CALL])):
        try:
            node = ast.parse(line[start : start + end], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return "", 0
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        return (ast.unparse(node), start + end) if all(map(_is_plain, arguments)) else ("", 0)
    return "", 0


def _is_plain(node: ast.expr) -> bool:
    try:
        read_value(ast.unparse(node))
    except (Unreadable, RecursionError):
        return False
    return True


def _value_at(text: str) -> str:
    """The plain value with which the text begins, as source; the longest one that can be read."""
    text = text.strip()[:LONGEST_CALL]
    ends = [len(text), *(match.start() for match in re.finditer(r"[\s.,;#)]", text))]
    for end in sorted(set(ends), reverse=True):
        written = text[:end].rstrip(" \t.,;#")
        if value := _whole_value(written):
            return "" if value.startswith("(") and not written.startswith("(") else value
    return ""


def _whole_value(text: str) -> str:
    try:
        return repr(read_value(text.strip()))
    except Unreadable:
        return ""
