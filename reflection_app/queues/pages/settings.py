"""The settings of named queues: their rules, members, goals and order."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import Conflict, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.storable import storable
from reflection_app.loops.verdicts import Verdict
from reflection_app.queues.changing import (
    MOST_QUEUES,
    QueueChange,
    QueueInput,
    QueueOrder,
    change_queue,
    create_queue,
    delete_queue,
    order_queues,
)
from reflection_app.queues.eligibility import reviewers_of
from reflection_app.queues.models import ReviewQueue
from reflection_app.queues.routing import read_rule
from reflection_app.queues.views.named import lines_of
from reflection_app.reviews.filters import SCORES_REVERSED, VALUE_ALONE
from reflection_app.reviews.models import OPEN, Review
from reflection_app.reviews.views.counting import count_up_to
from reflection_app.runs.views.list import MODES
from reflection_app.web.access import DeskRequest, Place, back_to, project_page
from reflection_app.web.forms import Form, Problems, Refused, read_form
from reflection_app.web.list_pages import names_in
from reflection_app.web.middleware import post_only

RULE = ("reason", "verdict", "kind", "agent", "mode", "min_score", "max_score", "metadata_key", "metadata_value")
FIELDS = ("name", *RULE, "goal_minutes")
LOOKED_AT, SUGGESTED = 500, 50
SENTENCES = {
    "name": gettext_noop("Enter 1 to 60 characters."),
    "members": gettext_noop("Choose from the reviewers of this project."),
    "goal_minutes": gettext_noop("A whole number of minutes from 1 to 43,200, or leave empty."),
    "min_score": gettext_noop("Enter a score from 0 to 100."),
    "max_score": gettext_noop("Enter a score from 0 to 100."),
    "reason": gettext_noop("Unknown review reason."),
    "verdict": gettext_noop("A verdict is PASS, REVISE or REJECT."),
    "mode": gettext_noop("Unknown mode."),
}
TOO_LONG = gettext_noop("At most 200 characters.")


def get_queue_for(place: Place, queue_id: UUID) -> ReviewQueue:
    """The project's queue. Raises Http404, also for one that is deleted."""
    return get_object_or_404(ReviewQueue, project=place.project, pk=queue_id, deleted_at=None)


@project_page(Permission.READ, post=Permission.CHANGE_SETTINGS)
@require_safe
def queue_list(request: DeskRequest) -> HttpResponse:
    """The queues in their order, with how many reviews wait in each."""
    project = request.place.project
    lines = lines_of(project.pk)
    waiting = Review.objects.filter(project=project, state__in=OPEN)
    context = {
        "lines": [(line, count_up_to(waiting.filter(queue=line.queue.pk))) for line in lines],
        "in_none": count_up_to(waiting.filter(queue=None)),
        "is_full": len(lines) >= MOST_QUEUES,
        "most": MOST_QUEUES,
        "may_change": request.place.may(Permission.CHANGE_SETTINGS),
    }
    return render(request, "queues/list.html", context)


