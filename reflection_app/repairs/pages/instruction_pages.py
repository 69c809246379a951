"""Instructions for agents' system prompts: what is proposed, what holds, and the forms that decide on it."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from reflection_app.core.errors import ActionError
from reflection_app.core.permissions import Permission
from reflection_app.repairs.decide_instruction import InstructionInput, decide_instruction
from reflection_app.repairs.models.report import AgentInstruction, InstructionState
from reflection_app.repairs.pages.report_pages import undecided
from reflection_app.tasks.submission import invalid_input
from reflection_app.web.access import DeskRequest, Place, project_page

MOST_SHOWN = 200
SAID = {
    InstructionState.ACCEPTED: gettext_noop(
        "Accepted. Every run of this agent that begins from now on has it in its system prompt."
    ),
    InstructionState.DECLINED: gettext_noop("It stands in no prompt of a run that begins from now on."),
}


def get_instruction_for(place: Place, instruction_id: UUID) -> AgentInstruction:
    """The project's instruction with its report. Raises Http404."""
    rows = AgentInstruction.objects.filter(project=place.project, pk=instruction_id).select_related("report")
    instruction = rows.first()
    if instruction is None:
        raise Http404("no such instruction")
    return instruction


@project_page()
@require_safe
def instruction_list(request: DeskRequest) -> HttpResponse:
    return _show(request)


@project_page(Permission.REVIEW)
def decide(request: DeskRequest, instruction_id: UUID) -> HttpResponse:
    """Decides, and leads back to where it was decided; what was refused is told there."""
    instruction = get_instruction_for(request.place, instruction_id)
    slug = request.place.project.slug
    if request.method in {"GET", "HEAD"}:
        return redirect("instructions", slug=slug)
    if request.method != "POST":
        return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
    text = request.POST.get("text", "").replace("\r\n", "\n").strip()
    told: dict[str, str] = {"decision": request.POST.get("decision", "")}
    if told["decision"] == "accept":
        told["text"] = text
    try:
        decided = decide_instruction(instruction, _read(told), actor=request.place.actor)
    except ActionError as problem:
        return _show(request, problem=problem, typed={str(instruction.pk): text}, status=problem.status)
    messages.success(request, _(SAID[InstructionState(decided.state)]))
    if request.POST.get("from") == "report" and instruction.report:
        return redirect("report", slug=slug, reflection_id=instruction.report.reflection_id)
    return redirect("instructions", slug=slug)


def _read(told: dict[str, str]) -> InstructionInput:
    try:
        return InstructionInput.model_validate(told)
    except ValidationError as error:
        raise invalid_input(error, what="decision") from None


def _show(
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
    return render(request, "reports/instructions.html", context, status=status)
