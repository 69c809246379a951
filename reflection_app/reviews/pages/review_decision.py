"""Deciding a review in the browser."""

from dataclasses import replace
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from reflection_app.core.errors import Conflict, InvalidInput, ReviewLeaseLost
from reflection_app.core.own_work import OwnWorkRefused
from reflection_app.core.permissions import Permission
from reflection_app.loops.effects import Decision
from reflection_app.reviews.decide_review import DecisionInput, decide_review
from reflection_app.reviews.pages.review_ahead import go_on
from reflection_app.reviews.pages.review_page import holds, show
from reflection_app.reviews.views.decision_form import agrees_but_changed, as_input, read_decision
from reflection_app.reviews.views.last_decision import remember
from reflection_app.web.access import DeskRequest, get_review_for, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.complaints import complaints

CHANGED = gettext_lazy(
    "You agreed, but changed the issues: to change them is to overrule. Overruling is chosen now: give your verdict, "
    "or begin again and agree."
)


@project_page(Permission.REVIEW)
@post_only(page="review")
def decide(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Decides, and goes on to the next review; where that is refused, the page comes back with all that was typed."""
    review = get_review_for(request.place, review_id)
    form = read_decision(request.POST, review)
    try:
        if agrees_but_changed(form, request.POST, review):
            form = replace(form, decision=Decision.OVERRULE.value)
            raise InvalidInput(str(CHANGED))
        decided = DecisionInput.model_validate(as_input(form, review))
        decide_review(review, decided, actor=request.place.actor)
    except ValidationError as error:
        unclear = InvalidInput(_("Nothing was decided."), errors=complaints(error))
        return show(request, review, form=replace(form, errors=unclear.errors), problem=unclear, status=400)
    except InvalidInput as problem:
        # A director's form shows what is wrong at the field; the others have it in the problem's own sentence.
        errors = problem.errors if review.is_for_director else []
        return show(request, review, form=replace(form, errors=errors), problem=problem, status=400)
    except (Conflict, OwnWorkRefused) as problem:
        now_is = get_review_for(request.place, review_id)
        if isinstance(problem, Conflict) and holds(request, now_is):
            form = replace(form, lease_token=str(now_is.lease_token))
            in_other_tab = ReviewLeaseLost(_("You opened this review in another tab; decide here."))
            return show(request, now_is, form=form, problem=in_other_tab, status=409)
        return show(request, now_is, form=form, problem=problem, status=problem.status)
    if request.POST.get("then") == "queue":
        return redirect("reviews", slug=request.place.project.slug)
    remember(request, review, decided)
    return go_on(request)
