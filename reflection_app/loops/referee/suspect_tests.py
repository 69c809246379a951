"""Tests that a model wrote, read with suspicion, joined with the examples that the task itself gives.

What is told to be wrong without running anything is left out here: a test that contradicts an example of the task, and
tests that contradict each other. What is left becomes one script, the examples first.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from reflection_app.loops.code_tests import MAX_CASES, Unreadable, is_same_text_or_value, read_value

# The examples that a task's own text gives: `>>> f(2)` with `4` below it, `f(2) == 4`, `f(2) ➞ 4`, `f(2) returns 4`.
#
# They came with the task, so their word is worth more than that of a test which a model wrote.

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
    lines = task.replace("\r\n", "\n").split("\n")
    calls = (
        (number, match.start())
        for number, line in enumerate(lines)
        for match in re.finditer(rf"(?<![\w.]){re.escape(entry_point)}\(", line)
    )
    for number, start in islice(calls, MOST_CALLS_READ):
        line, value = lines[number], ""
        call, end = _call_at(line, start)
        rest = line[end:]
        if call and line.lstrip().startswith(">>>") and not rest.strip():
            value = _whole_value("".join(lines[number + 1 : number + 2]))
        elif call and (arrow := ARROW.match(rest)):
            value = _value_at(rest[arrow.end() :])
        if not value:
            continue
        known = found.setdefault(call, Example(call=call, value=value))
        if known.value != value:
            contradicted.add(call)
    return tuple(example for call, example in found.items() if call not in contradicted)[:MOST_EXAMPLES]


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
        try:
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                read_value(ast.unparse(argument))
        except (Unreadable, RecursionError):
            return "", 0
        return ast.unparse(node), start + end
    return "", 0


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


LONGEST_SCRIPT = 200_000
# Room for the task's own examples, within what the tests of a task may take up.
LONGEST_PART_OF_MODEL = 100_000
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,199}")


@dataclass(frozen=True)
class SuspectTests:
    """`script` is for the sandbox; its first `examples` tests are the task's own examples.

    `left_out` says of each test that was left out why, for the page.
    """

    script: str
    examples: int
    entry_point: str
    left_out: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.script


def suspect_tests(generated: str, *, task: str) -> SuspectTests:
    """Return the tests to run for a task, from the script that a model wrote; empty if nothing in it can be used.

    The entry point is the function that most of the tests call.
    """
    generated = generated.replace("\r\n", "\n").replace("\r", "\n")
    statements = _parsed(generated)
    if statements is None:
        # Those of the lines that can be parsed: one bad test must not cost all.
        statements = [node for line in generated.split("\n")[: 4 * MAX_CASES] for node in _parsed(line) or []]
    called = (equality[0].partition("(")[0] for equality in map(read_equality, statements) if equality)
    names = Counter(name for name in called if NAME.fullmatch(name))
    entry_point = names.most_common(1)[0][0] if names else ""
    examples = examples_in(task, entry_point=entry_point)
    kept, left_out = sort_out(statements, examples)
    has_tests = bool(examples) or any(isinstance(inner, ast.Assert) for node in kept for inner in ast.walk(node))
    lines, room = [example.source for example in examples], LONGEST_PART_OF_MODEL
    for source in map(ast.unparse, kept):
        room -= len(source) + 1
        if room < 0:
            break
        lines.append(source)
    return SuspectTests(
        script="\n".join(lines) if has_tests else "",
        examples=len(examples),
        entry_point=entry_point,
        left_out=left_out,
    )


def _parsed(source: str) -> list[ast.stmt] | None:
    """The statements, all of which can be written out again."""
    if len(source) > LONGEST_SCRIPT:
        return None
    try:
        tree = ast.parse(source)
        ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree.body


def sort_out(statements: list[ast.stmt], examples: Iterable[Example]) -> tuple[list[ast.stmt], tuple[str, ...]]:
    """Return the statements to run, at most MAX_CASES, and the reason for each test that is left out.

    A test that repeats an example or an earlier test is dropped without a reason.
    """
    of_task = {example.call: example.value for example in examples}
    equalities = [(node, *(read_equality(node) or ("", ""))) for node in statements]
    first: dict[str, str] = {}
    disputed = {
        call for _, call, value in equalities if not is_same_text_or_value(first.setdefault(call, value), value)
    }
    kept: dict[object, ast.stmt] = {}
    left_out = []
    for node, call, value in equalities:
        why = ""
        if call in of_task:
            if not is_same_text_or_value(of_task[call], value):
                why = f"contradicts the task's own example, which has {of_task[call]}"
        elif call in disputed:
            why = "contradicts another test"
        else:
            kept.setdefault(call or node, node)
        if why:
            left_out.append(f"{ast.unparse(node)[:300]}: {why}")
    return list(kept.values())[:MAX_CASES], tuple(left_out)


def read_equality(node: ast.stmt) -> tuple[str, str] | None:
    """The call and the value of `assert call == value`, as source in one form; None for any other statement."""
    if not (isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1):
        return None
    if not isinstance(node.test.ops[0], ast.Eq | ast.Is):
        return None
    sides = node.test.left, node.test.comparators[0]
    for call, value in (sides, sides[::-1]):
        if isinstance(call, ast.Call):
            try:
                return ast.unparse(call), repr(read_value(ast.unparse(value)))
            except (Unreadable, RecursionError):
                continue
    return None
