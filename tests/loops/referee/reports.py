"""Test reports as the sandbox makes them, written short."""

from collections.abc import Sequence

from reflection_app.loops.code_tests import FailureReason, TestReport, TestResult
from reflection_app.loops.referee.suspect_tests import SuspectTests
from reflection_app.loops.referee.weighing import Standing, Tried, weigh

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


def standing(
    *attempts: Sequence[object],
    expected: Sequence[object] = (10, 20, 30, 40, 50),
    examples: int = 0,
    annotation: str = "",
) -> Standing:
    """The standing of attempts that are given by their answers."""
    suspects = SuspectTests(script="…", examples=examples, entry_point="f", annotation=annotation)
    tried = [Tried(number=n, report=report(each, expected=expected)) for n, each in enumerate(attempts, 1)]
    return weigh(tried, suspects=suspects)
