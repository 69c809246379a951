"""Editing the answer on a review's page: what the field begins with, and what was changed of the attempt."""

from dataclasses import dataclass

from reflection_app.reviews.decisions import LONGEST_EDITED
from reflection_app.reviews.editing import is_same, why_not_edited
from reflection_app.reviews.models import Review
from reflection_app.reviews.views.decision import EDIT, DecisionForm
from reflection_app.runs.views.comparison import Rows, compared

# Of the address: that the answer is to be edited.
ASKED = "edit"


@dataclass(frozen=True)
class Editing:
    """`is_begun` where the field is open already. `errors` are what is wrong with the text."""

    text: str
    rows: Rows
    errors: tuple[str, ...]
    is_begun: bool
    longest: int = LONGEST_EDITED


def editing_of(review: Review, form: DecisionForm, *, is_mine: bool, asked: dict[str, str]) -> Editing | None:
    """None where the reader cannot edit the answer, nor had begun to; also of one too long to be handed in again."""
    content = review.attempt.content
    is_typed = form.decision == EDIT
    may = is_mine and not why_not_edited(review, review.run) and len(content) <= LONGEST_EDITED
    if not review.is_open or review.is_pick or not (may or is_typed):
        return None
    text = form.edited_answer if is_typed or form.edited_answer.strip() else content
    return Editing(
        text=text,
        rows=difference(content, text),
        errors=tuple(error["message"] for error in form.errors if error["field"] == "edited_answer"),
        is_begun=is_typed or (ASKED in asked and not form.decision),
    )


def difference(content: str, text: str) -> Rows:
    """What `text` changed of the attempt's `content`; the ends of lines are the browser's own."""
    return Rows() if is_same(text, content) else compared(content, text)
