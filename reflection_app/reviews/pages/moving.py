"""From a review to the next one: going on, stepping aside, skipping, undoing."""

from uuid import UUID

from django.contrib import messages
from django.db.models import Exists, Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from reflection_app.core.errors import StillStands
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.reviews.claiming import (
    claim_next,
    free,
    skip_review,
    skipped_by,
    unskip_all,
    unskip_review,
)
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import OPEN, Review, ReviewState
from reflection_app.reviews.own_work import work_of_others
from reflection_app.reviews.queue import QueueSort, QueueView, SortedFilter, mine
from reflection_app.reviews.views.counting import count_up_to
from reflection_app.reviews.views.item import UndoOffer
from reflection_app.reviews.views.queue import ORDERS, AskedQueue, beside, carried, order_of
from reflection_app.web.access import DeskRequest, back_to, get_review_for, lead_to, project_page
from reflection_app.web.middleware import post_only

# Going on to the next review of the view that the reader came from, and saying why where there is none.


# The id of no review.
NONE = UUID(int=0)


def go_to_next(request: DeskRequest) -> HttpResponse:
    """To what the user holds of the view, else to the next one, claimed; back to the view where there is none."""
    return redirect(address_of_next(request, next_for(request)))


def next_for(request: DeskRequest) -> Review | None:
    """What the user holds of the view, else the next one of the view, claimed; None where there is none.

    What they hold beside the view is not brought in among its items: it is opened from "Mine".
    """
    asked = carried(request).filter
    among = claimable(request, asked)
    return held_by(request, among=among) or claim_next(
        request.place.project, actor=request.place.actor, among=among, order=claim_order(asked), queue=asked.queue
    )


def address_of_next(request: DeskRequest, review: Review | None) -> str:
    """The review's page within the view; where there is none, the view, and a message that says why."""
    if review is not None:
        return address_of_item(request, review.pk)
    _say_why_none(request, carried(request))
    return address_of_view(request)


def address_of_item(request: DeskRequest, review_id: UUID) -> str:
    """The review's page within the view of the queue that the reader came from."""
    address, within = reverse("review", args=(request.place.project.slug, review_id)), carried(request).within
    return f"{address}?{within}" if within else address


def address_of_view(request: DeskRequest) -> str:
    """The view of the queue that the reader came from."""
    address, query = reverse("reviews", args=(request.place.project.slug,)), carried(request).query
    return f"{address}?{query}" if query else address


def held_by(request: DeskRequest, *, among: Q, besides: UUID = NONE) -> Review | None:
    """The review of those `among` that the user holds now, the first in the queue's order; never `besides`."""
    held = Review.objects.filter(
        among,
        project=request.place.project,
        state=ReviewState.CLAIMED,
        holder=request.user,
        lease_until__gt=timezone.now(),
    )
    return held.exclude(pk=besides).order_by("-holds_run", "created_at", "id").first()


def claimable(request: DeskRequest, asked: SortedFilter) -> Q:
    """What the next one may be: what fits the filters and, where the view is one of open reviews, the view."""
    narrowing = asked.narrowing(request.place.project)
    if asked.view is QueueView.MINE:
        return narrowing & mine(request.place.actor, now=timezone.now())
    return narrowing


def claim_order(asked: SortedFilter) -> tuple[str, ...]:
    """The order in which the next one is looked for: that of the view, as far as open reviews can have it."""
    order = ORDERS[QueueSort.QUEUE] if asked.view.is_decided and asked.sort is None else order_of(asked)
    # PostgreSQL puts what is not known last by itself.
    return tuple("verdict__confidence" if field == "sure" else field for field in order)


def _say_why_none(request: DeskRequest, asked: AskedQueue) -> None:
    place = request.place
    scope = Review.objects.filter(claimable(request, asked.filter), project=place.project, state__in=OPEN)
    if not scope.exists():
        is_part = asked.filter.is_narrowed or asked.filter.view is QueueView.MINE
        said = _("No open reviews in this view.") if is_part else _("No open reviews.")
        return messages.info(request, said)
    skipped = count_up_to(scope.filter(Exists(skipped_by(place.actor)), free(timezone.now())))
    if skipped:
        said = ngettext("You skipped %(many)s review.", "You skipped %(many)s reviews.", skipped) % {"many": skipped}
        address = reverse("reviews", args=(place.project.slug,))
        query = asked.with_view(QueueView.SKIPPED)
        again = _("Show skipped")
        return messages.info(request, format_html('{} <a href="{}?{}">{}</a>', said, address, query, again))
    others_work = work_of_others(place.project, actor=place.actor)
    # An empty condition excludes nothing: where everybody may decide on their own work, no review is refused for it.
    if others_work and scope.exclude(others_work).exists():
        said = _("You or your API key submitted the remaining reviews. Another reviewer has to decide.")
        if place.may(Permission.CHANGE_SETTINGS):
            address = reverse("review_policy", args=(place.project.slug,))
            who_may = _("Self-review settings")
            said = format_html('{} <a href="{}#own-work">{}</a>', said, address, who_may)
        return messages.info(request, said)
    said = _(
        "The remaining reviews are locked, assigned to others, in restricted queues, or need the opinion of "
        "another reviewer."
    )
    return messages.info(request, said)


# From an item to the one beside it, in the view of the queue that the reader came from.


@project_page(Permission.READ_QUEUE)
@require_safe
def beside_page(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """To the next item, or back to the previous one; at the end of the view the item stays. Claims nothing."""
    review = get_review_for(request.place, review_id)
    is_back = request.GET.get("way") == "back"
    project, asked = request.place.project, carried(request)
    found = beside(project, asked.filter, review, actor=request.place.actor, is_back=is_back)
    message = ""
    if found is None:
        message = _("This is the first item in this view.") if is_back else _("This is the last item in this view.")
    return lead_to(request, address_of_item(request, found or review.pk), message=message, level=messages.INFO)


# Taking a decision back in the browser; where it stands, the page says why and offers to rewind instead.


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
    said = _("Decision undone, with its effects. Your previous answer is in the form.")
    if undone.holder_id != request.user.pk:
        said = _("Decision undone, with its effects. The review is assigned to %(who)s again.") % {
            "who": undone.holder_label
        }
    return lead_to(request, address_of_item(request, review.pk), message=said, level=messages.INFO)


# Skipping reviews in the browser, and taking that back.


@project_page(Permission.REVIEW)
@post_only(page="review")
def skip(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Passes the review over and goes on to the next; with `undo`, the review comes to the user again."""
    review = get_review_for(request.place, review_id)
    if request.POST.get("undo"):
        unskip_review(review, actor=request.place.actor)
        message = _("The review is back in your queue.")
        return lead_to(request, address_of_view(request), message=message, level=messages.INFO)
    skip_review(review, actor=request.place.actor, lease_token=lease_token_in(request))
    return redirect(address_of_view(request)) if request.POST.get("then") == "queue" else go_to_next(request)


@project_page(Permission.REVIEW)
@post_only(page="reviews")
def unskip(request: DeskRequest) -> HttpResponse:
    """Everything that the user has skipped comes to them again."""
    many = unskip_all(request.place.project, actor=request.place.actor)
    said = ngettext("%(many)s review is back in your queue.", "%(many)s reviews are back in your queue.", many)
    return back_to(request, "reviews", message=said % {"many": many}, level=messages.INFO)


def lease_token_in(request: DeskRequest) -> UUID | None:
    return id_from(request.POST.get("lease_token", ""))
