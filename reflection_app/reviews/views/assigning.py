"""Whom a review is kept for, and who it can be given to. The page of a review has it as `assigning`."""

from typing import Any

from reflection_app.core.permissions import Permission
from reflection_app.reviews.assigning import LONGEST_NOTE, assignable
from reflection_app.reviews.models import Review
from reflection_app.reviews.views.decision import DecisionForm, prefilled
from reflection_app.web.access import DeskRequest


def assigning_of(request: DeskRequest, review: Review, *, is_mine: bool) -> dict[str, Any] | None:
    """What was typed and refused is in `to` and `note`. None where the review is closed."""
    if not review.is_open:
        return None
    may_assign = request.place.may(Permission.REVIEW)
    people = [user.get_username() for user in assignable(review)] if may_assign else []
    own = request.user.get_username()
    return {
        "people": [name for name in people if not is_mine or name != own],
        "assignee": review.assignee.get_username() if review.assignee else "",
        "is_for_me": review.assignee_id == request.user.pk,
        "may_assign": may_assign,
        # It is handed over by the form of the decision itself, so that what is typed there travels along.
        "is_mine": is_mine,
        "to": request.POST.get("to", ""),
        "note": request.POST.get("note", ""),
        "longest": LONGEST_NOTE,
    }


def with_draft(note: str, form: DecisionForm, *, review: Review) -> str:
    """The note, and below it what was typed into the decision. Of a blind seat nothing goes along: it is an opinion."""
    if review.is_seat:
        return note
    typed = () if form.issues == prefilled(review).issues else form.issues
    draft = [form.reason.strip(), *(f"- {issue['description']} {issue['suggested_fix']}".strip() for issue in typed)]
    return "\n\n".join(part for part in (note.strip(), "\n".join(filter(None, draft))) if part)[:LONGEST_NOTE]
