"""One review: what was attempted, what the critic said of it, and the form to decide with."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from reflection_app.core.errors import ActionError
from reflection_app.core.own_work import allows_own_work, is_own, nobody_else_may, why_refused
from reflection_app.core.permissions import Permission
from reflection_app.loops.verdicts import IssueCategory, Severity
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.notebook.views.learned import learned_from_review
from reflection_app.reviews.models.comment import About
from reflection_app.reviews.models.review import Review
from reflection_app.reviews.pages.review_undo import undo_offer
from reflection_app.reviews.views.assigning import assigning_of
from reflection_app.reviews.views.comments import opened_thread, thread_of
from reflection_app.reviews.views.decision_form import (
    DecisionForm,
    begun_by_anybody,
    begun_by_majority,
    holds_more,
    prefilled,
)
from reflection_app.reviews.views.panel_view import panel_of
from reflection_app.reviews.views.queue_filter import carried
from reflection_app.reviews.views.review_context import review_context
from reflection_app.web.access import DeskRequest, get_review_for, project_page

# The header with which an open page asks: which item it has fetched ahead, and in which version.
PEEKED = "X-Review-Peeked"


@project_page(Permission.READ_QUEUE)
@require_safe
def review_page(request: DeskRequest, review_id: UUID) -> HttpResponse:
    review = get_review_for(request.place, review_id)
    return show(request, review, form=prefilled(review))


def show(
    request: DeskRequest,
    review: Review,
    *,
    form: DecisionForm,
    problem: ActionError | None = None,
    status: int = 200,
    is_ahead: bool = False,
) -> HttpResponse:
    """The review's page with `form` as it was typed, and what went wrong; for a page that is open, only its item.

    `is_ahead` shows it as whoever claims it next will see it: the open page fetches it before it is claimed.
    """
    is_mine = is_ahead or holds(request, review)
    if not form.is_typed and review.holder_label != request.place.actor.label:
        # The holder's token, and an opinion that they took back, are for nobody else.
        form = begun_by_anybody(review)
    context: dict[str, Any] = {
        "form": begun_by_majority(form, review) if is_mine and problem is None else form,
        "problem": problem,
        "kept": problem is not None and form.is_typed and holds_more(form, review),
        "is_mine": is_mine,
        "panel": panel_of(review, reader=request.place.actor),
        "learned": learned_from_review(review),
        "version": version_of(review),
        "within": carried(request).within,
        "held_by_other": is_held(review) and review.holder_id != request.user.pk,
        "verdict_names": list(VerdictName),
        "categories": list(IssueCategory),
        "severities": list(Severity),
        "may_review": request.place.may(Permission.REVIEW),
        "own_work": None if is_ahead else own_work_of(request, review),
        "undo": undo_offer(request, review),
        "assigning": assigning_of(request, review, is_mine=is_mine),
        # What is fetched ahead is not read by that.
        "thread": (thread_of if is_ahead else opened_thread)(request, About.REVIEW, review.pk),
    }
    context |= review_context(review, asked=request.GET.dict())
    page = "reviews/pick.html" if review.is_pick else "reviews/page.html"
    return render(request, f"{page}#item" if wants_item(request) else page, context, status=status)


@dataclass(frozen=True)
class OwnWorkRefusal:
    """Why the reader may not decide, and what can be done about it."""

    why: str
    nobody_else_may: bool
    may_allow_it: bool


def own_work_of(request: DeskRequest, review: Review) -> OwnWorkRefusal | None:
    """Why the reader may not decide on work of their own; None where it is not theirs, or the project allows it."""
    actor = request.place.actor
    if not review.is_open or not is_own(review.handed_in_by, actor=actor):
        return None
    if allows_own_work(review.project_id, actor=actor):
        return None
    return OwnWorkRefusal(
        why=why_refused(actor),
        nobody_else_may=nobody_else_may(review),
        may_allow_it=request.place.may(Permission.CHANGE_SETTINGS),
    )


def wants_item(request: DeskRequest) -> bool:
    """Whether an open page asks, which puts the item into the place of the one that it shows."""
    return PEEKED in request.headers


def version_of(review: Review) -> str:
    """Changes when what the item's page tells of its run, and of whom it is kept for, has changed."""
    return f"{review.run.last_event_seq}-{review.assignee_id or 0}-{len(review.note)}"


def is_held(review: Review) -> bool:
    return review.is_open and review.lease_until is not None and review.lease_until > timezone.now()


def holds(request: DeskRequest, review: Review) -> bool:
    """Whether the user may decide the review now."""
    return is_held(review) and review.holder_id == request.user.pk
