"""Reflection reports: the list, one report as a post-mortem, its files, and the form that corrects its class."""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from reflection_app.core.audit import newest_deed
from reflection_app.core.errors import ActionError, Conflict
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.notebook.views.entry import learned_from_report
from reflection_app.repairs.instructions import InstructionInput, decide_instruction
from reflection_app.repairs.models import AgentInstruction, InstructionState, Report
from reflection_app.repairs.reports import CorrectionInput, correct_class
from reflection_app.repairs.views import CLASSES, ReportShown
from reflection_app.search.finding import ids_with_words
from reflection_app.search.models import Indexed
from reflection_app.tasks.submission import invalid_input
from reflection_app.web.access import DeskRequest, Place, back_to, project_page
from reflection_app.web.forms import Form, read_form, read_text
from reflection_app.web.list_pages import Filters, agent_of, id_of, list_page, names_in, one_of, text_of
from reflection_app.web.middleware import post_only

CORRECTION = ("type", "reason", "before")


def filtered(project: Project, filters: Filters) -> QuerySet[Report]:
    """The project's reports that fit, newest first."""
    rows = Report.objects.filter(project=project).select_related("run__task", "attempt", "revised_attempt")
    if held := filters["type"]:
        rows = rows.filter(Q(corrected_type=held) | Q(corrected_type__isnull=True, error_type=held))
    if filters["q"]:
        rows = rows.filter(pk__in=ids_with_words(project.pk, filters["q"], kind=Indexed.REPORT))
    wanted = {name: value for name, value in filters.given.items() if name not in {"q", "type"}}
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
    filters = Filters.read(request.GET, q=text_of(), type=one_of(ErrorClass), agent=agent_of, run=id_of)
    among = Report.objects.filter(project=project)
    return list_page(
        request,
        "repairs/reports/list.html",
        filtered(project, filters),
        called="reports",
        among=among,
        named_by="reflection_id",
        filters=filters,
        view=lambda rows: [ReportShown(row) for row in rows],
        classes=CLASSES,
        agents=names_in(among, "agent"),
        undecided=undecided(project),
    )


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
    response = JsonResponse(report.get_document(), json_dumps_params={"ensure_ascii": False, "indent": 2})
    response["Content-Disposition"] = f'attachment; filename="reflection_{reflection_id}.json"'
    return response


@project_page()
@require_safe
def report_markdown(request: DeskRequest, reflection_id: str) -> HttpResponse:
    """Redirect to the report: it is no longer offered as Markdown."""
    report = get_report_for(request.place, reflection_id)
    return redirect("report", request.place.project.slug, report.reflection_id, permanent=True)


@project_page(Permission.REVIEW)
@post_only(page="report")
def correct(request: DeskRequest, reflection_id: str) -> HttpResponse:
    """Corrects the class, or confirms it; where that is refused, the page comes back with all that was typed."""
    report = get_report_for(request.place, reflection_id)
    form = read_form(request, CORRECTION)
    try:
        with form.collect_errors():
            corrected = CorrectionInput.model_validate(form.given(*CORRECTION))
            is_right = corrected.type.value == report.holding_type
            correct_class(report, corrected, actor=request.place.actor)
            message = _("Error class corrected.")
            return back_to(
                request, "report", reflection_id, message=_("Error class confirmed.") if is_right else message
            )
    except Conflict as problem:
        return _show(request, get_report_for(request.place, reflection_id), form=form, problem=problem)
    return _show(request, report, form=form)


def _show(
    request: DeskRequest,
    report: Report,
    *,
    form: Form | None = None,
    problem: ActionError | None = None,
) -> HttpResponse:
    typed = form or read_form(request, CORRECTION)
    shown = ReportShown(report)
    context: dict[str, Any] = {
        "report": shown,
        "run": report.run,
        "classes": [(one, name, meaning) for one, name, meaning in CLASSES if one is not shown.type],
        "fields": typed.fields,
        "is_form_open": form is not None,
        "general": typed.general,
        "last_confirmed": newest_deed(report, "report.class_confirmed"),
        "problem": problem,
        "learned": learned_from_report(report),
        "may_review": request.place.may(Permission.REVIEW),
    }
    status = problem.status if problem else typed.status
    return render(request, "repairs/reports/page.html", context, status=status)


# Instructions for agents' system prompts: what is proposed, what holds, and the forms that decide on it.

MOST_SHOWN = 200
SAID = {
    InstructionState.ACCEPTED: gettext_noop("Accepted. All new runs of this agent have it in their system prompt."),
    InstructionState.DECLINED: gettext_noop("New runs will not have it in their prompt."),
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
        return back_to(request, "instructions")
    text = read_text(request, "text").strip()
    typed: dict[str, str] = {"decision": request.POST.get("decision", "")}
    if typed["decision"] == "accept":
        typed["text"] = text
    try:
        decided = decide_instruction(instruction, InstructionInput.model_validate(typed), actor=request.place.actor)
    except (ActionError, ValidationError) as error:
        problem = invalid_input(error, what="decision") if isinstance(error, ValidationError) else error
        return _show_instructions(request, problem=problem, typed={str(instruction.pk): text}, status=problem.status)
    message = _(SAID[InstructionState(decided.state)])
    if request.POST.get("from") == "report" and instruction.report:
        return back_to(request, "report", instruction.report.reflection_id, message=message)
    return back_to(request, "instructions", message=message)


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
