"""Judge a child's reports outside the sandbox, where the expected values are."""

import os
import signal
from collections.abc import Sequence
from typing import Any

from desk_sandbox.code_tests import CallCase, FailureReason, StdinCase, TestResult
from desk_sandbox.inside.approx import Approx, agrees, has_approx
from desk_sandbox.process import Record, clean, shown
from desk_sandbox.scripts.asks import Ask
from desk_sandbox.scripts.planning import Item
from desk_sandbox.values import (
    MalformedValue,
    check_tree,
    foreign_part,
    matches,
    read_message,
    render,
    size_of_tree,
)

# Comparison of a script's reported value with a literal, like Python's `==` for plain data


def equals(tree: Any, literal: Any, *, is_identity: bool) -> bool:
    """Return True if the tree equals the literal. The tree is in the exact form, whose dictionary keys are trees.

    Anything but plain data is unequal. Raise MalformedValue for an impossible value.
    """
    if is_identity:
        return tree is literal
    if size_of_tree(tree) != size_of_literal(literal):
        return False  # values built below are then no larger than the literal
    try:
        actual = thaw(tree)
        return agrees(actual, literal) if has_approx(literal) else bool(actual == literal)
    except (TypeError, RecursionError, OverflowError) as error:
        raise MalformedValue("a set of what can be in no set, or a number beyond all bounds") from error


def size_of_literal(literal: Any) -> int:
    if isinstance(literal, Approx):
        return size_of_literal(literal.expected)
    if isinstance(literal, dict):
        return 1 + sum(size_of_literal(key) + size_of_literal(value) for key, value in literal.items())
    return 1 + (sum(map(size_of_literal, literal)) if isinstance(literal, list | tuple | set) else 0)


def thaw(tree: Any) -> Any:
    """Return the Python value of a tree; anything but plain data becomes an object that equals nothing."""
    if not isinstance(tree, dict):
        return tree
    tag, content = next(iter(tree.items()))
    if tag == "x":
        return object()
    if tag in {"m", "d"}:
        return {(thaw(key) if tag == "m" else key): thaw(value) for key, value in content}
    kind = {"l": list, "t": tuple, "s": frozenset}[tag]
    return kind(map(thaw, content))


KINDS = {
    "exception": FailureReason.EXCEPTION,
    "missing": FailureReason.EXCEPTION,
    "memory": FailureReason.MEMORY,
    "too_large": FailureReason.OUTPUT_LIMIT,
    "exit": FailureReason.EXITED,
    "assertion": FailureReason.WRONG_ANSWER,
    "forged": FailureReason.FORGED,
}
MOST_REPORTED = 1_500_000
FORGED_TEXT = "The code wrote to the channel on which its results are reported."


