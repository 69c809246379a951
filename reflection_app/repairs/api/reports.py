"""Rewind tickets, the reports of their errors, and the instructions for agents' system prompts that came of those."""

from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from pydantic import Field
from rest_framework.response import Response

from reflection_app.api.pages import PageQuery
from reflection_app.api.view import Nothing, get_instruction_for, get_report_for, get_ticket_for
from reflection_app.api.viewset import DeskViewSet, answers_get, answers_list, answers_post
from reflection_app.core.permissions import Permission
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reports import markdown_of
from reflection_app.loops.tickets import Trigger
from reflection_app.repairs.answers.reports import (
    ClosedAnswer,
    InstructionAnswer,
    InstructionPage,
    ReportAnswer,
    ReportDocument,
    ReportPage,
    TicketAnswer,
    TicketPage,
    report_body,
    reports_to_show,
    tickets_to_show,
)
from reflection_app.repairs.instructions import InstructionInput, decide_instruction
from reflection_app.repairs.models import AgentInstruction, InstructionState, Report, Ticket, TicketState
from reflection_app.repairs.reports import CorrectionInput, correct_class
from reflection_app.repairs.tickets import ClosingInput, close_ticket, start_ticket


class TicketFilters(PageQuery):
    state: TicketState | None = None
    agent: str | None = Field(
        default=None,
        max_length=120,
        serialization_alias="target_agent",
        description="whom the ticket is for: `target_agent`",
    )
    run: UUID | None = Field(default=None, description="the id of a run")
    trigger: Trigger | None = None


class Tickets(DeskViewSet):
    @answers_list(
        "list_tickets",
        Permission.READ,
        summary="Rewind tickets, newest first",
        query=TicketFilters,
        answer=TicketPage,
    )
    def list(self, query: TicketFilters) -> QuerySet[Ticket]:
        return tickets_to_show(Ticket.objects.filter(project=self.project, **query.get_filters()))

    @answers_get("get_ticket", Permission.READ, summary="One rewind ticket", answer=TicketAnswer, problems=(404,))
    def detail(self, ticket_id: str) -> Ticket:
        return get_ticket_for(self.project, ticket_id)

    @answers_post(
        "start_ticket",
        Permission.HAND_IN,
        summary="Say that an outside agent has taken a ticket up",
        body=Nothing,
        answer=TicketAnswer,
        problems=(404, 409),
    )
    def start(self, ticket_id: str) -> Ticket:
        start_ticket(get_ticket_for(self.project, ticket_id), actor=self.actor)
        return get_ticket_for(self.project, ticket_id)

    @answers_post(
        "close_ticket",
        Permission.REVIEW,
        summary="Close a ticket; the run that waits for the repair is cancelled",
        body=ClosingInput,
        what="closing",
        answer=ClosedAnswer,
        problems=(404, 409),
        examples={"Not worth it": {"reason": "The client withdrew the question."}},
    )
    def close(self, told: ClosingInput, ticket_id: str) -> ClosedAnswer:
        closed = close_ticket(get_ticket_for(self.project, ticket_id), told, actor=self.actor)
        ticket = TicketAnswer.model_validate(get_ticket_for(self.project, ticket_id))
        goes_on = closed.run_goes_on or None
        return ClosedAnswer(ticket=ticket, run_cancelled=goes_on is None, run_goes_on=goes_on)


class ReportFilters(PageQuery):
    run: UUID | None = Field(default=None, description="the id of a run")
    agent: str | None = Field(default=None, max_length=120)
    type: ErrorClass | None = Field(default=None, description="the class that holds")


class Reports(DeskViewSet):
    @answers_list(
        "list_reports",
        Permission.READ,
        summary="Reflection reports, newest first",
        query=ReportFilters,
        answer=ReportPage,
    )
    def list(self, query: ReportFilters) -> QuerySet[Report]:
        wanted = query.get_filters()
        of_class = wanted.pop("type", None)
        rows = Report.objects.filter(project=self.project, **wanted)
        if of_class is not None:
            # A person's correction holds before what the tree came to.
            rows = rows.filter(Q(corrected_type=of_class) | Q(corrected_type__isnull=True, error_type=of_class))
        return reports_to_show(rows)

    @answers_get(
        "get_report",
        Permission.READ,
        summary="One report with all that is known of it",
        answer=ReportAnswer,
        problems=(404,),
    )
    def detail(self, reflection_id: str) -> Response:
        return Response(report_body(get_report_for(self.project, reflection_id)))

    @answers_get(
        "get_report_document",
        Permission.READ,
        summary="The report as a document",
        answer=ReportDocument,
        problems=(404,),
    )
    def document(self, reflection_id: str) -> Response:
        """In just the form of the Reflection Protocol, to be kept as `reflection_{id}.json`."""
        report = get_report_for(self.project, reflection_id)
        return Response(report.get_document(), headers=_attached(f"reflection_{report.reflection_id}.json"))

    @answers_get(
        "get_report_markdown",
        Permission.READ,
        summary="The report as Markdown",
        answer=str,
        media_type="text/markdown",
        problems=(404,),
    )
    def markdown(self, reflection_id: str) -> HttpResponse:
        report = get_report_for(self.project, reflection_id)
        return HttpResponse(
            markdown_of(report.get_document()),
            content_type="text/markdown; charset=utf-8",
            headers=_attached(f"reflection_{report.reflection_id}.md"),
        )

    @answers_post(
        "correct_report_class",
        Permission.REVIEW,
        summary="Say that the class of the error is another; the correction is kept as a label",
        body=CorrectionInput,
        what="correction",
        answer=ReportAnswer,
        problems=(404, 409),
        examples={"The fourth time": {"type": "3.3.1", "reason": "It stops early however it is told to go on."}},
    )
    def correct(self, told: CorrectionInput, reflection_id: str) -> Response:
        correct_class(get_report_for(self.project, reflection_id), told, actor=self.actor)
        return Response(report_body(get_report_for(self.project, reflection_id)))


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


class InstructionFilters(PageQuery):
    agent: str | None = Field(default=None, max_length=120)
    state: InstructionState | None = None


class Instructions(DeskViewSet):
    @answers_list(
        "list_instructions",
        Permission.READ,
        summary="Instructions for agents' system prompts, newest first",
        query=InstructionFilters,
        answer=InstructionPage,
    )
    def list(self, query: InstructionFilters) -> QuerySet[AgentInstruction]:
        rows = AgentInstruction.objects.filter(project=self.project, **query.get_filters())
        return rows.select_related("report")

    @answers_post(
        "decide_instruction",
        Permission.REVIEW,
        summary="Accept an instruction into an agent's system prompt, decline it, or withdraw it",
        body=InstructionInput,
        what="decision",
        answer=InstructionAnswer,
        problems=(404, 409),
        examples={
            "Accept": {"decision": "accept"},
            "Accept in other words": {"decision": "accept", "text": "Collect five papers before you stop."},
            "Withdraw what was accepted": {"decision": "withdraw"},
        },
    )
    def decide(self, told: InstructionInput, instruction_id: UUID) -> AgentInstruction:
        return decide_instruction(get_instruction_for(self.project, instruction_id), told, actor=self.actor)
