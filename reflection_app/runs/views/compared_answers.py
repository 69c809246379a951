"""What several attempts answered on the same tests, test by test."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reflection_app.loops.code_tests import FailureReason, TestReport, TestResult
from reflection_app.loops.referee.plain_values import is_same_text_or_value

Key = tuple[str, int]


@dataclass(frozen=True)
class AnswerCell:
    """What one attempt answered; no result where the test was not put to it. A passed test's value is the expected."""

    number: int
    result: TestResult | None
    value: str = ""

    @property
    def passed(self) -> bool:
        return self.result is not None and self.result.passed

    @property
    def has_answer(self) -> bool:
        return self.result is not None and (self.passed or self.result.reason is FailureReason.WRONG_ANSWER)

    def is_same_as(self, other: "AnswerCell") -> bool:
        if (self.has_answer, self.passed) != (other.has_answer, other.passed):
            return False
        return self.passed or not self.has_answer or is_same_text_or_value(self.value, other.value)


@dataclass(frozen=True)
class TestLine:
    """One test with each attempt's answer."""

    __test__ = False  # keeps pytest from collecting a class whose name begins with Test

    name: str
    input: str
    expected: str
    cells: tuple[AnswerCell, ...]

    @property
    def attempts_differ(self) -> bool:
        return any(not cell.is_same_as(self.cells[0]) for cell in self.cells[1:])

    @property
    def all_pass(self) -> bool:
        return all(cell.passed for cell in self.cells)

    @property
    def is_outvoted(self) -> bool:
        """Whether several attempts agree on another answer than the test expects."""
        first = self.cells[0]
        return len(self.cells) > 1 and first.has_answer and not first.passed and not self.attempts_differ


def compare_answers(reports: Mapping[int, TestReport]) -> tuple[TestLine, ...]:
    """A line for each test, those on which the attempts differ first, those that all pass last."""
    numbers = sorted(reports)
    named = {number: _by_name(reports[number].results) for number in numbers}
    keys = dict.fromkeys(key for number in numbers for key in named[number])
    lines = [_line([named[number].get(key) for number in numbers], numbers) for key in keys]
    return tuple(sorted(lines, key=lambda line: (not line.attempts_differ, line.all_pass)))


def _by_name(results: Sequence[TestResult]) -> dict[Key, TestResult]:
    """The results by name, and by number where a name occurs again."""
    seen: Counter[str] = Counter()
    named: dict[Key, TestResult] = {}
    for result in results:
        named[result.name, seen[result.name]] = result
        seen[result.name] += 1
    return named


def _line(results: Sequence[TestResult | None], numbers: Sequence[int]) -> TestLine:
    there = [result for result in results if result is not None]
    expected = next((result.expected for result in there if result.expected), "")
    cells = (
        AnswerCell(number, result, value=_value(result, expected))
        for number, result in zip(numbers, results, strict=True)
    )
    return TestLine(name=there[0].name, input=there[0].input, expected=expected, cells=tuple(cells))


def _value(result: TestResult | None, expected: str) -> str:
    if result is None:
        return ""
    return expected if result.passed else result.actual
