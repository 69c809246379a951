"""The queue of reviews: what waits for a person, those that hold a run first, then the oldest."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from reflection_app.actions.claim_review import claim_next
from reflection_app.models import Question, QuestionState, Review, ReviewState, Role
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.context import OPEN, open_reviews

SHOWN = 100


@project_page()
@require_safe
def queue(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    reviews = (
        Review.objects.filter(project=project, state__in=OPEN)
        .select_related("run__task", "attempt", "verdict")
        .defer("run__spec", "run__task__tests", "attempt__content")
        .order_by("-holds_run", "created_at", "id")
    )
    questions = Question.objects.filter(project=project, state=QuestionState.OPEN).select_related("run__task")
    questions = questions.defer("run__spec", "run__task__tests").order_by("created_at", "id")[:SHOWN]
    context = {"questions": questions, "reviews": reviews[:SHOWN], "now": timezone.now(), "shown": SHOWN}
    return render(request, "reviews/queue.html", context)


@project_page()
@require_safe
def count(request: DeskRequest) -> HttpResponse:
    """The number in the navigation, for its own refresh."""
    return render(request, "_review_count.html", {"count": open_reviews(request.place.project)})


@project_page(role=Role.REVIEWER)
@post_only(page="reviews")
def take_next(request: DeskRequest) -> HttpResponse:
    """Opens the review that the user holds, else claims the next; goes back to the queue where there is none."""
    return go_to_next(request)


def go_to_next(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    review = held_by(request) or claim_next(project, actor=request.place.actor)
    if review is None:
        others_hold = open_reviews(project)
        messages.info(request, "Others hold what is left." if others_hold else "Nothing is waiting for a review.")
        return redirect("reviews", slug=project.slug)
    return redirect("review", slug=project.slug, review_id=review.pk)


def held_by(request: DeskRequest) -> Review | None:
    """The review that the user holds now, the first in the queue's order."""
    held = Review.objects.filter(
        project=request.place.project,
        state=ReviewState.CLAIMED,
        holder=request.user,
        lease_until__gt=timezone.now(),
    )
    return held.order_by("-holds_run", "created_at", "id").first()
