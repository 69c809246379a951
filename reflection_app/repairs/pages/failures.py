"""The pages of failed calls: the list, and one failure told as a post-mortem."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from notebook_app.public import proposed_from
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.diagnosis.diagnoses import ErrorType
from reflection_app.loops.storable import storable
from reflection_app.metrics.completeness_figures import (
    FEWEST_RUNS,
    LEAST_GAIN,
    MOST_RUNS_PER_SUCCESS,
    Recurring,
    completeness_figures,
    recurring_supplements,
)
from reflection_app.notebook.views.entry import learned_from_failure
from reflection_app.repairs.cheat_sheet import cheat_sheet
from reflection_app.repairs.completeness import RECURS_FROM, source_of
from reflection_app.repairs.models import CompletenessCheck, ToolFailure
from reflection_app.repairs.tool_failures import FixOutcomeSubmission, report_fix_outcome
from reflection_app.repairs.views import FailureShown
from reflection_app.tasks.submission import invalid_input
from reflection_app.web.access import DeskRequest, get_tool_failure_for, project_page
from reflection_app.web.forms import Typed, blame, read_typed
from reflection_app.web.list_pages import Filters, list_page, list_response, one_of, text_of
from reflection_app.web.middleware import post_only

LONGEST_SEARCH = 200
SIMILAR_SHOWN = 5
OUTCOME_FIELDS = ("fix", "tool", "delay_seconds", "note")
FOLLOWS = {
    "yes": gettext_noop("Kept. It is tried first the next time."),
    "no": gettext_noop("Kept. It counts against this fix."),
}
# How a fix went, as the address names it.
WENT = {"worked": True, "failed": False, "unknown": None}


def filtered(rows: QuerySet[ToolFailure], filters: Filters) -> QuerySet[ToolFailure]:
    if filters["q"]:
        rows = rows.filter(Q(tool__icontains=filters["q"]) | Q(external_id=filters["q"]))
    if filters["type"]:
        rows = rows.filter(error_type=filters["type"])
    if filters["went"]:
        worked = WENT[filters["went"]]
        rows = rows.filter(worked__isnull=True) if worked is None else rows.filter(worked=worked)
    return rows.filter(agent=filters["agent"]) if filters["agent"] else rows


@project_page()
@require_safe
def tool_failures(request: DeskRequest) -> HttpResponse:
    own = ToolFailure.objects.filter(project=request.place.project)
    searched = text_of(LONGEST_SEARCH)
    filters = Filters.read(request.GET, q=searched, type=one_of(ErrorType), went=one_of(WENT), agent=searched)
    return list_page(
        request,
        "repairs/failures/list.html",
        filtered(own.select_related("run").defer("run__spec"), filters).order_by("-created_at", "-id"),
        called="failures",
        view=lambda rows: [FailureShown(row) for row in rows],
        among=own,
        filters=filters,
        types=list(ErrorType),
    )


@project_page()
@require_safe
def tool_failure(request: DeskRequest, failure_id: UUID) -> HttpResponse:
    return _page(request, get_tool_failure_for(request.place, failure_id))


@project_page(Permission.HAND_IN)
@post_only(page="tool_failure")
def tool_outcome(request: DeskRequest, failure_id: UUID) -> HttpResponse:
    """Keeps how the fix went, as the form says."""
    failure = get_tool_failure_for(request.place, failure_id)
    typed = read_typed(request.POST, (*OUTCOME_FIELDS, "worked"))
    try:
        report_fix_outcome(failure, _read_outcome(typed), actor=request.place.actor)
    except InvalidInput as error:
        blame(typed, error.errors)
        return _page(request, failure, form=typed, status=400)
    messages.success(request, _(FOLLOWS[typed.values["worked"]]))
    return redirect("tool_failure", slug=request.place.project.slug, failure_id=failure.pk)


def _read_outcome(typed: Typed) -> FixOutcomeSubmission:
    """What the form says. Raises InvalidInput, with fields of the form."""
    worked = {"yes": True, "no": False}.get(typed.values["worked"])
    if worked is None:
        raise InvalidInput(_("Say how it went."), errors=[{"field": "worked", "message": _("Say whether it worked.")}])
    try:
        return FixOutcomeSubmission.model_validate({"worked": worked} | typed.given(*OUTCOME_FIELDS))
    except ValidationError as error:
        raise invalid_input(error, what="outcome") from None


def _page(request: DeskRequest, failure: ToolFailure, *, form: Typed | None = None, status: int = 200) -> HttpResponse:
    form = form or Typed(dict.fromkeys((*OUTCOME_FIELDS, "worked"), ""))
    alike = ToolFailure.objects.none()
    if failure.signature:
        alike = ToolFailure.objects.filter(
            project=failure.project_id, tool=failure.tool, signature=failure.signature
        ).exclude(pk=failure.pk)
    context = {
        "failure": FailureShown(failure),
        "similar": [FailureShown(row) for row in alike.order_by("-created_at", "-id")[: SIMILAR_SHOWN + 1]],
        "similar_shown": SIMILAR_SHOWN,
        "learned": learned_from_failure(failure),
        "form": form,
        "fields": form.fields,
        "may_tell": request.place.may(Permission.HAND_IN) and failure.is_diagnosed,
    }
    return render(request, "repairs/failures/page.html", context, status=status)


# The cheat sheet: what usually fails with each tool, and what helped.


@project_page()
@require_safe
def tool_cheat_sheet(request: DeskRequest) -> HttpResponse:
    tool = storable(request.GET.get("tool", "").strip())[:LONGEST_SEARCH]
    context = {"sheet": cheat_sheet(request.place.project, tool=tool), "tool": tool}
    return list_response(request, "repairs/failures/cheat_sheet.html", context)


# The project's page of completeness checks: how often something is missing, what recurs, and what it is worth.

NEWEST_SHOWN = 20


@dataclass(frozen=True)
class RecurringShown:
    recurring: Recurring
    # The state of the notebook's entry where it was offered, else nothing.
    offered: str


@project_page()
@require_safe
def completeness_page(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    context = {
        "figures": completeness_figures(project.pk),
        "recurring": _recurring(project),
        "newest": CompletenessCheck.objects.filter(project=project).select_related("run__task")[:NEWEST_SHOWN],
        "settings": project.get_completeness(),
        "recurs_from": RECURS_FROM,
        "fewest_runs": FEWEST_RUNS,
        "least_gain": LEAST_GAIN,
        "most_runs_per_success": MOST_RUNS_PER_SUCCESS,
    }
    return render(request, "repairs/completeness/page.html", context)


def _recurring(project: Project) -> list[RecurringShown]:
    found = [(one, source_of(one.task_kind, one.operation_key)) for one in recurring_supplements(project.pk)]
    entries = proposed_from(project.pk, sources=[source for _, source in found])
    offered = {entry.source: entry.state for entry in entries}
    return [RecurringShown(one, offered.get(source, "")) for one, source in found]
