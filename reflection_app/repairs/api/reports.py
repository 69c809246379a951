"""Rewind tickets, the reports of their errors, and the instructions for agents' system prompts that came of those."""

from uuid import UUID

from django.db.models import Q
from pydantic import Field
from rest_framework.response import Response

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, Nothing, get_row
from reflection_app.core.permissions import Permission
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.storable import AgentName
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
    agent: AgentName | None = Field(
        default=None,
        max_length=120,
        serialization_alias="target_agent",
        description="the agent that the ticket is for: `target_agent`",
    )
    run: UUID | None = Field(default=None, description="the id of a run")
    trigger: Trigger | None = None


class Tickets(DeskView):
    def get_object(self, ticket_id: str) -> Ticket:
        return get_row(tickets_to_show(Ticket.objects.filter(project=self.project, ticket_id=ticket_id)), "ticket")

    @read("list_tickets", "List rewind tickets, newest first", may=Permission.READ)
    def list(self, query: TicketFilters) -> TicketPage:
        tickets = Ticket.objects.filter(project=self.project, **query.get_filters())
        return self.page(TicketPage, tickets_to_show(tickets), query)

    @read("get_ticket", "Get a rewind ticket", may=Permission.READ)
    def retrieve(self, ticket: Ticket) -> TicketAnswer:
        return TicketAnswer.from_row(ticket)

    @change("start_ticket", "Start a ticket as an external agent", may=Permission.HAND_IN, problems=(409,))
    def start(self, ticket: Ticket, body: Nothing) -> TicketAnswer:
        start_ticket(ticket, actor=self.actor)
        return TicketAnswer.from_row(self.get_object(ticket.ticket_id))

    @change(
        "close_ticket",
        "Close a ticket and cancel its waiting run",
        may=Permission.REVIEW,
        what="closing",
        problems=(409,),
        examples={"With a reason": {"reason": "The client withdrew the question."}},
    )
    def close(self, ticket: Ticket, body: ClosingInput) -> ClosedAnswer:
        goes_on = close_ticket(ticket, body, actor=self.actor).run_goes_on or None
        closed = TicketAnswer.from_row(self.get_object(ticket.ticket_id))
        return ClosedAnswer(ticket=closed, run_cancelled=goes_on is None, run_goes_on=goes_on)


class ReportFilters(PageQuery):
    run: UUID | None = Field(default=None, description="the id of a run")
    agent: AgentName | None = Field(default=None, max_length=120)
    type: ErrorClass | None = Field(
        default=None, description="the current error class: as corrected by a reviewer, else as computed"
    )


class Reports(DeskView):
    def get_object(self, reflection_id: str) -> Report:
        reports = reports_to_show(Report.objects.filter(project=self.project, reflection_id=reflection_id))
        return get_row(reports.prefetch_related("corrections"), "report")

    @read("list_reports", "List reflection reports, newest first", may=Permission.READ)
    def list(self, query: ReportFilters) -> ReportPage:
        wanted = query.get_filters()
        of_class = wanted.pop("type", None)
        rows = Report.objects.filter(project=self.project, **wanted)
        if of_class is not None:
            # A person's correction holds before what the tree came to.
            rows = rows.filter(Q(corrected_type=of_class) | Q(corrected_type__isnull=True, error_type=of_class))
        return self.page(ReportPage, reports_to_show(rows), query)

    @read("get_report", "Get a reflection report with all details", may=Permission.READ, answer=ReportAnswer)
    def retrieve(self, report: Report) -> Response:
        return Response(report_body(report))

    @read("get_report_document", "Get the report as a document", may=Permission.READ, answer=ReportDocument)
    def document(self, report: Report) -> Response:
        """Uses the exact format of the Reflection Protocol, ready to be saved as `reflection_{id}.json`."""
        name = f"reflection_{report.reflection_id}.json"
        return Response(report.get_document(), headers={"Content-Disposition": f'attachment; filename="{name}"'})

    @change(
        "correct_report_class",
        "Confirm or correct a report's error class",
        may=Permission.REVIEW,
        what="correction",
        answers={200: ReportAnswer},
        problems=(409,),
        examples={
            "Correct the class": {"type": "3.3.1", "reason": "It stops early however it is told to go on."},
            "Confirm the class": {"type": "3.3.2"},
        },
    )
    def correct(self, report: Report, body: CorrectionInput) -> Response:
        """Sending the same class confirms it; another class needs a reason. The report records who corrected it."""
        correct_class(report, body, actor=self.actor)
        return Response(report_body(self.get_object(report.reflection_id)))


class InstructionFilters(PageQuery):
    agent: AgentName | None = Field(default=None, max_length=120)
    state: InstructionState | None = None


class Instructions(DeskView):
    def get_object(self, instruction_id: UUID) -> AgentInstruction:
        instructions = AgentInstruction.objects.filter(project=self.project, pk=instruction_id)
        return get_row(instructions.select_related("report"), "instruction")

    @read("list_instructions", "List system-prompt instructions for agents, newest first", may=Permission.READ)
    def list(self, query: InstructionFilters) -> InstructionPage:
        rows = AgentInstruction.objects.filter(project=self.project, **query.get_filters())
        return self.page(InstructionPage, rows.select_related("report"), query)

    @change(
        "decide_instruction",
        "Accept, decline or withdraw a system-prompt instruction",
        may=Permission.REVIEW,
        what="decision",
        problems=(409,),
        examples={
            "Accept": {"decision": "accept"},
            "Accept with edited text": {"decision": "accept", "text": "Collect five papers before you stop."},
            "Withdraw": {"decision": "withdraw"},
        },
    )
    def decide(self, instruction: AgentInstruction, body: InstructionInput) -> InstructionAnswer:
        return InstructionAnswer.from_row(decide_instruction(instruction, body, actor=self.actor))
