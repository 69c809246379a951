"""Reflection reports: the list, one report as a post-mortem, its files, and the form that corrects its class."""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from reflection_app.core.errors import ActionError, Conflict, InvalidInput
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reports import markdown_of
from reflection_app.loops.storable import storable
from reflection_app.notebook.views.entry import learned_from_report
from reflection_app.repairs.instructions import InstructionInput, decide_instruction
from reflection_app.repairs.models import AgentInstruction, InstructionState, Report
from reflection_app.repairs.reports import CorrectionInput, correct_class
from reflection_app.repairs.views import CLASSES, ReportShown
from reflection_app.tasks.submission import invalid_input
from reflection_app.web.access import DeskRequest, Place, project_page
from reflection_app.web.acting import go_back, read_input, typed_text
from reflection_app.web.filters import Filters, listed, names_in, one_of
from reflection_app.web.forms import Typed, blame, read_typed
from reflection_app.web.list_pages import list_response
from reflection_app.web.middleware import post_only

CORRECTION = ("type", "reason", "before")


def filtered(project: Project, filters: Filters) -> QuerySet[Report]:
    """The project's reports that fit, newest first."""
    rows = Report.objects.filter(project=project).select_related("run__task", "attempt", "revised_attempt")
    if held := filters["type"]:
        rows = rows.filter(Q(corrected_type=held) | Q(corrected_type__isnull=True, error_type=held))
    wanted = {name: value for name, value in filters.items() if value and name != "type"}
    rows = rows.filter(**wanted).defer("run__spec", "run__task__tests", "attempt__content", "revised_attempt__content")
    return rows.prefetch_related("corrections").order_by("-created_at", "-id")


def get_report_for(place: Place, reflection_id: str) -> Report:
    """The project's report with what its page shows. Raises Http404."""
    related = ("run__task", "ticket", "attempt", "revised_attempt")
    rows = Report.objects.filter(project=place.project, reflection_id=reflection_id).select_related(*related)
    return get_object_or_404(rows.defer("run__spec", "attempt__content", "revised_attempt__content"))


