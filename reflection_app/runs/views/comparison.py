"""What one attempt changed of another, in rows for both layouts: side by side, and one below the other.

The texts are strangers', so the work has a bound: on lines, and on the words that are compared within changed lines.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString

from desk_sandbox.code_tests import FailureReason, TestReport, TestResult, is_same_text_or_value
from reflection_app.loops.attempt_effects import RunTests
from reflection_app.loops.code_answers import code_of
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Attempt, Step, StepState
from reflection_app.runs.views.attempts import AttemptCard, attempt_cards
from reflection_app.runs.views.passages import IssueShown, Passages
from reflection_app.web.placed import Passage, placed_code, placed_text, with_passages
from reflection_app.web.rendering import count_pieces, marked, render_code

MOST_LINES = 600
LONGEST_COMPARED = 60_000
MOST_ROWS = 300
# JSON in longer lines than this is laid out anew, or a changed word would mark all of it.
LONGEST_JSON_LINE = 400
# Unchanged lines that are shown around a change.
AROUND = 3
# Marking takes the product of the numbers of words in two lines at worst. Lines over this are shown as changed alone.
MOST_MARKED = 1_000_000


@dataclass(frozen=True)
class Row:
    """One line of either text or of both. `kind` is `same`, `changed`, `gone`, `new`, or `skipped` for `count` lines.

    The texts are escaped, and fit to be put into a page.
    """

    kind: str
    left_number: int | None = None
    left: str = ""
    right_number: int | None = None
    right: str = ""
    count: int = 0
    # Issues about a passage that begins in the left line.
    notes: tuple[IssueShown, ...] = ()


@dataclass(frozen=True)
class UnifiedLine:
    """One line of the layout in one column; `sign` says what `kind` says, and `text` is escaped."""

    kind: str
    sign: str = " "
    number: int | None = None
    text: str = ""
    count: int = 0
    notes: tuple[IssueShown, ...] = ()


@dataclass(frozen=True)
class Rows:
    """The comparison. No rows where both texts are the same; `is_too_long` where they were not compared."""

    rows: tuple[Row, ...] = ()
    left_out: int = 0
    is_too_long: bool = False

    @property
    def added(self) -> int:
        return sum(row.kind in {"new", "changed"} for row in self.rows)

    @property
    def removed(self) -> int:
        return sum(row.kind in {"gone", "changed"} for row in self.rows)

    @property
    def unified(self) -> tuple[UnifiedLine, ...]:
        """The rows in one column, what is gone before what is new."""
        lines: list[UnifiedLine] = []
        new: list[UnifiedLine] = []
        for row in self.rows:
            if row.kind in {"same", "skipped"}:
                lines += new
                new = []
                # With what is marked in the left text.
                text = row.left if row.notes else row.right
                lines.append(
                    UnifiedLine(row.kind, number=row.right_number, text=text, count=row.count, notes=row.notes)
                )
                continue
            if row.left_number is not None:
                lines.append(UnifiedLine("gone", sign="-", number=row.left_number, text=row.left, notes=row.notes))
            if row.right_number is not None:
                new.append(UnifiedLine("new", sign="+", number=row.right_number, text=row.right))
        return (*lines, *new)


# A page that is opened again, or fetched ahead and then opened, compares nothing twice.
@lru_cache(maxsize=64)
def compared(left: str, right: str, *, unfolded: frozenset[int] = frozenset()) -> Rows:
    """What `right` changed of `left`, with the changed words marked; all text in it escaped.

    The lines of `left` with the numbers `unfolded` are shown, however far from any change.
    """
    if left == right and not unfolded:
        return Rows()
    if max(len(left), len(right)) > LONGEST_COMPARED:
        return Rows(is_too_long=True)
    before, after = lines_of(_laid_out(left)), lines_of(_laid_out(right))
    if before == after and left != right:
        before, after = [left], [right]
    if max(len(before), len(after)) > MOST_LINES:
        return Rows(is_too_long=True)
    rows: list[Row] = []
    left_to_mark = MOST_MARKED
    for tag, start, end, other_start, other_end in SequenceMatcher(None, before, after).get_opcodes():
        for old, new in zip_longest(range(start, end), range(other_start, other_end)):
            was = before[old] if old is not None else ""
            became = after[new] if new is not None else ""
            if tag == "equal":
                rows.append(_row("same", old, escape(was), new, escape(became)))
            elif old is None or new is None:
                rows.append(_row("new" if old is None else "gone", old, escape(was), new, escape(became)))
            else:
                left_to_mark -= count_pieces(was) * count_pieces(became)
                texts = marked(was, became) if left_to_mark >= 0 else (escape(was), escape(became))
                rows.append(_row("changed", old, texts[0], new, texts[1]))
    folded = tuple(_folded(rows, unfolded=unfolded))
    return Rows(rows=folded[:MOST_ROWS], left_out=max(0, len(folded) - MOST_ROWS))


def _laid_out(text: str) -> str:
    """JSON that came in one long line with a line for each of its values; all else as it is."""
    if not text.lstrip().startswith(("{", "[")) or all(len(line) <= LONGEST_JSON_LINE for line in lines_of(text)):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def lines_of(text: str) -> list[str]:
    # Not splitlines(): form feeds and separators that it breaks at are no line ends to anyone who reads the text.
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _row(kind: str, old: int | None, left: str, new: int | None, right: str) -> Row:
    return Row(kind, _number(old), left, _number(new), right)


def _number(index: int | None) -> int | None:
    return None if index is None else index + 1


def _folded(rows: list[Row], *, unfolded: frozenset[int]) -> Iterator[Row]:
    """The rows without what is far from any change."""
    changes = [place for place, row in enumerate(rows) if row.kind != "same" or row.left_number in unfolded]
    near = {at for place in changes for at in range(place - AROUND, place + AROUND + 1)}
    skipped = 0
    for place, row in enumerate(rows):
        if place not in near:
            skipped += 1
            continue
        if skipped:
            yield Row("skipped", count=skipped)
            skipped = 0
        yield row
    if skipped:
        yield Row("skipped", count=skipped)


# What several attempts answered on the same tests, test by test.

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
    # By name, and by number where a name occurs again.
    named: dict[int, dict[Key, TestResult]] = {}
    for number in numbers:
        seen: Counter[str] = Counter()
        named[number] = {}
        for given in reports[number].results:
            named[number][given.name, seen[given.name]] = given
            seen[given.name] += 1
    lines = []
    for key in dict.fromkeys(key for number in numbers for key in named[number]):
        results = [named[number].get(key) for number in numbers]
        there = [result for result in results if result is not None]
        expected = next((result.expected for result in there if result.expected), "")
        cells = []
        for number, result in zip(numbers, results, strict=True):
            value = "" if result is None else expected if result.passed else result.actual
            cells.append(AnswerCell(number, result, value=value))
        lines.append(TestLine(name=there[0].name, input=there[0].input, expected=expected, cells=tuple(cells)))
    return tuple(sorted(lines, key=lambda line: (not line.attempts_differ, line.all_pass)))


# An unsettled pick as its page tells it: the attempts side by side, what each computes, and where they part.


@dataclass(frozen=True)
class Candidate:
    """An attempt to pick from: its code as it was tested, and what the tests showed of it."""

    card: AttemptCard
    code: str
    report: TestReport | None
    is_proposed: bool
    is_picked: bool
    passages: Passages

    @property
    def number(self) -> int:
        return self.card.attempt.number

    @property
    def key(self) -> str:
        """The key that goes to its button; there are nine."""
        return str(self.number) if self.number <= 9 else ""

    @cached_property
    def rendered(self) -> SafeString:
        """Its code, with what is marked in it; as it was tested, where that does not stand in the answer as it is."""
        at = self.card.attempt.content.find(self.code)
        if at < 0:
            return render_code(self.code)
        return with_passages(placed_code(self.code, at=at), self._passages)

    @cached_property
    def whole(self) -> SafeString:
        """The whole answer. Numbers lead to it where the code is shown in other words."""
        is_named = self.code not in self.card.attempt.content
        return with_passages(placed_text(self.card.attempt.content, reveals=False), self._passages, is_named=is_named)

    @property
    def _passages(self) -> list[Passage]:
        return self.passages.of_attempt(self.card.attempt.content, number=self.number)


@dataclass(frozen=True)
class Difference:
    """What the later attempt changed of the earlier."""

    earlier: Candidate
    later: Candidate
    rows: Rows


@dataclass(frozen=True)
class PickStory:
    candidates: tuple[Candidate, ...]
    lines: tuple[TestLine, ...]
    differences: tuple[Difference, ...]

    @property
    def tested(self) -> tuple[Candidate, ...]:
        """The candidates that the lines have a cell for, in their order."""
        return tuple(candidate for candidate in self.candidates if candidate.report)

    @property
    def open_lines(self) -> tuple[TestLine, ...]:
        return tuple(line for line in self.lines if not line.all_pass)

    @property
    def passed_lines(self) -> tuple[TestLine, ...]:
        return tuple(line for line in self.lines if line.all_pass)


def tell_pick(review: Review, passages: Passages) -> PickStory:
    """The attempts that there were when the person was asked, the proposed one compared with each of the others."""
    # Only loops ask for a pick.
    assert review.step is not None
    asked = review.step.seq
    made = set(Attempt.objects.filter(run=review.run_id, step__seq__lt=asked).values_list("number", flat=True))
    steps = Step.objects.filter(run=review.run_id, kind=RunTests.kind, state=StepState.DONE, seq__lt=asked)
    # The latest test run of each attempt comes last.
    tested = {step.attempt_number: step for step in steps.order_by("seq")}
    decided = review.decided_verdict
    picked = decided.attempt_id if decided and decided.passed else None
    candidates = []
    for card in attempt_cards(review.run):
        if card.attempt.number not in made:
            continue
        step = tested.get(card.attempt.number)
        request: Any = step.request if step else None
        code = request.get("code") if isinstance(request, dict) else None
        candidate = Candidate(
            card=card,
            code=code if isinstance(code, str) else code_of(card.attempt.content),
            report=TestReport.model_validate(step.result) if step and step.result else None,
            is_proposed=card.attempt.pk == review.attempt_id,
            is_picked=card.attempt.pk == picked,
            passages=passages,
        )
        candidates.append(candidate)
    reports = {candidate.number: candidate.report for candidate in candidates if candidate.report}
    changes = []
    if proposed := next((candidate for candidate in candidates if candidate.is_proposed), None):
        for other in candidates:
            if other is not proposed:
                earlier, later = sorted((proposed, other), key=lambda one: one.number)
                changes.append(Difference(earlier, later, compared(earlier.code, later.code)))
    return PickStory(candidates=tuple(candidates), lines=compare_answers(reports), differences=tuple(changes))
