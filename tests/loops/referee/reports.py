"""Test reports as the sandbox makes them, written short."""

from collections.abc import Sequence

from reflection_app.loops.attempt_effects import Pick
from reflection_app.loops.code_tests import FailureReason, TestReport, TestResult
from reflection_app.loops.referee.suspect_tests import SuspectTests
from reflection_app.loops.referee.weighing import weigh

OK = object()
CRASH = FailureReason.EXCEPTION


def result(number: int, answer: object, expected: object) -> TestResult:
    """The result of test `number`: OK, a reason for which there is no answer, or another answer than the expected."""
    name = f"assert f({number}) == {expected!r}"
    if answer is OK:
        return TestResult(name=name, passed=True)
    if isinstance(answer, FailureReason):
        return TestResult(name=name, passed=False, reason=answer, error="line 2, in f: …")
    return TestResult(
        name=name, passed=False, reason=FailureReason.WRONG_ANSWER, actual=repr(answer), expected=repr(expected)
    )


def report(answers: Sequence[object], *, expected: Sequence[object] = (10, 20, 30, 40, 50)) -> TestReport:
    pairs = zip(answers, expected, strict=False)
    return TestReport(results=tuple(result(number, *pair) for number, pair in enumerate(pairs)))


def suspects(*, examples: int = 0, left_out: tuple[str, ...] = ()) -> SuspectTests:
    return SuspectTests(script="…", examples=examples, entry_point="f", left_out=left_out)


def reports(*attempts: Sequence[object], expected: Sequence[object] = (10, 20, 30, 40, 50)) -> dict[int, TestReport]:
    """The reports of attempts that are given by their answers."""
    return {number: report(each, expected=expected) for number, each in enumerate(attempts, 1)}


def pick(*attempts: Sequence[object], expected: Sequence[object] = (10, 20, 30, 40, 50), examples: int = 0) -> Pick:
    """The pick from attempts that are given by their answers."""
    return weigh(reports(*attempts, expected=expected), suspects=suspects(examples=examples))[0]


def scores(*attempts: Sequence[object]) -> dict[int, float]:
    return weigh(reports(*attempts), suspects=suspects())[1]
