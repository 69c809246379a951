"""One review: what was attempted, what the critic said of it, and the form to decide with."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from reflection_app.actions.errors import ActionError
from reflection_app.loops.verdicts import IssueCategory, Severity
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.models import Review, Role
from reflection_app.web.access import DeskRequest, get_review_for, project_page
from reflection_app.web.decision_form import DecisionForm, holds_more, prefilled
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
