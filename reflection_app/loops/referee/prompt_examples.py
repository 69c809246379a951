"""The examples that a task's own text gives: `>>> f(2)` with `4` below it, `f(2) == 4`, `f(2) ➞ 4`, `f(2) returns 4`.

They came with the task, so their word is worth more than that of a test which a model wrote.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from reflection_app.loops.referee.plain_values import Unreadable, read_value

MOST_EXAMPLES = 20
LONGEST_CALL = 2_000
# A text without end of calls or brackets must not take long to look through.
MOST_CALLS_READ = 200
MOST_ENDS_TRIED = 50
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
    if not entry_point:
        return ()
    found: dict[str, Example] = {}
    contradicted: set[str] = set()
    for example in _all_examples(task, entry_point):
        known = found.setdefault(example.call, example)
        if known.value != example.value:
            contradicted.add(example.call)
    return tuple(example for call, example in found.items() if call not in contradicted)[:MOST_EXAMPLES]


def _all_examples(task: str, entry_point: str) -> Iterator[Example]:
    lines = task.replace("\r\n", "\n").split("\n")
    calls = (
        (number, match.start())
        for number, line in enumerate(lines)
        for match in re.finditer(rf"(?<![\w.]){re.escape(entry_point)}\(", line)
    )
    for number, start in islice(calls, MOST_CALLS_READ):
        line, following = lines[number], "".join(lines[number + 1 : number + 2])
        call, end = _call_at(line, start)
        value = _value_after(line, end, following) if call else ""
        if value:
            yield Example(call=call, value=value)


def _value_after(line: str, end: int, following: str) -> str:
    """What the call that ends there must give, as source; empty if the text does not say it in a known form."""
    rest = line[end:]
    if line.lstrip().startswith(">>>") and not rest.strip():
        return _whole_value(following)
    arrow = ARROW.match(rest)
    return _value_at(rest[arrow.end() :]) if arrow else ""


def _call_at(line: str, start: int) -> tuple[str, int]:
    """The call that begins there and where it ends; empty unless all its arguments are plain values."""
    closings = re.finditer(r"\)", line[start : start + LONGEST_CALL])
    for end in (match.end() for match in islice(closings, MOST_ENDS_TRIED)):
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
    ends = [len(text), *(match.start() for match in islice(re.finditer(r"[\s.,;#)]", text), MOST_ENDS_TRIED))]
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
