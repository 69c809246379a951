"""The attempts before the one that is reviewed, with their verdicts, and what this one changed of any of them."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from reflection_app.reviews.models.review import Review
from reflection_app.runs.models import Attempt, Verdict
from reflection_app.runs.views.comparison import Rows, compared

# Of the address: which attempt to compare with, and in which layout.
AGAINST, LAYOUT = "against", "layout"
LAYOUTS = ("split", "unified")


@dataclass(frozen=True)
class EarlierAttempt:
    """An attempt without its text, and the verdict that counts: the strongest referee's, of two equal the later."""

    number: int
    verdict: Verdict | None
    is_compared: bool


@dataclass(frozen=True)
class ComparedAttempts:
    """`layout` is empty where the width of the screen decides."""

    earlier: int
    later: int
    rows: Rows
    layout: str


@dataclass(frozen=True)
class EarlierAttempts:
    attempts: tuple[EarlierAttempt, ...]
    comparison: ComparedAttempts | None


def earlier_attempts(review: Review, *, asked: dict[str, str]) -> EarlierAttempts:
    """Those before the review's own, the newest first, and the comparison that `asked`, the address, names.

    Without a name it is with the attempt right before; what no attempt has as its number counts as no name.
    """
    number = review.attempt.number
    before = Attempt.objects.filter(run=review.run_id, number__lt=number).order_by("-number")
    numbers = list(before.values_list("number", flat=True)) if number > 1 else []
    if not numbers:
        return EarlierAttempts((), None)
    named = asked.get(AGAINST, "")
    against = next((one for one in numbers if str(one) == named), numbers[0])
    verdicts = _decisive(review)
    attempts = tuple(EarlierAttempt(one, verdicts.get(one), is_compared=one == against) for one in numbers)
    content = Attempt.objects.values_list("content", flat=True).get(run=review.run_id, number=against)
    layout = asked.get(LAYOUT, "")
    return EarlierAttempts(
        attempts=attempts,
        comparison=ComparedAttempts(
            earlier=against,
            later=number,
            rows=compared(content, review.attempt.content),
            layout=layout if layout in LAYOUTS else "",
        ),
    )


def _decisive(review: Review) -> dict[int, Verdict]:
    """The verdict that counts of each earlier attempt, without what a list does not show."""
    rows = Verdict.objects.filter(attempt__run=review.run_id, attempt__number__lt=review.attempt.number)
    found: dict[int, list[Any]] = defaultdict(list)
    for row in rows.select_related("attempt").defer("tests", "feedback", "issues", "attempt__content"):
        found[row.attempt.number].append(row)
    return {number: max(given, key=lambda one: (one.referee, one.created_at)) for number, given in found.items()}