@project_page()
@require_safe
def report_list(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    filters = Filters(
        type=one_of(request, "type", ErrorClass),
        agent=storable(request.GET.get("agent", ""))[:120],
        run=str(id_from(request.GET.get("run", "")) or ""),
    )
    among = Report.objects.filter(project=project)
    rows = filtered(project, filters)
    context = listed(request, rows, called="reports", among=among, named_by="reflection_id")
    context |= {
        "reports": [ReportShown(row) for row in context["reports"]],
        "filters": filters,
        "classes": CLASSES,
        "agents": names_in(among, "agent"),
        "undecided": undecided(project),
    }
    return list_response(request, "repairs/reports/list.html", context)


def undecided(project: Project) -> int:
    """How many instructions wait for a person."""
    return AgentInstruction.objects.filter(project=project, state=InstructionState.PROPOSED).count()


@project_page()
@require_safe
def report_page(request: DeskRequest, reflection_id: str) -> HttpResponse:
    return _show(request, get_report_for(request.place, reflection_id))


@project_page()
@require_safe
def report_document(request: DeskRequest, reflection_id: str) -> HttpResponse:
    """The report in just the form of the Reflection Protocol, as a file."""
    report = get_report_for(request.place, reflection_id)
    options = {"ensure_ascii": False, "indent": 2}
    return _file(JsonResponse(report.get_document(), json_dumps_params=options), report, ending="json")


@project_page()
@require_safe
def report_markdown(request: DeskRequest, reflection_id: str) -> HttpResponse:
    report = get_report_for(request.place, reflection_id)
    text = HttpResponse(markdown_of(report.get_document()), content_type="text/markdown; charset=utf-8")
    return _file(text, report, ending="md")


def _file(response: HttpResponse, report: Report, *, ending: str) -> HttpResponse:
    response["Content-Disposition"] = f'attachment; filename="reflection_{report.reflection_id}.{ending}"'
    return response


@project_page(Permission.REVIEW)
@post_only(page="report")
def correct(request: DeskRequest, reflection_id: str) -> HttpResponse:
    """Corrects the class; where that is refused, the page comes back with all that was typed."""
    report = get_report_for(request.place, reflection_id)
    typed = read_typed(request.POST, CORRECTION)
    try:
        correct_class(report, read_input(CorrectionInput, typed.given(*CORRECTION)), actor=request.place.actor)
    except InvalidInput as problem:
        blame(typed, problem.errors)
        return _show(request, report, form=typed, status=400)
    except Conflict as problem:
        return _show(request, get_report_for(request.place, reflection_id), form=typed, problem=problem, status=409)
    return go_back(
        request, "report", reflection_id, done=_("The class is corrected, and your word is kept as a label.")
    )


def _show(
    request: DeskRequest,
    report: Report,
    *,
    form: Typed | None = None,
    problem: ActionError | None = None,
    status: int = 200,
) -> HttpResponse:
    shown = ReportShown(report)
    proposed = {entry.id for entry in shown.proposals}
    context: dict[str, Any] = {
        "report": shown,
        "run": report.run,
        "classes": [(one, name, meaning) for one, name, meaning in CLASSES if one is not shown.type],
        "fields": (form or Typed(dict.fromkeys(CORRECTION, ""))).fields,
        "is_form_open": form is not None,
        "general": form.general if form else [],
        "problem": problem,
        "learned": [view for view in learned_from_report(report) if view.entry.id not in proposed],
        "may_review": request.place.may(Permission.REVIEW),
    }
    return render(request, "repairs/reports/page.html", context, status=status)


# Instructions for agents' system prompts: what is proposed, what holds, and the forms that decide on it.

MOST_SHOWN = 200
SAID = {
    InstructionState.ACCEPTED: gettext_noop(
        "Accepted. Every run of this agent that begins from now on has it in its system prompt."
    ),
    InstructionState.DECLINED: gettext_noop("It stands in no prompt of a run that begins from now on."),
}


def get_instruction_for(place: Place, instruction_id: UUID) -> AgentInstruction:
    """The project's instruction with its report. Raises Http404."""
    instructions = AgentInstruction.objects.select_related("report")
    return get_object_or_404(instructions, project=place.project, pk=instruction_id)


@project_page()
@require_safe
def instruction_list(request: DeskRequest) -> HttpResponse:
    return _show_instructions(request)


@project_page(Permission.REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def decide(request: DeskRequest, instruction_id: UUID) -> HttpResponse:
    """Decides, and leads back to where it was decided; what was refused is told there."""
    instruction = get_instruction_for(request.place, instruction_id)
    if request.method != "POST":
        return go_back(request, "instructions")
    text = typed_text(request, "text").strip()
    told: dict[str, str] = {"decision": request.POST.get("decision", "")}
    if told["decision"] == "accept":
        told["text"] = text
    try:
        decided = decide_instruction(instruction, _read(told), actor=request.place.actor)
    except ActionError as problem:
        return _show_instructions(request, problem=problem, typed={str(instruction.pk): text}, status=problem.status)
    done = _(SAID[InstructionState(decided.state)])
    if request.POST.get("from") == "report" and instruction.report:
        return go_back(request, "report", instruction.report.reflection_id, done=done)
    return go_back(request, "instructions", done=done)


def _read(told: dict[str, str]) -> InstructionInput:
    try:
        return InstructionInput.model_validate(told)
    except ValidationError as error:
        raise invalid_input(error, what="decision") from None


def _show_instructions(
    request: DeskRequest,
    *,
    problem: ActionError | None = None,
    typed: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    project = request.place.project
    rows = AgentInstruction.objects.filter(project=project).select_related("report")
    shown = list(rows.order_by("-created_at", "-id")[:MOST_SHOWN])
    for row in shown:
        row.text = (typed or {}).get(str(row.pk), row.text)
    context = {
        "proposed": [row for row in shown if row.state == InstructionState.PROPOSED],
        "accepted": [row for row in shown if row.state == InstructionState.ACCEPTED],
        "declined": [row for row in shown if row.state == InstructionState.DECLINED],
        "undecided": undecided(project),
        "problem": problem,
        "may_review": request.place.may(Permission.REVIEW),
    }
    return render(request, "repairs/reports/instructions.html", context, status=status)
