"""What an attempt answered on each test, read from its test report."""

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reflection_app.loops.code_tests import FailureReason, TestReport, TestResult

# Values read back from the texts in which a test report shows them.

LONGEST_TEXT = 20_000


class Unreadable(ValueError):
    """The text is no plain value: shortened, an object of the code's own, or no literal at all."""


def read_value(text: str) -> Any:
    """The value that the text writes out, or Unreadable."""
    if len(text) > LONGEST_TEXT:
        raise Unreadable("longer than a report shows")
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise Unreadable(str(error)) from error


def is_same_text_or_value(left: str, right: str) -> bool:
    """Whether two shown values are one; sets and dictionaries may be written in another order."""
    if left == right:
        return True
    try:
        values = read_value(left), read_value(right)
        return bool(values[0] == values[1]) and type(values[0]) is type(values[1])
    except (Unreadable, RecursionError):
        return False


def leaves(value: Any) -> Iterator[Any]:
    """The parts of a value that hold no others, in order."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(key)
            yield from leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, set | frozenset):
        for part in sorted(value, key=repr):
            yield from leaves(part)
    else:
        yield value


def is_number(value: Any) -> bool:
    """Whether it is a finite number; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


# Whether one attempt gives another's answers in another form.
#
# Where tests and code part over a form (ascending or descending, a share or a percentage, yes or no, rounded or not),
# they agree on the matter, and the prompt has to settle the form: a rewrite that takes the tests' side has not mended a
# fault, it has changed sides.

Pair = tuple[Any, Any]
FACTORS = (-1, 10, 100, 1000)
MOST_PLACES = 6
FEWEST_PAIRS = 2


def are_restated(pairs: Sequence[Pair]) -> bool:
    """Whether every new answer is the old one in another form, the same change of form for all of them.

    One pair is too few: 1 and 10 may be anything.
    """
    if len(pairs) < FEWEST_PAIRS:
        return False
    # True for False throughout. Code that always gave the same has not answered, so its opposite restates nothing.
    negated = all(isinstance(old, bool) and isinstance(new, bool) and old is not new for old, new in pairs)
    if negated and len({old for old, _ in pairs}) == 2:
        return True
    return any(all(form(old, new) for old, new in pairs) for form in FORMS)


def _is_reordered(old: Any, new: Any) -> bool:
    """The same parts in another order or another kind of container."""
    kinds = (list, tuple, set, frozenset)
    if not (isinstance(old, kinds) and isinstance(new, kinds)) or len(old) != len(new):
        return False
    return sorted(map(repr, old)) == sorted(map(repr, new))


def _is_rescaled(factor: int) -> Callable[[Any, Any], bool]:
    def is_rescaled(old: Any, new: Any) -> bool:
        """Every number as it was or changed by the factor."""
        numbers = _numbers_of(old, new)
        return numbers is not None and all(
            _is_close(left, right) or _is_close(left * factor, right) or _is_close(left, right * factor)
            for left, right in numbers
        )

    return is_rescaled


def _is_rounded(old: Any, new: Any) -> bool:
    numbers = _numbers_of(old, new)
    return numbers is not None and all(
        any(round(a, places) == b or round(b, places) == a for places in range(MOST_PLACES + 1)) for a, b in numbers
    )


def _is_text_of(old: Any, new: Any) -> bool:
    return isinstance(old, str) != isinstance(new, str) and str(old).strip().lower() == str(new).strip().lower()


def _numbers_of(old: Any, new: Any) -> list[Pair] | None:
    """The numbers side by side, or None if the two do not have the same number of them, and nothing else."""
    left, right = list(leaves(old)), list(leaves(new))
    if not left or len(left) != len(right) or not all(map(is_number, left + right)):
        return None
    return list(zip(left, right, strict=True))


def _is_close(left: float, right: float) -> bool:
    try:
        return math.isclose(left, right, rel_tol=1e-6)
    except OverflowError:
        return left == right


FORMS: tuple[Callable[[Any, Any], bool], ...] = (
    _is_reordered,
    _is_rounded,
    _is_text_of,
    *(_is_rescaled(factor) for factor in FACTORS),
)


# What the task's own signature says that the function returns.
#
# A value that breaks it is hard evidence, for the signature came with the task: against the answer that returned the
# value, or against the test that expects it. What cannot be read allows everything.

LONGEST_SIGNATURE = 4_000
MOST_COLONS = 100
SCALARS: dict[str, tuple[type, ...]] = {"int": (int,), "bool": (bool,), "float": (int, float), "str": (str,)}
CONTAINERS: dict[str, tuple[type, ...]] = {
    "list": (list,),
    "set": (set, frozenset),
    "frozenset": (set, frozenset),
    "tuple": (tuple,),
    "dict": (dict,),
}


def return_annotation(task: str, *, entry_point: str) -> str:
    """The return annotation of the function in the task's text, as source; empty where there is none."""
    start = re.search(rf"^[ \t]*(?:async[ \t]+)?(def[ \t]+{re.escape(entry_point)}[ \t]*\()", task, re.MULTILINE)
    if start is None:
        return ""
    text = task[start.start(1) : start.start(1) + LONGEST_SIGNATURE]
    ends = [place for place, letter in enumerate(text) if letter == ":"][:MOST_COLONS]
    for end in ends:
        try:
            [function] = ast.parse(text[:end] + ": pass").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(function, ast.FunctionDef) and function.returns is not None:
            return ast.unparse(function.returns)
        return ""
    return ""


def allows(annotation: str, value: Any) -> bool:
    """Whether the annotation lets the value through; True where it cannot be understood."""
    if not annotation:
        return True
    try:
        return _allows(ast.parse(annotation, mode="eval").body, value)
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return True


def _allows(node: ast.expr, value: Any) -> bool:
    match node:
        case ast.Constant(value=None):
            return value is None
        case ast.Constant(value=str() as text):
            return allows(text, value)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _allows(left, value) or _allows(right, value)
        case ast.Subscript(value=outer, slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _allows_generic(_name_of(outer), parts, value)
    return _allows_generic(_name_of(node), [], value)


def _name_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lower()
    return ""


def _allows_generic(name: str, parts: list[ast.expr], value: Any) -> bool:
    if name == "optional" and parts:
        return value is None or _allows(parts[0], value)
    if name == "union" and parts:
        return any(_allows(part, value) for part in parts)
    if name == "int" and isinstance(value, float):
        return value.is_integer()  # 12.0 equals 12, and passes where 12 is expected
    if name in SCALARS:
        return type(value) in SCALARS[name]
    if name not in CONTAINERS:
        return True
    return type(value) in CONTAINERS[name] and (not parts or _allows_parts(name, parts, value))


def _allows_parts(name: str, parts: list[ast.expr], value: Any) -> bool:
    if name == "dict":
        return len(parts) != 2 or all(_allows(parts[0], key) and _allows(parts[1], item) for key, item in value.items())
    if name != "tuple":
        return all(_allows(parts[0], item) for item in value)
    match parts:
        case [each, ast.Constant(value=end)] if end is Ellipsis:
            return all(_allows(each, item) for item in value)
    return len(parts) == len(value) and all(_allows(part, item) for part, item in zip(parts, value, strict=True))


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
    def answered(self) -> int:
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
        # The test itself uses a name that nobody defined, such as a module that it did not import.
        name = UNKNOWN_NAME.search(result.error)
        return name is not None and name[1] != entry_point and FRAME_OF_CODE.search(result.error) is None
    return bool(result.expected) and not _is_allowed(result.expected, annotation)


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
