"""The rows of issues in a form: as they begin, as they come back, and the passage that each of them is about.

A row has the passage twice: as the words that a person sees, and as the place that a script found them in. Without a
script, or where the words were changed since, they are looked for.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from reflection_app.attachments.regions import REGION_FIELDS, row_of_region, with_region
from reflection_app.core.errors import InvalidInput
from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.marks import Mark, MarkedText, find_quote, in_quotes
from reflection_app.loops.texts import one_line
from reflection_app.reviews.models import Review
from reflection_app.runs.marking import output_of
from reflection_app.runs.models import Attempt, Step, StepState
from reflection_app.web.placed import find_shown

SAID = ("category", "severity", "description", "suggested_fix", "path")
ISSUE_FIELDS = (*SAID, "quote", "mark", *REGION_FIELDS)
# What a mark says of itself, in the form that the interface takes.
MARK_FIELDS = frozenset({"text", "attempt", "step", "start", "end", "exact", "prefix", "suffix"})
LONGEST_MARK = 100_000


def issue_row(issue: Mapping[str, Any]) -> dict[str, str]:
    """The row of a kept issue."""
    mark = issue.get("mark")
    passage = {"quote": one_line(mark["exact"]) if mark else "", "mark": json.dumps(mark) if mark else ""}
    return {name: str(issue.get(name, "")) for name in SAID} | passage | row_of_region(issue)


def says_something(row: Mapping[str, str]) -> bool:
    """Whether the row is an issue, if an unfinished one: what somebody marked or wrote is not lost without a word."""
    return any(row.get(name) for name in ("description", "suggested_fix", "quote", "region_file"))


# The texts that a passage may be of.


@dataclass(frozen=True)
class MarkableText:
    """A text that is on the page, and what a mark of it is called by."""

    content: str
    attempt: int | None = None
    step: int | None = None

    def mark(self, start: int, end: int) -> dict[str, Any]:
        text = MarkedText.ATTEMPT if self.step is None else MarkedText.OUTPUT
        found = Mark.at(self.content, start, end)
        return found.model_dump(mode="json") | {"text": text.value, "attempt": self.attempt, "step": self.step}


def texts_of(review: Review, *, first: str = "") -> Iterator[MarkableText]:
    """The reviewed attempt; of a pick the one with the number `first`, then the others; and what its tools put out."""
    number = int(first) if first.isdecimal() else review.attempt.number
    if not review.is_pick:
        yield MarkableText(review.attempt.content, attempt=number)
    else:
        made = sorted(Attempt.objects.filter(run=review.run_id), key=lambda one: (one.number != number, one.number))
        yield from (MarkableText(one.content, attempt=one.number) for one in made)
    yield from outputs_of(review.run_id)


def outputs_of(run_id: Any) -> Iterator[MarkableText]:
    """What the run's tools put out, the newest first."""
    calls = Step.objects.filter(run=run_id, kind=CallTool.kind, state=StepState.DONE).order_by("-seq")
    yield from (MarkableText(output_of(step), step=step.seq) for step in calls.only("seq", "result").iterator())


# Reading rows.


def issues_of_rows(rows: Sequence[Mapping[str, str]], texts: Iterable[MarkableText]) -> list[dict[str, Any]]:
    """The issues as the interface takes them. Raises InvalidInput for a passage that is in none of `texts`.

    `texts` are read as far as they are needed.
    """
    known = _Texts(texts)
    issues = []
    for number, row in enumerate(rows):
        issue = with_region({name: row.get(name, "") for name in (*SAID, *REGION_FIELDS)})
        if quote := one_line(row.get("quote", "")):
            issue["mark"] = known.placed_by_script(row.get("mark", ""), quote) or known.found(quote, row=number)
        issues.append(issue)
    return issues


class _Texts:
    """The texts, each read once and only when it is looked into."""

    def __init__(self, texts: Iterable[MarkableText]) -> None:
        self._rest, self._read = iter(texts), list[MarkableText]()

    def __iter__(self) -> Iterator[MarkableText]:
        yield from self._read
        for text in self._rest:
            self._read.append(text)
            yield text

    def placed_by_script(self, mark: str, quote: str) -> dict[str, Any] | None:
        """The mark as it was placed, if it is still of the words in the row."""
        try:
            told = json.loads(mark) if mark and len(mark) <= LONGEST_MARK else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(told, dict) or one_line(str(told.get("shown") or told.get("exact") or "")) != quote:
            return None
        placed = {name: value for name, value in told.items() if name in MARK_FIELDS and value is not None}
        if placed.get("exact"):
            return placed
        # Laid out, the passage reads otherwise than in the raw text, which is here.
        start, end = placed.get("start"), placed.get("end")
        if not isinstance(start, int) or not isinstance(end, int):
            return None
        for text in self:
            if (text.attempt, text.step) == (placed.get("attempt"), placed.get("step")):
                return text.mark(start, end) if 0 <= start < end <= len(text.content) else None
        return None

    def found(self, quote: str, *, row: int) -> dict[str, Any]:
        for text in self:
            places = find_quote(text.content, quote) or find_shown(text.content, quote)
            if len(places) == 1:
                return text.mark(*places[0])
            if places:
                raise _refused(row, _("%(passage)s occurs more than once. Copy a longer, unique passage."), quote)
        raise _refused(row, _("%(passage)s does not occur. Copy the passage exactly from the text."), quote)


def _refused(row: int, why: str, quote: str) -> InvalidInput:
    said = _("Passage of issue %(number)s not found:") % {"number": row + 1}
    message = f"{said} {why % {'passage': in_quotes(quote)}}"
    return InvalidInput(message, errors=[{"field": f"issues.{row}.mark", "message": message}])
