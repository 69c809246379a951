"""Assigning and handing over in the browser."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from pydantic import ValidationError

from reflection_app.core.errors import ActionError, Conflict, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.reviews.assign_review import AssignInput, HandOverInput, assign_review, hand_over
from reflection_app.reviews.pages.review_page import show
from reflection_app.reviews.views.assigning import with_draft
from reflection_app.reviews.views.decision_form import prefilled, read_decision
from reflection_app.web.access import DeskRequest, get_review_for, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.complaints import complaints


@project_page(Permission.REVIEW)
@post_only(page="review")
def assign(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Keeps the review for somebody, or for nobody; a refusal comes back with what was typed."""
    review = get_review_for(request.place, review_id)
    typed = {"to": request.POST.get("to") or None, "note": _note(request)}
    try:
        told = assign_review(review, AssignInput.model_validate(typed), actor=request.place.actor)
    except (ValidationError, ActionError) as error:
        problem = _problem(error)
        return show(request, review, form=prefilled(review), problem=problem, status=problem.status)
    if told.assignee:
        messages.success(request, _("Assigned to %(name)s.") % {"name": told.assignee.get_username()})
    else:
        messages.success(request, _("It is assigned to nobody now."))
    return redirect("review", slug=request.place.project.slug, review_id=review.pk)


@project_page(Permission.REVIEW)
@post_only(page="review")
def hand_over_page(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Gives the review to somebody else, with what was typed into its decision; a refusal loses none of it."""
    review = get_review_for(request.place, review_id)
    form = read_decision(request.POST, review)
    note = with_draft(_note(request), form, review=review)
    typed = {"lease_token": form.lease_token, "to": request.POST.get("to", ""), "note": note}
    try:
        told = hand_over(review, HandOverInput.model_validate(typed), actor=request.place.actor)
    except (ValidationError, ActionError) as error:
        now_is = get_review_for(request.place, review_id)
        problem = _problem(error)
        return show(request, now_is, form=form, problem=problem, status=problem.status)
    assert told.assignee is not None
    messages.success(request, _("Handed over to %(name)s.") % {"name": told.assignee.get_username()})
    return redirect("reviews", slug=request.place.project.slug)


def _note(request: DeskRequest) -> str:
    return request.POST.get("note", "").replace("\r\n", "\n")


def _problem(error: ValidationError | ActionError) -> ActionError:
    if isinstance(error, ValidationError):
        errors = complaints(error)
        if any(one["field"] == "to" for one in errors):
            return InvalidInput(_("Choose to whom."), errors=errors)
        if any(one["field"] == "lease_token" for one in errors):
            return Conflict(_("You do not hold this review. Claim it first; nothing was changed."))
        return InvalidInput(_("Nothing was changed."), errors=errors)
    return error
