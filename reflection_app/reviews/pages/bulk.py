"""Bulk decisions in the browser: choosing, deciding together with one reason, watching them go through, taking back."""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import BooleanField, Count, ExpressionWrapper, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.bulk import MOST_ITEMS, BulkInput, begin_bulk, may_undo_bulk, undo_bulk
from reflection_app.reviews.claiming import IN_ORDER
from reflection_app.reviews.models import OPEN, BulkDecision, BulkItemState, Review, telling_opinions
from reflection_app.reviews.views.queue import AskedQueue, carried, read_queue
from reflection_app.web.access import DeskRequest, back_to, get_bulk_for, project_page
from reflection_app.web.forms import problems_of
from reflection_app.web.list_pages import list_page, wants_part
from reflection_app.web.middleware import post_only

# What has to be looked at is listed; what went well is only counted beyond this.
MOST_LISTED = 200
AGREE = "agree"


@project_page(Permission.REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def new_bulk(request: DeskRequest) -> HttpResponse:
    """Shows what was selected in the queue, with the form to decide it together."""
    if request.method != "POST":
        return back_to(request, "reviews")
    if "all" not in request.POST:
        return _form(request, _selected(request))
    # The open reviews of the view whose address the queue's form carries, in the queue's order.
    where = read_queue(request.GET).filter.where(request.place.actor, project=request.place.project)
    rows = Review.objects.filter(where, project=request.place.project, state__in=OPEN)
    return _form(request, list(_light(rows).order_by(*IN_ORDER)[: MOST_ITEMS + 1]))


def _light(rows: QuerySet[Review]) -> QuerySet[Review]:
    """`rows` with what a list shows of them."""
    related = rows.select_related("run__task", "attempt", "verdict")
    return related.defer("run__spec", "run__task__tests", "attempt__content")


@project_page(Permission.REVIEW)
@post_only(page="bulk_list")
def start_bulk(request: DeskRequest) -> HttpResponse:
    """Begins the decision and shows its progress; where that is refused, the form comes back with what was typed."""
    selected = _selected(request)
    choice = request.POST.get("choice", "")
    given = {"reviews": [review.pk for review in selected], "reason": request.POST.get("reason", "").strip()}
    given |= (
        {"decision": Decision.APPROVE.value}
        if choice == AGREE
        else {"decision": Decision.OVERRULE.value, "verdict": choice}
    )
    try:
        bulk = begin_bulk(request.place.project, BulkInput.model_validate(given), actor=request.place.actor)
    except (InvalidInput, ValidationError) as error:
        # The sentence for each field of the form; what a person chose is one field here.
        errors: dict[str, str] = {}
        for problem in problems_of(error):
            field = "choice" if problem["field"] in {"decision", "verdict"} else problem["field"].split(".", 1)[0]
            sentence = _("Select at least one review in the queue.") if field == "reviews" else problem["message"]
            errors.setdefault(field, sentence)
        return _form(request, selected, errors=errors)
    return redirect(_address(request, bulk))


def _address(request: DeskRequest, bulk: BulkDecision) -> str:
    """The bulk decision's page, which leads back to the view of the queue that it was begun from."""
    address, within = reverse("bulk", args=(request.place.project.slug, bulk.pk)), carried(request).within
    return f"{address}?{within}" if within else address


def _view(request: DeskRequest) -> AskedQueue:
    """The view of the queue: as the queue's own form has it in its address, else as later pages carry it along."""
    return carried(request) if carried(request).query else read_queue(request.GET)


def _way_back(view: AskedQueue) -> dict[str, str]:
    return {"view_query": view.query, "within": view.within}


def _selected(request: DeskRequest) -> list[Review]:
    """The project's reviews that the form names, in its order; anything else in it is left aside."""
    wanted = [found for text in request.POST.getlist("review")[: MOST_ITEMS + 1] if (found := id_from(text))]
    rows = Review.objects.filter(project=request.place.project, pk__in=wanted)
    by_id = {review.pk: review for review in _light(rows)}
    return [by_id[review_id] for review_id in dict.fromkeys(wanted) if review_id in by_id]


def _form(request: DeskRequest, selected: list[Review], *, errors: dict[str, str] | None = None) -> HttpResponse:
    open_now = [review for review in selected if review.state in OPEN]
    context = {
        "selected": selected[:MOST_ITEMS],
        "open_count": len(open_now),
        "too_many": len(selected) > MOST_ITEMS,
        "most": MOST_ITEMS,
        "holding": sum(review.holds_run for review in open_now),
        "verdicts": list(Verdict),
        "choice": request.POST.get("choice", ""),
        "reason": request.POST.get("reason", ""),
        "errors": errors or {},
    } | _way_back(_view(request))
    return render(request, "reviews/bulk/form.html", context, status=400 if errors else 200)


@project_page(Permission.READ_QUEUE)
@require_safe
def bulk_list(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    of_project = BulkDecision.objects.filter(project=project)
    rows = _counted(of_project, reader=request.place.actor).order_by("-created_at", "-id")
    return list_page(request, "reviews/bulk/list.html", rows, called="bulks", among=of_project)


def _counted(rows: QuerySet[BulkDecision], *, reader: Actor) -> QuerySet[BulkDecision]:
    """`rows` with how many items there are in each state, and whether what was decided is not told to `reader` yet."""
    counts = {name.value: Count("items", filter=Q(items__state=name)) for name in BulkItemState}
    counted = rows.annotate(total=Count("items"), **{f"count_{name}": count for name, count in counts.items()})
    return counted.annotate(is_hidden=ExpressionWrapper(telling_opinions(reader=reader), output_field=BooleanField()))


@project_page(Permission.READ_QUEUE)
@require_safe
def bulk_page(request: DeskRequest, bulk_id: UUID) -> HttpResponse:
    """How far it is, and what failed and why. While it is under way the page asks for this part again."""
    bulk = get_bulk_for(request.place, bulk_id)
    counted: Any = _counted(BulkDecision.objects.filter(pk=bulk.pk), reader=request.place.actor).get()
    items = bulk.items.select_related("review__run__task").defer("review__run__spec", "review__run__task__tests")
    to_look_at = items.filter(state__in=(BulkItemState.FAILED, BulkItemState.KEPT))[:MOST_LISTED]
    # How many items are still to be worked on, forth or back.
    left = {"running": counted.count_pending, "undoing": counted.count_done}.get(counted.state, 0)
    context = {
        "bulk": counted,
        "counts": [(name.value, count) for name in BulkItemState if (count := getattr(counted, f"count_{name.value}"))],
        "gone_through": counted.total - left,
        "verdict": None if counted.is_hidden else bulk.decision.get("verdict"),
        "reason": "" if counted.is_hidden else bulk.decision.get("reason", ""),
        "failed": to_look_at,
        "items": items.exclude(state__in=(BulkItemState.FAILED, BulkItemState.KEPT))[:MOST_LISTED],
        "may_undo": _may_undo(request, bulk) and bulk.state == "done" and counted.count_done,
    } | _way_back(carried(request))
    template = "reviews/bulk/_progress.html" if wants_part(request) else "reviews/bulk/page.html"
    return render(request, template, context)


def _may_undo(request: DeskRequest, bulk: BulkDecision) -> bool:
    return request.place.may(Permission.REVIEW) and may_undo_bulk(bulk, actor=request.place.actor)


@project_page(Permission.REVIEW)
@post_only(page="bulk")
def take_back_bulk(request: DeskRequest, bulk_id: UUID) -> HttpResponse:
    bulk = get_bulk_for(request.place, bulk_id)
    if not _may_undo(request, bulk):
        raise PermissionDenied
    undo_bulk(bulk, actor=request.place.actor)
    return redirect(_address(request, bulk))
