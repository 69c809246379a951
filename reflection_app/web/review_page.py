"""One review: what was attempted, what the critic said of it, and the form to decide with."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from reflection_app.actions.claim_review import claim_review, keep_review, release_review
from reflection_app.actions.errors import ActionError, Conflict
from reflection_app.loops.verdicts import IssueCategory, Severity
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.models import Review, Role
from reflection_app.web.access import DeskRequest, get_review_for, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.decision_form import DecisionForm, holds_more, prefilled, read_decision
from reflection_app.web.pick_story import tell_pick
from reflection_app.web.rendering import render_answer, render_markdown
from reflection_app.web.what_is_left import what_is_left


@project_page()
@require_safe
def review_page(request: DeskRequest, review_id: UUID) -> HttpResponse:
    review = get_review_for(request.place, review_id)
    return show(request, review, form=prefilled(review))


def show(
    request: DeskRequest, review: Review, *, form: DecisionForm, problem: ActionError | None = None, status: int = 200
) -> HttpResponse:
    """The review's page with `form` as it was typed, and what went wrong."""
    context: dict[str, Any] = {
        "review": review,
        "run": review.run,
        "form": form,
        "problem": problem,
        "kept": problem is not None and holds_more(form, review),
        "is_mine": holds(request, review),
        "held_by_other": is_held(review) and review.holder_id != request.user.pk,
        "objective": render_markdown(review.run.task.objective),
        "answer": render_answer(review.attempt.content, is_code=bool(review.run.spec.get("tests"))),
        "verdict_names": list(VerdictName),
        "categories": list(IssueCategory),
        "severities": list(Severity),
        "left": what_is_left(review.run) if review.is_open and review.holds_run else None,
        "thresholds": review.run.get_spec().thresholds,
        "may_review": request.place.may(Role.REVIEWER),
    }
    if review.is_pick:
        return render(request, "reviews/pick.html", context | {"pick": tell_pick(review)}, status=status)
    return render(request, "reviews/page.html", context, status=status)


def is_held(review: Review) -> bool:
    return review.is_open and review.lease_until is not None and review.lease_until > timezone.now()


def holds(request: DeskRequest, review: Review) -> bool:
    """Whether the user may decide the review now."""
    return is_held(review) and review.holder_id == request.user.pk


@project_page(role=Role.REVIEWER)
@post_only(page="review")
def claim(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Claims the review. What was typed before a lost lease comes along and is shown again."""
    review = get_review_for(request.place, review_id)
    # Only the form of a decision has a token; it was typed into before the lease was lost.
    was_typed = "lease_token" in request.POST
    form = read_decision(request.POST, review) if was_typed else prefilled(review)
    try:
        claim_review(review, actor=request.place.actor)
    except Conflict as problem:
        return show(request, get_review_for(request.place, review_id), form=form, problem=problem, status=409)
    if was_typed:
        review = get_review_for(request.place, review_id)
        return show(request, review, form=replace(form, lease_token=str(review.lease_token)))
    return redirect("review", slug=request.place.project.slug, review_id=review.pk)


@project_page(role=Role.REVIEWER)
@post_only(page="review")
def release(request: DeskRequest, review_id: UUID) -> HttpResponse:
    review = get_review_for(request.place, review_id)
    token = _token(request)
    if token is not None:
        release_review(review, lease_token=token, actor=request.place.actor)
        messages.info(request, "Given back to the queue.")
    return redirect("reviews", slug=request.place.project.slug)


@project_page(role=Role.REVIEWER)
@post_only(page="review")
def heartbeat(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Keeps the hold while the page is open; the fragment says until when, or that it is lost."""
    review = get_review_for(request.place, review_id)
    token = _token(request)
    context: dict[str, Any] = {"review": review, "token": token}
    try:
        if token is not None:
            review.lease_until = keep_review(review, lease_token=token)
    except Conflict as problem:
        context["problem"] = problem
    return render(request, "reviews/_lease.html", context)


def _token(request: DeskRequest) -> UUID | None:
    try:
        return UUID(request.POST.get("lease_token", ""))
    except ValueError:
        return None
