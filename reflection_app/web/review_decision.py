"""Deciding a review in the browser."""

from dataclasses import replace
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from pydantic import ValidationError

from reflection_app.actions.decide_review import DecisionInput, decide_review
from reflection_app.actions.directors_decision import MEANS
from reflection_app.actions.errors import Conflict, InvalidInput, ReviewLeaseLost
from reflection_app.loops.effects import Decision, DirectorsDecision
from reflection_app.loops.verdicts import Referee, Verdict
from reflection_app.models import Review, Role
from reflection_app.web.access import DeskRequest, get_review_for, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.complaints import complaints
from reflection_app.web.decision_form import as_input, read_decision
from reflection_app.web.review_ahead import go_on
from reflection_app.web.review_page import holds, show

JUDGES = {Referee.CRITIC.label: "the critic", Referee.SELF.label: "the model"}
DIRECTED = {
    DirectorsDecision.REDO: "You ordered it to be done again.",
    DirectorsDecision.ACCEPT: "You accepted it all the same.",
    DirectorsDecision.CLOSE: "You closed it.",
}
FOLLOWS = {
    Verdict.PASS: " The run succeeds.",
    Verdict.REVISE: " The run goes on.",
    Verdict.REJECT: " The run ends as rejected.",
}


@project_page(role=Role.REVIEWER)
@post_only(page="review")
def decide(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Decides, and goes on to the next review; where that is refused, the page comes back with all that was typed."""
    review = get_review_for(request.place, review_id)
    form = read_decision(request.POST, review)
    try:
        decided = DecisionInput.model_validate(as_input(form, review))
        decide_review(review, decided, actor=request.place.actor)
    except ValidationError as error:
        unclear = InvalidInput("Nothing was decided.", errors=complaints(error))
        return show(request, review, form=replace(form, errors=unclear.errors), problem=unclear, status=400)
    except InvalidInput as problem:
        # A director's form shows what is wrong at the field; the others have it in the problem's own sentence.
        errors = problem.errors if review.is_for_director else []
        return show(request, review, form=replace(form, errors=errors), problem=problem, status=400)
    except Conflict as problem:
        now_is = get_review_for(request.place, review_id)
        if holds(request, now_is):
            form = replace(form, lease_token=str(now_is.lease_token))
            in_other_tab = ReviewLeaseLost("You opened this review in another tab; decide here.")
            return show(request, now_is, form=form, problem=in_other_tab, status=409)
        return show(request, now_is, form=form, problem=problem, status=409)
    messages.success(request, _done(review, decided, slug=request.place.project.slug))
    if request.POST.get("then") == "queue":
        return redirect("reviews", slug=request.place.project.slug)
    return go_on(request)


def _done(review: Review, decided: DecisionInput, *, slug: str) -> SafeString:
    """What was decided and what follows, with a link to the run: the page itself goes on to the next review."""
    if review.is_pick:
        return _picked(review, decided, slug=slug)
    if isinstance(decided.decision, DirectorsDecision):
        verdict = MEANS[decided.decision]
        return _with_link(DIRECTED[decided.decision], verdict, review=review, slug=slug)
    agreed = decided.decision is Decision.APPROVE
    verdict = Verdict(review.verdict.verdict) if agreed or decided.verdict is None else decided.verdict
    judge = JUDGES.get(review.verdict.referee_label, "the verdict")
    what = f"You agreed with {judge}" if agreed else f"You overruled {judge}"
    return _with_link(f"{what}: {verdict.capitalize()}.", verdict, review=review, slug=slug)


def _picked(review: Review, decided: DecisionInput, *, slug: str) -> SafeString:
    verdict = Verdict.PASS if decided.decision is Decision.APPROVE or decided.verdict is None else decided.verdict
    what = {
        Verdict.PASS: f"You kept attempt {decided.attempt or review.attempt.number}.",
        Verdict.REVISE: "You sent it back.",
        Verdict.REJECT: "You found no attempt right.",
    }
    return _with_link(what[verdict], verdict, review=review, slug=slug)


def _with_link(what: str, verdict: Verdict, *, review: Review, slug: str) -> SafeString:
    follows = FOLLOWS[verdict] if review.holds_run else ""
    address = reverse("run", args=(slug, review.run_id))
    label = "Watch the run" if review.holds_run else "Open the run"
    return format_html('{}{} <a href="{}">{}</a>', what, follows, address, label)