@project_page(Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_queue(request: DeskRequest) -> HttpResponse:
    """The form; opened from a filtered page of reviews, with those filters as the rule."""
    form = read_form(request, FIELDS, {name: storable(request.GET.get(name, ""))[:200] for name in RULE})
    members = request.POST.getlist("members")
    if request.method == "POST":
        try:
            with form.collect_errors(_problems):
                data = QueueInput.model_validate(_typed(form, members))
                queue = create_queue(request.place.project, data, actor=request.place.actor)
                message = _("Queue “%(name)s” created. Matching open reviews were added.") % {"name": queue.name}
                return back_to(request, "review_queues", message=message)
        except Conflict as error:
            form.add_error("general", str(error))
    return _form(request, form, members=members)


@project_page(Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_queue(request: DeskRequest, queue_id: UUID) -> HttpResponse:
    queue = get_queue_for(request.place, queue_id)
    rule = read_rule(queue)
    kept = rule.model_dump(mode="json", exclude_defaults=True) if rule else {}
    saved = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in kept.items()}
    saved |= {"name": queue.name, "goal_minutes": str(queue.goal_minutes or "")}
    form = read_form(request, FIELDS, saved)
    members = request.POST.getlist("members")
    if request.method == "POST":
        with form.collect_errors(_problems):
            change = QueueChange.model_validate(_typed(form, members))
            change_queue(queue, change, actor=request.place.actor)
            message = _("Saved. Open reviews were sorted by the new rule; claimed reviews stay with their reviewers.")
            return back_to(request, "review_queues", message=message)
    else:
        members = list(queue.members.values_list("user__username", flat=True))
    return _form(request, form, members=members, queue=queue)


@project_page(Permission.CHANGE_SETTINGS)
@post_only(page="review_queues")
def move_queue(request: DeskRequest, queue_id: UUID) -> HttpResponse:
    """One place up or, with `to=down`, down."""
    queue = get_queue_for(request.place, queue_id)
    ids = list(ReviewQueue.objects.filter(project=queue.project_id, deleted_at=None).values_list("pk", flat=True))
    at = ids.index(queue.pk)
    to = at + 1 if request.POST.get("to") == "down" else at - 1
    if 0 <= to < len(ids):
        ids[at], ids[to] = ids[to], ids[at]
        order_queues(request.place.project, QueueOrder(queues=tuple(ids)), actor=request.place.actor)
    return back_to(request, "review_queues")


@project_page(Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_queue(request: DeskRequest, queue_id: UUID) -> HttpResponse:
    """Asks first; the POST deletes."""
    queue = get_queue_for(request.place, queue_id)
    if request.method != "POST":
        waiting = count_up_to(Review.objects.filter(queue=queue, state__in=OPEN))
        return render(request, "queues/delete_queue.html", {"queue": queue, "waiting": waiting})
    delete_queue(queue, actor=request.place.actor)
    return back_to(request, "review_queues", message=_("Queue deleted. Its reviews remain open."))


def _typed(form: Form, members: list[str]) -> dict[str, Any]:
    return {
        "name": form.values["name"],
        "rule": form.given(*RULE),
        "members": members,
        "goal_minutes": form.values["goal_minutes"] or None,
    }


def _problems(error: Refused) -> Problems:
    """In plain sentences, each at its field."""
    if isinstance(error, InvalidInput):
        return error.errors or [{"field": "general", "message": str(error)}]
    found: dict[str, str] = {}
    for one in error.errors(include_url=False, include_input=False):
        place = [str(part) for part in one["loc"]]
        name = place[1] if place[:1] == ["rule"] and len(place) > 1 else place[0] if place else "general"
        if name == "rule":
            is_alone = VALUE_ALONE in one["msg"]
            name, words = ("metadata_key", VALUE_ALONE) if is_alone else ("min_score", SCORES_REVERSED)
        else:
            words = SENTENCES.get(name, TOO_LONG)
        found.setdefault(name, _(words))
    return [{"field": name, "message": message} for name, message in found.items()]


def _form(request: DeskRequest, form: Form, *, members: list[str], queue: ReviewQueue | None = None) -> HttpResponse:
    project = request.place.project
    newest = Review.objects.filter(project=project).order_by("-created_at", "-id").values("pk")[:LOOKED_AT]
    seen = Review.objects.filter(pk__in=newest)
    reviewers = reviewers_of(project.pk)
    context = {
        "form": form,
        "fields": form.fields,
        "general": form.general,
        "member_errors": form.errors.get("members", []),
        "queue": queue,
        "is_broken": queue is not None and read_rule(queue) is None,
        "members": members,
        "reviewers": reviewers,
        "reasons": list(ReviewReason),
        "verdicts": list(Verdict),
        "modes": MODES,
        "agents": names_in(seen, "run__task__agent", most=SUGGESTED),
        "kinds": names_in(seen, "run__task__kind", most=SUGGESTED),
        "usual_goal": project.get_waiting().review_goal_minutes,
    }
    return render(request, "queues/queue_form.html", context, status=form.status)
