"""Skipping reviews in the browser, and taking that back."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.reviews.pages.next_review import go_to_next
from reflection_app.reviews.skip_review import skip_review, unskip_all, unskip_review
from reflection_app.reviews.views.queue_filter import carried
from reflection_app.web.access import DeskRequest, get_review_for, project_page
from reflection_app.web.action_addresses import post_only


@project_page(Permission.REVIEW)
@post_only(page="review")
def skip(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Passes the review over and goes on to the next; with `undo`, the review comes to the user again."""
    review = get_review_for(request.place, review_id)
    if request.POST.get("undo"):
        unskip_review(review, actor=request.place.actor)
        messages.info(request, _("It comes to you again."))
        return _back(request)
    skip_review(review, actor=request.place.actor, lease_token=_token(request))
    return _back(request) if request.POST.get("then") == "queue" else go_to_next(request)


@project_page(Permission.REVIEW)
@post_only(page="reviews")
def unskip(request: DeskRequest) -> HttpResponse:
    """Everything that the user has skipped comes to them again."""
    many = unskip_all(request.place.project, actor=request.place.actor)
    said = ngettext("%(many)s review comes to you again.", "%(many)s reviews come to you again.", many)
    messages.info(request, said % {"many": many})
    return redirect("reviews", slug=request.place.project.slug)


def _back(request: DeskRequest) -> HttpResponse:
    query = carried(request).query
    address = reverse("reviews", args=(request.place.project.slug,))
    return redirect(f"{address}?{query}" if query else address)


def _token(request: DeskRequest) -> UUID | None:
    return id_from(request.POST.get("lease_token", ""))
