"""Taking a decision back in the browser; where it stands, the page says why and offers to rewind instead."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from reflection_app.core.errors import StillStands
from reflection_app.core.permissions import Permission
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.reviews.take_back_refusals import why_it_stands
from reflection_app.reviews.undo_decision import may_undo, undo_decision
from reflection_app.web.access import DeskRequest, get_review_for, project_page
from reflection_app.web.action_addresses import post_only


@dataclass(frozen=True)
class UndoOffer:
    """Whether the user can take a decision back, or why it stands and from which step a fork would decide otherwise."""

    why_not: str
    from_step: int | None


@project_page(Permission.REVIEW)
@post_only(page="review")
def undo(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Takes the decision back and opens the review with what had been decided in its form."""
    review = get_review_for(request.place, review_id)
    try:
        undone = undo_decision(review, actor=request.place.actor)
    except StillStands as problem:
        offer = UndoOffer(str(problem), problem.from_step)
        context = {"review": review, "run": review.run, "undo": offer}
        return render(request, "reviews/not_undone.html", context, status=problem.status)
    said = _("Taken back, with all that followed. Decide anew: what was decided is in the form.")
    if undone.holder_id != request.user.pk:
        said = _("Taken back, with all that followed. It is with %(who)s again.") % {"who": undone.holder_label}
    messages.info(request, said)
    return redirect("review", slug=request.place.project.slug, review_id=review.pk)


def undo_offer(request: DeskRequest, review: Review) -> UndoOffer | None:
    """What the page of a decided review offers; nothing to whoever may not take it back."""
    is_theirs = request.place.may(Permission.REVIEW) and may_undo(review, actor=request.place.actor)
    if review.state != ReviewState.DECIDED or not is_theirs:
        return None
    from_step = review.step.seq if review.holds_run and review.step else None
    return UndoOffer(why_it_stands(review, review.run), from_step)
