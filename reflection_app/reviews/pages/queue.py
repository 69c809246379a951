"""The queue of reviews: views of what waits for a person, and claiming the next of the view that is shown."""

from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.verdicts import Verdict
from reflection_app.queues.models import ListName
from reflection_app.queues.views.named import named_queue, queue_tabs
from reflection_app.queues.views.saved import saved_views
from reflection_app.reviews.claiming import IN_ORDER
from reflection_app.reviews.models import OPEN, Review
from reflection_app.reviews.pages.moving import go_to_next
from reflection_app.reviews.queue import QueueView
from reflection_app.reviews.views.counting import count_up_to, count_views, open_questions
from reflection_app.reviews.views.queue import (
    SORTS,
    VIEWS,
    AskedQueue,
    carried,
    queue_page,
    read_queue,
)
from reflection_app.runs.views.list import MODES
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import list_response, names_in, wants_part
from reflection_app.web.middleware import post_only

QUESTIONS_SHOWN = 100
# Suggested are the agents and kinds of the reviews that come first.
LOOKED_AT = 500
SUGGESTED = 50


@project_page(Permission.READ_QUEUE)
@require_safe
def queue(request: DeskRequest) -> HttpResponse:
    """The whole page; asked by htmx, its counts and rows alone."""
    project, actor = request.place.project, request.place.actor
    asked = read_queue(request.GET)
    named = named_queue(request, asked)
    if asked.filter.queue is not None and named is None:
        gone = {"field": "queue", "message": _("Queue not found.")}
        asked = AskedQueue(asked.filter.model_copy(update={"queue": None}), [*asked.errors, gone])
    after = id_from(request.GET.get("after", ""))
    page = queue_page(project, asked.filter, actor=actor, after=after)
    counts = count_views(project, actor=actor)
    # The navigation around the page says the same number.
    request.open_reviews = counts.waiting
    questions = open_questions(project).select_related("run__task").defer("run__spec", "run__task__tests")
    # The page of all reviews lists the open questions as well.
    in_tabs = {**counts.views, QueueView.ALL: counts.waiting}
    context = {
        "asked": asked,
        "filter": asked.filter,
        "view": asked.filter.view,
        "tabs": [(view, words, asked.with_view(view), in_tabs.get(view)) for view, words in VIEWS.items()],
        "is_plain": asked.filter.queue is None and asked.filter.saved is None,
        "rows": page.rows,
        "next_page": page.last,
        "after": after,
        # Not of a named queue as it is, which says so itself.
        "matches": count_up_to(Review.objects.filter(asked.filter.where(actor, project=project), project=project))
        if asked.filter.model_copy(update={"queue": None}).is_narrowed
        else None,
        "waiting": counts.views[QueueView.ALL],
        "now": timezone.now(),
        "named": named,
        "queues": queue_tabs(request, asked.filter.queue),
        "saved": saved_views(request, ListName.REVIEWS, asked.own_query),
        "questions": questions.order_by("created_at", "id")[:QUESTIONS_SHOWN] if counts.questions else [],
    }
    if not wants_part(request):
        # What the form of filters offers.
        elsewhere = {"view", "sort", "q", "queue", "saved"}
        further = asked.filter.model_dump(exclude=elsewhere, exclude_defaults=True)
        first = Review.objects.filter(project=project, state__in=OPEN).order_by(*IN_ORDER)
        looked_at = Review.objects.filter(pk__in=list(first.values_list("pk", flat=True)[:LOOKED_AT]))
        context |= {
            "agents": names_in(looked_at, "run__task__agent", most=SUGGESTED),
            "kinds": names_in(looked_at, "run__task__kind", most=SUGGESTED),
            "reasons": list(ReviewReason),
            "sorts": SORTS,
            "modes": MODES,
            "verdicts": list(Verdict),
            "has_more_filters": bool(further or asked.errors),
        }
    return list_response(request, "reviews/queue.html", context)


@project_page(Permission.REVIEW)
@post_only(page="reviews")
def take_next(request: DeskRequest) -> HttpResponse:
    """Opens what the user holds of the view, else claims its next; goes back to the view where there is none."""
    if errors := carried(request).errors:
        raise InvalidInput(errors[0]["message"], errors=errors)
    return go_to_next(request)
