"""Rewind tickets: find them, read one, say that it is taken up, close it."""

from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters, Nothing, get_instruction_for, get_report_for, get_ticket_for
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
    ReportLine,
    ReportPage,
    TicketAnswer,
    TicketPage,
    instruction_answer,
    line_of,
    report_body,
    reports_to_show,
    ticket_answer,
    tickets_to_show,
)
from reflection_app.repairs.instructions import InstructionInput, decide_instruction
from reflection_app.repairs.models import AgentInstruction, InstructionState, Report, Ticket, TicketState
from reflection_app.repairs.reports import CorrectionInput, correct_class
from reflection_app.repairs.tickets import ClosingInput, close_ticket, start_ticket


class TicketFilters(PageQuery):
    state: TicketState | None = None
    agent: str | None = Field(default=None, max_length=120, description="whom the ticket is for: `target_agent`")
    run: UUID | None = Field(default=None, description="the id of a run")
    trigger: Trigger | None = None


class TicketList(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("list_tickets", summary="Rewind tickets, newest first", query=TicketFilters, answer=TicketPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, TicketFilters)
        wanted = query.model_dump(exclude_none=True, include={"state", "run", "trigger"})
        if query.agent is not None:
            wanted["target_agent"] = query.agent
        tickets = tickets_to_show(Ticket.objects.filter(project=self.project, **wanted))
        page = get_page(tickets, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([ticket_answer(ticket) for ticket in page.rows]))


class TicketDetail(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("get_ticket", summary="One rewind ticket", answer=TicketAnswer, problems=(404,))
    def get(self, request: Request, ticket_id: str) -> Response:
        read_query(request, NoParameters)
        return Response(ticket_answer(get_ticket_for(self.project, ticket_id)).model_dump(mode="json"))


class StartTicket(DeskView):
    permissions = needs(post=Permission.HAND_IN)

    @described_post(
        "start_ticket",
        summary="Say that an outside agent has taken a ticket up",
        body=Nothing,
        answers={200: TicketAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, ticket_id: str) -> Response:
        read_input(request, Nothing, what="body")
        start_ticket(get_ticket_for(self.project, ticket_id), actor=self.actor)
        return Response(ticket_answer(get_ticket_for(self.project, ticket_id)).model_dump(mode="json"))


class CloseTicket(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "close_ticket",
        summary="Close a ticket; the run that waits for the repair is cancelled",
        body=ClosingInput,
        answers={200: ClosedAnswer},
        problems=(404, 409),
        examples={"Not worth it": {"reason": "The client withdrew the question."}},
    )
    @idempotent
    def post(self, request: Request, ticket_id: str) -> Response:
        told = read_input(request, ClosingInput, what="closing")
        closed = close_ticket(get_ticket_for(self.project, ticket_id), told, actor=self.actor)
        answer = ClosedAnswer(
            ticket=ticket_answer(get_ticket_for(self.project, ticket_id)),
            run_cancelled=not closed.run_goes_on,
            run_goes_on=closed.run_goes_on or None,
        )
        return Response(answer.model_dump(mode="json"))


# Error trace reports: find them, read one in any form, and say that its class is another.


class ReportFilters(PageQuery):
    run: UUID | None = Field(default=None, description="the id of a run")
    agent: str | None = Field(default=None, max_length=120)
    type: ErrorClass | None = Field(default=None, description="the class that holds")


class ReportList(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("list_reports", summary="Reflection reports, newest first", query=ReportFilters, answer=ReportPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, ReportFilters)
        wanted = Q(project=self.project, **query.model_dump(exclude_none=True, include={"run", "agent"}))
        if query.type is not None:
            wanted &= of_class(query.type)
        page = get_page(
            reports_to_show(Report.objects.filter(wanted)), request=request, query=query, order=NEWEST_FIRST
        )
        return Response(page.with_results([ReportLine(**line_of(row)) for row in page.rows]))


def of_class(type_: ErrorClass) -> Q:
    """Reports of which this class holds."""
    return Q(corrected_type=type_.value) | Q(corrected_type__isnull=True, error_type=type_.value)


class ReportDetail(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_report", summary="One report with all that is known of it", answer=ReportAnswer, problems=(404,)
    )
    def get(self, request: Request, reflection_id: str) -> Response:
        read_query(request, NoParameters)
        return Response(report_body(get_report_for(self.project, reflection_id)))


class ReportJson(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("get_report_document", summary="The report as a document", answer=ReportDocument, problems=(404,))
    def get(self, request: Request, reflection_id: str) -> Response:
        """In just the form of the Reflection Protocol, to be kept as `reflection_{id}.json`."""
        read_query(request, NoParameters)
        report = get_report_for(self.project, reflection_id)
        return Response(report.get_document(), headers=_attached(f"reflection_{report.reflection_id}.json"))


class ReportMarkdown(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "get_report_markdown",
        summary="The report as Markdown",
        answer=str,
        media_type="text/markdown",
        problems=(404,),
    )
    def get(self, request: Request, reflection_id: str) -> HttpResponse:
        read_query(request, NoParameters)
        report = get_report_for(self.project, reflection_id)
        return HttpResponse(
            markdown_of(report.get_document()),
            content_type="text/markdown; charset=utf-8",
            headers=_attached(f"reflection_{report.reflection_id}.md"),
        )


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


class CorrectClass(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "correct_report_class",
        summary="Say that the class of the error is another; the correction is kept as a label",
        body=CorrectionInput,
        answers={200: ReportAnswer},
        problems=(404, 409),
        examples={"The fourth time": {"type": "3.3.1", "reason": "It stops early however it is told to go on."}},
    )
    @idempotent
    def post(self, request: Request, reflection_id: str) -> Response:
        told = read_input(request, CorrectionInput, what="correction")
        correct_class(get_report_for(self.project, reflection_id), told, actor=self.actor)
        return Response(report_body(get_report_for(self.project, reflection_id)))


# Instructions for agents' system prompts: find them, and decide on them.


class InstructionFilters(PageQuery):
    agent: str | None = Field(default=None, max_length=120)
    state: InstructionState | None = None


class InstructionList(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "list_instructions",
        summary="Instructions for agents' system prompts, newest first",
        query=InstructionFilters,
        answer=InstructionPage,
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, InstructionFilters)
        wanted = query.model_dump(exclude_none=True, include={"agent", "state"})
        rows = AgentInstruction.objects.filter(project=self.project, **wanted).select_related("report")
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([instruction_answer(row) for row in page.rows]))


class DecideInstruction(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "decide_instruction",
        summary="Accept an instruction into an agent's system prompt, decline it, or withdraw it",
        body=InstructionInput,
        answers={200: InstructionAnswer},
        problems=(404, 409),
        examples={
            "Accept": {"decision": "accept"},
            "Accept in other words": {"decision": "accept", "text": "Collect five papers before you stop."},
            "Withdraw what was accepted": {"decision": "withdraw"},
        },
    )
    @idempotent
    def post(self, request: Request, instruction_id: UUID) -> Response:
        told = read_input(request, InstructionInput, what="decision")
        decided = decide_instruction(get_instruction_for(self.project, instruction_id), told, actor=self.actor)
        return Response(instruction_answer(decided).model_dump(mode="json"))
