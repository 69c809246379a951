"""What an attempt answered on each test, read from its test report."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from reflection_app.loops.code_tests import FailureReason, TestReport, TestResult
from reflection_app.loops.referee.plain_values import Unreadable, is_same_text_or_value, read_value
from reflection_app.loops.referee.return_type import allows

Key = tuple[str, int]
Results = dict[Key, TestResult]
# As the sandbox tells where an exception came from: lines of the test script, and lines of the code.
FRAME_OF_CODE = re.compile(r"^line \d+, in ", re.MULTILINE)
UNKNOWN_NAME = re.compile(r"^NameError: name '([^']*)' is not defined", re.MULTILINE)


class Ending(StrEnum):
    AGREES = "agrees"
    DIFFERS = "differs"
    NO_ANSWER = "no_answer"


@dataclass(frozen=True)
class Answer:
    """`value` and `expected` are as shown; a passed test shows neither.

    A value that is not `fitting` is one that the task's signature rules out.
    """

    ending: Ending
    value: str = ""
    expected: str = ""
    fitting: bool = True

    def is_same_as(self, other: "Answer") -> bool:
        if self.ending is not other.ending:
            return False
        return self.ending is not Ending.DIFFERS or is_same_text_or_value(self.value, other.value)


@dataclass(frozen=True)
class Answers:
    """One attempt's answers on the task's own examples and on the tests that can be counted."""

    number: int
    examples: dict[Key, Answer]
    tests: dict[Key, Answer]

    @property
    def examples_held(self) -> int:
        return sum(answer.ending is Ending.AGREES for answer in self.examples.values())

    @property
    def passed(self) -> int:
        return sum(answer.ending is Ending.AGREES for answer in self.tests.values())

    @property
    def total(self) -> int:
        return len(self.tests)

    @property
    def given(self) -> int:
        """On how many tests it gave an answer that fits the task's signature."""
        return sum(answer.ending is not Ending.NO_ANSWER and answer.fitting for answer in self.tests.values())

    @property
    def has_most_against(self) -> bool:
        """Whether more than half of the tests fail."""
        return 2 * self.passed < self.total

    @property
    def is_answering(self) -> bool:
        """Whether it gave any answer at all; code that does not even run gives none."""
        return any(answer.ending is not Ending.NO_ANSWER for answer in self.all_answers())

    def all_answers(self) -> list[Answer]:
        return [*self.examples.values(), *self.tests.values()]


def read_answers(reports: dict[int, TestReport], *, examples: int, entry_point: str, annotation: str) -> list[Answers]:
    """The answers of all attempts, by number; a test is counted for all of them or for none.

    The first `examples` results of each report are of the task's own examples. Not counted are tests that did not run
    in some attempt, that fail by their own fault, and that expect what the annotation rules out.
    """
    of_task = {number: _by_name(report.results[:examples]) for number, report in sorted(reports.items())}
    of_model = {number: _by_name(report.results[examples:]) for number, report in sorted(reports.items())}
    held = _counted(of_task, lambda result: result.reason is FailureReason.NOT_RUN or result.is_broken)
    passed = _counted(of_model, lambda result: _is_no_evidence(result, entry_point, annotation))
    return [
        Answers(
            number=number,
            examples={key: _answer_of(of_task[number][key], annotation) for key in held},
            tests={key: _answer_of(of_model[number][key], annotation) for key in passed},
        )
        for number in of_task
    ]


def not_passed(report: TestReport, *, examples: int, entry_point: str, annotation: str) -> tuple[str, ...]:
    """The tests of the model that nothing shows to be wrong and that do not pass, by name.

    One that had no turn has shown nothing, an example of the task neither.
    """
    return tuple(
        result.name
        for number, result in enumerate(report.results)
        if not result.passed
        and (
            result.reason is FailureReason.NOT_RUN
            or (number >= examples and not _is_no_evidence(result, entry_point, annotation))
        )
    )


def _counted(named: dict[int, Results], is_no_evidence: Callable[[TestResult], bool]) -> list[Key]:
    """The tests that every attempt was put to and that are evidence in each."""
    first = next(iter(named.values()), {})
    return [
        key for key in first if all(key in results and not is_no_evidence(results[key]) for results in named.values())
    ]


def _by_name(results: tuple[TestResult, ...]) -> Results:
    """The results by name, and by number where a name occurs again."""
    seen: Counter[str] = Counter()
    named: Results = {}
    for result in results:
        named[result.name, seen[result.name]] = result
        seen[result.name] += 1
    return named


def _is_no_evidence(result: TestResult, entry_point: str, annotation: str) -> bool:
    if result.passed:
        return False
    if result.reason is FailureReason.NOT_RUN or result.is_broken:
        return True
    if result.reason is FailureReason.EXCEPTION:
        return _is_fault_of_test(result.error, entry_point)
    return bool(result.expected) and not _is_allowed(result.expected, annotation)


def _is_fault_of_test(error: str, entry_point: str) -> bool:
    """Whether the test itself uses a name that nobody defined, such as a module that it did not import."""
    name = UNKNOWN_NAME.search(error)
    return name is not None and name[1] != entry_point and FRAME_OF_CODE.search(error) is None


def _is_allowed(shown: str, annotation: str) -> bool:
    try:
        return allows(annotation, read_value(shown))
    except Unreadable:
        return True


def _answer_of(result: TestResult, annotation: str) -> Answer:
    if result.passed:
        return Answer(Ending.AGREES)
    if result.reason is FailureReason.WRONG_ANSWER:
        fitting = not result.actual or _is_allowed(result.actual, annotation)
        return Answer(Ending.DIFFERS, value=result.actual, expected=result.expected, fitting=fitting)
    return Answer(Ending.NO_ANSWER)
