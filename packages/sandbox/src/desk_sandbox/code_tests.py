"""Tests submitted with a code task, and the results of running them.

The three forms of `tests` are those of the REST API. These types are pure values: the sandbox fills a `TestReport`.
"""

import ast
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

MAX_CASES = 200


class Value(BaseModel):
    """A frozen value that rejects unknown fields, so that a misspelled field raises an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CallCase(Value):
    """One call of the entry point and the value it must return."""

    name: str = Field(default="", max_length=200)
    args: tuple[JsonValue, ...] = ()
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    expected: JsonValue


class StdinCase(Value):
    """One run of the program: its standard input and expected output. Trailing whitespace is ignored."""

    name: str = Field(default="", max_length=200)
    stdin: str = Field(default="", max_length=1_000_000)
    expected_stdout: str = Field(max_length=1_000_000)


class CodeTests(Value):
    """Tests of a code task: exactly one of `cases` (with `entry_point`), `stdin_cases` and `script`.

    A `script` accesses the code by its names, with `from solution import f` or with `import solution`. It contains
    plain assertions, functions or methods whose names begin with `test_`, or `unittest.TestCase` classes. From pytest,
    `raises`, `approx`, `fail`, the script's own fixtures and `mark.parametrize` are available; otherwise only the
    standard library. A script that is invalid Python, contains no test, or needs something unavailable is refused with
    the line and the reason. A test that fails before it reaches the code is broken (`broken_test`). It does not count
    against the work, and a review is requested.
    """

    language: Literal["python"] = "python"
    entry_point: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$", max_length=200)] | None = None
    cases: Annotated[tuple[CallCase, ...], Field(max_length=MAX_CASES)] = ()
    stdin_cases: Annotated[tuple[StdinCase, ...], Field(max_length=MAX_CASES)] = ()
    script: Annotated[str, Field(max_length=200_000)] | None = None

    @model_validator(mode="after")
    def check_one_form(self) -> "CodeTests":
        forms = [bool(self.cases), bool(self.stdin_cases), bool(self.script and self.script.strip())]
        if sum(forms) != 1:
            raise ValueError("give exactly one of cases, stdin_cases and script, and not an empty one")
        if self.cases and not self.entry_point:
            raise ValueError("cases need an entry_point: the name of the function they call")
        return self

    @property
    def form(self) -> Literal["cases", "stdin_cases", "script"]:
        if self.cases:
            return "cases"
        return "stdin_cases" if self.stdin_cases else "script"


class FailureReason(StrEnum):
    """Reason a test did not pass. `broken_test` is a fault of the test; all others concern the candidate."""

    WRONG_ANSWER = "wrong_answer"
    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT_LIMIT = "output_limit"
    EXITED = "exited"
    CRASHED = "crashed"
    NOT_RUN = "not_run"
    FORGED = "forged"
    BROKEN_TEST = "broken_test"


class TestResult(Value):
    """One test with its input, expected output and actual output. Texts are shortened."""

    __test__ = False  # keeps pytest from collecting a class whose name begins with Test

    name: str
    passed: bool
    input: str = ""
    expected: str = ""
    actual: str = ""
    error: str = ""
    reason: FailureReason | None = None
    duration_ms: float = 0.0

    @property
    def is_broken(self) -> bool:
        """True if the test fails regardless of the code and is thus no evidence."""
        return self.reason is FailureReason.BROKEN_TEST


class TestReport(Value):
    """All tests of one run of the candidate. `results` is never empty: no tests is not a pass.

    Broken tests are no evidence; only the others are counted.
    """

    __test__ = False

    results: Annotated[tuple[TestResult, ...], Field(min_length=1)]
    stdout: str = ""
    stderr: str = ""
    duration_ms: float = 0.0

    @property
    def total(self) -> int:
        return len(self.results)

    @property
    def failures(self) -> tuple[TestResult, ...]:
        """All tests that did not pass, for any reason."""
        return tuple(result for result in self.results if not result.passed)

    @property
    def broken(self) -> tuple[TestResult, ...]:
        return tuple(result for result in self.results if result.is_broken)

    @property
    def counted(self) -> int:
        """Number of tests that are evidence about the code."""
        return self.total - len(self.broken)

    @property
    def failed(self) -> tuple[TestResult, ...]:
        """Tests that failed because of the code."""
        return tuple(result for result in self.failures if not result.is_broken)

    @property
    def all_passed(self) -> bool:
        return not self.failures

    @property
    def settles_nothing(self) -> bool:
        """True if no test failed because of the code, but some are broken."""
        return bool(self.broken) and not self.failed

    @property
    def has_inputs(self) -> bool:
        """True if the tests have separate inputs. Those of a script are the test itself."""
        return any(result.input for result in self.results)

    @property
    def score(self) -> float:
        """Percentage of counted tests that passed, 0–100; 0 if none is counted."""
        return round(100 * (self.counted - len(self.failed)) / self.counted, 2) if self.counted else 0.0


# Values in the form that a report shows

LONGEST_VALUE = 20_000


class Unreadable(ValueError):
    """The text is not a literal: it was shortened, or shows an object."""


def read_value(text: str) -> Any:
    """Return the value of a Python literal. Raise Unreadable."""
    if len(text) > LONGEST_VALUE:
        raise Unreadable("longer than a report shows")
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise Unreadable(str(error)) from error


def is_same_text_or_value(left: str, right: str) -> bool:
    """Return True if both texts show the same value; sets and dictionaries may differ in order."""
    if left == right:
        return True
    try:
        values = read_value(left), read_value(right)
        return bool(values[0] == values[1]) and type(values[0]) is type(values[1])
    except (Unreadable, RecursionError):
        return False
