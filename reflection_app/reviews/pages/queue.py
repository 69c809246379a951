"""The queue of reviews: views of what waits for a person, and claiming the next of the view that is shown."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.claiming import IN_ORDER
from reflection_app.reviews.models import OPEN, Review
from reflection_app.reviews.pages.moving import go_to_next
from reflection_app.reviews.queue import QueueView, held
from reflection_app.reviews.views.queue import (
    SORTS,
    VIEWS,
    AskedQueue,
    Tab,
    carried,
    count_up_to,
    count_views,
    open_reviews,
    queue_page,
    read_queue,
    tab,
)
from reflection_app.runs.models import Question, QuestionState
from reflection_app.runs.views.list import MODES
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import list_response, names_in
from reflection_app.web.middleware import post_only

QUESTIONS_SHOWN = 100
# Suggested are the agents and kinds of the reviews that come first, and who holds one.
LOOKED_AT = 500
SUGGESTED = 50


@project_page(Permission.READ_QUEUE)
@require_safe
def queue(request: DeskRequest) -> HttpResponse:
    """The whole page; asked by htmx, its counts and rows alone."""
    project, actor = request.place.project, request.place.actor
    asked = read_queue(request.GET)
    after = id_from(request.GET.get("after", ""))
    page = queue_page(project, asked.filter, actor=actor, after=after)
    counts, rows = count_views(project, actor=actor), Review.objects.filter(project=project)
    context = {
        "asked": asked,
        "filter": asked.filter,
        "view": asked.filter.view,
        "tabs": [tab(view, asked, counts) for view in VIEWS],
        "reasons": _reasons(asked, counts),
        "rows": page.rows,
        "next_page": page.last,
        "after": after,
        "matches": count_up_to(rows.filter(asked.filter.where(actor))) if asked.filter.is_narrowed else None,
        "waiting": counts[QueueView.ALL],
        "now": timezone.now(),
    }
    if not request.headers.get("HX-Request") or request.headers.get("HX-History-Restore-Request"):
        context |= _around(project, asked)
    return list_response(request, "reviews/queue.html", context | {"questions": _questions(project)})


def _around(project: Project, asked: AskedQueue) -> dict[str, Any]:
    """What the form of filters offers."""
    waiting = Review.objects.filter(project=project, state__in=OPEN).order_by(*IN_ORDER)
    first = Review.objects.filter(project=project, pk__in=list(waiting.values_list("pk", flat=True)[:LOOKED_AT]))
    holders = Review.objects.filter(held(timezone.now()), project=project).order_by("holder_label")
    return {
        "sorts": SORTS,
        "modes": MODES,
        "verdicts": list(Verdict),
        "agents": names_in(first, "run__task__agent", most=SUGGESTED),
        "kinds": names_in(first, "run__task__kind", most=SUGGESTED),
        "holders": list(holders.values_list("holder_label", flat=True).distinct()[:SUGGESTED]),
        "has_more_filters": bool(
            asked.filter.model_dump(exclude={"view", "reason", "sort", "q"}, exclude_defaults=True) or asked.errors
        ),
    }


def _reasons(asked: AskedQueue, counts: dict[str, int]) -> list[Tab]:
    """The reasons that something waits for, and the one that is chosen."""
    chosen = asked.filter.reason
    return [
        Tab(
            name=reason.value,
            label="",
            query=asked.with_reason(None if reason is chosen else reason),
            count=counts[f"reason_{reason.value}"],
            is_current=reason is chosen,
        )
        for reason in ReviewReason
        if counts[f"reason_{reason.value}"] or reason is chosen
    ]


def _questions(project: Project) -> Any:
    rows = Question.objects.filter(project=project, state=QuestionState.OPEN).select_related("run__task")
    return rows.defer("run__spec", "run__task__tests").order_by("created_at", "id")[:QUESTIONS_SHOWN]


@project_page(Permission.READ_QUEUE)
@require_safe
def count(request: DeskRequest) -> HttpResponse:
    """The number in the navigation, for its own refresh."""
    return render(request, "_review_count.html", {"count": open_reviews(request.place.project)})


@project_page(Permission.REVIEW)
@post_only(page="reviews")
def take_next(request: DeskRequest) -> HttpResponse:
    """Opens the review that the user holds, else claims the next of the view; goes back to it where there is none."""
    if errors := carried(request).errors:
        raise InvalidInput(errors[0]["message"], errors=errors)
    return go_to_next(request)