class Judge:
    """Makes the results of one run; `wall_s` is used in the text of a timeout."""

    def __init__(self, *, wall_s: float, entry_point: str | None) -> None:
        self.wall_s, self.entry_point = wall_s, entry_point

    def judge_case(self, case: CallCase, record: Record, *, name: str) -> TestResult:
        """Return the result of a case. It passes only if the returned value, as data, is the expected one."""
        arguments = [repr(value) for value in case.args] + [f"{key}={value!r}" for key, value in case.kwargs.items()]
        result = TestResult(
            name=name,
            passed=False,
            input=clean(f"{self.entry_point}({', '.join(arguments)})"),
            expected=shown(case.expected),
            duration_ms=record.duration_ms,
        )
        try:
            message = self.read(record)
            if isinstance(message, TestResult):
                return result.model_copy(update=told(message))
            tree = message["value"]
            check_tree(tree)
        except (MalformedValue, KeyError, RecursionError):
            return failed(result, FailureReason.FORGED, FORGED_TEXT)
        result = result.model_copy(update={"actual": clean(render(tree))})
        if matches(tree, case.expected):
            return result.model_copy(update={"passed": True})
        foreign = foreign_part(tree)
        error = "" if foreign is None else f"The returned value is not plain data: {clean(foreign, limit=500)}"
        return failed(result, FailureReason.WRONG_ANSWER, error)

    def judge_program(self, case: StdinCase, record: Record, *, name: str) -> TestResult:
        """Return the result of a program. It passes only if it ended normally and printed the expected text.

        Trailing white space is ignored.
        """
        result = TestResult(
            name=name,
            passed=False,
            input=clean(case.stdin),
            expected=clean(case.expected_stdout),
            actual=clean(record.stdout),
            duration_ms=record.duration_ms,
        )
        reason, error = self.judge_end_of_program(record)
        if reason is None and lines_of(record.stdout.decode("utf-8", "replace")) != lines_of(case.expected_stdout):
            reason = FailureReason.WRONG_ANSWER
        return result.model_copy(update={"passed": reason is None, "reason": reason, "error": error})

    def judge_end_of_program(self, record: Record) -> tuple[FailureReason | None, str]:
        """Return the reason and text of an abnormal end, or (None, "")."""
        if record.outcome == "ended" and record.status == 0 and not record.report:
            return None, ""
        try:
            message = self.read(record)
        except MalformedValue:
            return FailureReason.FORGED, FORGED_TEXT
        if isinstance(message, TestResult):
            return message.reason, message.error
        status = message.get("status")
        if type(status) is not int:
            return FailureReason.FORGED, FORGED_TEXT
        return (None, "") if status == 0 else (FailureReason.EXITED, f"The program ended with status {status}.")

    def judge_item(self, item: Item, record: Record, *, asks: Sequence[Ask] = ()) -> TestResult:
        """Return the result of a script's test.

        It passes only if the child reported so in a valid record, with all requested values, and all of them right.
        """
        result = TestResult(name=clean(item.name, limit=200), passed=False, duration_ms=record.duration_ms)
        try:
            answers = read_answers(record, asks)
            message = self.read(record)
            wrong = first_wrong(answers)
        except (MalformedValue, RecursionError):
            return failed(result, FailureReason.FORGED, FORGED_TEXT)
        if wrong is not None:
            return wrong_answer(result, *wrong)
        if isinstance(message, TestResult):
            return result.model_copy(update=told(message))
        untold = {asks[number].source for number in item.needs_told} - {ask.source for ask, _ in answers}
        if message.get("ok") is not True or not message.keys() <= {"ok", "told"} or untold:
            return failed(result, FailureReason.FORGED, FORGED_TEXT)
        return result.model_copy(update={"passed": True})

    def judge_alone(self, item: Item, record: Record, *, asks: Sequence[Ask] = ()) -> TestResult:
        """Return the result of a test that ran without code.

        It also passes if it reached the code without a fault.
        """
        try:
            has_reached_it = read_message(record.report).get("kind") == "touched"
            wrong = first_wrong(read_answers(record, asks)) if has_reached_it else None
        except MalformedValue:
            has_reached_it, wrong = False, None
        if not has_reached_it:
            return self.judge_item(item, record, asks=asks)
        result = TestResult(name=clean(item.name, limit=200), passed=wrong is None)
        return result if wrong is None else wrong_answer(result, *wrong)

    def read(self, record: Record) -> dict[str, Any] | TestResult:
        """Return the child's message if it reported a value, else the failure."""
        ended = self.judge_end(record)
        if ended is not None:
            return ended
        message = read_message(record.report)
        kind = message.get("kind")
        if kind is None:
            return message
        error = message.get("error")
        if not isinstance(kind, str) or kind not in KINDS or not isinstance(error, str):
            raise MalformedValue("not a failure")
        if kind == "missing":
            error = f"There is no function {self.entry_point}; the code defines: {error or 'nothing'}."
        sides = {side: clean(text) for side in ("actual", "expected") if isinstance(text := message.get(side), str)}
        return TestResult(name="", passed=False, reason=KINDS[kind], error=clean(error), **sides)

    def judge_end(self, record: Record) -> TestResult | None:
        """Return the failure if the child did not end normally with a report, else None."""
        reason, error = self.explain(record)
        return None if reason is None else TestResult(name="", passed=False, reason=reason, error=error)

    def explain(self, record: Record) -> tuple[FailureReason | None, str]:
        killed_by = os.WTERMSIG(record.status) if os.WIFSIGNALED(record.status) else None
        stopped = {
            "forged": (FailureReason.FORGED, FORGED_TEXT),
            "output": (FailureReason.OUTPUT_LIMIT, "The code wrote more than it may."),
            "timeout": (FailureReason.TIMEOUT, f"No result within {self.wall_s:g} s."),
        }
        if record.outcome in stopped:
            return stopped[record.outcome]
        if killed_by == signal.SIGKILL and record.over_memory:
            return FailureReason.MEMORY, "All processes of the code together took more memory than they may."
        if killed_by is not None:
            return explain_signal(killed_by)
        if record.status or not record.report:
            left = os.waitstatus_to_exitcode(record.status)
            return FailureReason.EXITED, f"The process left with status {left} before it had given a result."
        return None, ""


def read_answers(record: Record, asks: Sequence[Ask]) -> list[tuple[Ask, Any]]:
    """Return the reported values with their assertions, in the order reported. Raise MalformedValue."""
    if len(record.report) > MOST_REPORTED:
        raise MalformedValue("longer than a child writes")
    told = read_message(record.report).get("told", []) if record.report else []
    if not isinstance(told, list):
        raise MalformedValue("not a list")
    for part in told:
        if not (isinstance(part, list) and len(part) == 2 and type(part[0]) is int and 0 <= part[0] < len(asks)):
            raise MalformedValue("not an answer")
        check_tree(part[1])
    return [(asks[number], tree) for number, tree in told]


def first_wrong(answers: Sequence[tuple[Ask, Any]]) -> tuple[Ask, Any] | None:
    """Return the first answer that differs from its assertion, or None."""
    return next(
        (pair for pair in answers if not equals(pair[1], pair[0].literal, is_identity=pair[0].is_identity)), None
    )


def wrong_answer(result: TestResult, ask: Ask, tree: Any) -> TestResult:
    sides = {"actual": clean(render(tree)), "expected": shown(ask.literal)}
    error = f"line {ask.node.lineno} of the tests: {clean(ask.source, limit=1_000)}"
    return failed(result.model_copy(update=sides), FailureReason.WRONG_ANSWER, error)


def explain_signal(number: int) -> tuple[FailureReason, str]:
    if number == signal.SIGXCPU:
        return FailureReason.TIMEOUT, "The limit on CPU time was reached."
    return FailureReason.CRASHED, f"The process was killed by {signal_name(number)}."


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def failed(result: TestResult, reason: FailureReason, error: str) -> TestResult:
    return result.model_copy(update={"passed": False, "reason": reason, "error": error})


def told(failure: TestResult) -> dict[str, Any]:
    """Return the fields that a failure sets in the result of its test."""
    return {
        "passed": False,
        **failure.model_dump(include={"reason", "error", "actual", "expected"}, exclude_defaults=True),
    }


def lines_of(text: str) -> list[str]:
    """Return the lines without trailing blanks, and without empty lines at the end."""
    return [line.rstrip(" \t\r") for line in text.rstrip(" \t\r\n").split("\n")]
