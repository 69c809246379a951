"""Holding a review in the browser: claiming it, keeping it while its page is open, giving it back."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from reflection_app.core.errors import Conflict
from reflection_app.core.ids import id_from
from reflection_app.core.own_work import OwnWorkRefused
from reflection_app.core.permissions import Permission
from reflection_app.reviews.claim_review import claim_review, hold_end, keep_review, release_review
from reflection_app.reviews.pages.review_page import show
from reflection_app.reviews.views.decision_form import prefilled, read_decision
from reflection_app.web.access import DeskRequest, get_review_for, project_page
from reflection_app.web.action_addresses import post_only


@project_page(Permission.REVIEW)
@post_only(page="review")
def claim(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Claims the review. What was typed before a lost lease comes along and is shown again."""
    review = get_review_for(request.place, review_id)
    # Only the form of a decision has a token; it was typed into before the lease was lost.
    was_typed = "lease_token" in request.POST
    form = read_decision(request.POST, review) if was_typed else prefilled(review)
    try:
        claim_review(review, actor=request.place.actor)
    except (Conflict, OwnWorkRefused) as problem:
        now_is = get_review_for(request.place, review_id)
        return show(request, now_is, form=form, problem=problem, status=problem.status)
    if was_typed:
        review = get_review_for(request.place, review_id)
        return show(request, review, form=replace(form, lease_token=str(review.lease_token)))
    return redirect("review", slug=request.place.project.slug, review_id=review.pk)


@project_page(Permission.REVIEW)
@post_only(page="review")
def release(request: DeskRequest, review_id: UUID) -> HttpResponse:
    review = get_review_for(request.place, review_id)
    token = _token(request)
    if token is not None:
        release_review(review, lease_token=token, actor=request.place.actor)
        messages.info(request, _("Given back to the queue."))
    return redirect("reviews", slug=request.place.project.slug)


@project_page(Permission.REVIEW)
@post_only(page="review")
def heartbeat(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Keeps the hold while the page is in use; the fragment says until when, or that it is lost.

    A page that only heard of a change asks to `look`, which moves nothing.
    """
    review = get_review_for(request.place, review_id)
    token = _token(request)
    context: dict[str, Any] = {"review": review, "token": token}
    try:
        if token is not None:
            keeping = hold_end if "look" in request.POST else keep_review
            review.lease_until = keeping(review, lease_token=token)
    except Conflict as problem:
        context["problem"] = problem
    return render(request, "reviews/_lease.html", context)


def _token(request: DeskRequest) -> UUID | None:
    return id_from(request.POST.get("lease_token", ""))
