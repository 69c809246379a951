"""Rewind tickets: find them, read one, say that it is taken up, close it."""

from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_ticket_for
from reflection_app.api.desk_view import DeskView, NoParameters, Nothing
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.permissions import Permission
from reflection_app.loops.tickets import Trigger
from reflection_app.repairs.answers.ticket_answers import (
    ClosedAnswer,
    TicketAnswer,
    TicketPage,
    ticket_answer,
    tickets_to_show,
)
from reflection_app.repairs.models.ticket import Ticket, TicketState
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
