"""Rewind tickets: the list, and one ticket with all that whoever repairs the attempt has to know."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.tickets import Trigger
from reflection_app.repairs.models import Ticket, TicketState
from reflection_app.repairs.tickets import ClosingInput, close_ticket
from reflection_app.search.finding import ids_with_words
from reflection_app.search.models import Indexed
from reflection_app.tasks.redo import why_no_redo
from reflection_app.web.access import DeskRequest, back_to, get_ticket_for, project_page
from reflection_app.web.forms import read_input
from reflection_app.web.list_pages import Filters, agent_of, id_of, list_page, names_in, one_of, text_of
from reflection_app.web.middleware import post_only

# What a row of the list shows.
SHOWN = (
    *("ticket_id", "trigger", "target_agent", "issues", "state", "verdict", "quality_score", "created_at"),
    *("run__task__objective", "attempt__number"),
)


def filtered(project: Project, filters: Filters) -> QuerySet[Ticket]:
    """The project's tickets that fit, newest first."""
    wanted = {
        "target_agent" if name == "agent" else name: value for name, value in filters.given.items() if name != "q"
    }
    tickets = Ticket.objects.filter(project=project, **wanted).select_related("run__task", "attempt").only(*SHOWN)
    if filters["q"]:
        tickets = tickets.filter(pk__in=ids_with_words(project.pk, filters["q"], kind=Indexed.TICKET))
    return tickets.order_by("-created_at", "-id")


@project_page()
@require_safe
def ticket_list(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    filters = Filters.read(
        request.GET,
        q=text_of(),
        state=one_of(TicketState.values),
        agent=agent_of,
        trigger=one_of(Trigger),
        run=id_of,
    )
    among = Ticket.objects.filter(project=project)
    return list_page(
        request,
        "repairs/tickets/list.html",
        filtered(project, filters),
        called="tickets",
        among=among,
        named_by="ticket_id",
        filters=filters,
        states=list(TicketState),
        triggers=list(Trigger),
        agents=names_in(among, "target_agent"),
    )


@project_page()
@require_safe
def ticket_page(request: DeskRequest, ticket_id: str) -> HttpResponse:
    return _show(request, get_ticket_for(request.place, ticket_id))


@project_page(Permission.REVIEW)
@post_only(page="ticket")
def close(request: DeskRequest, ticket_id: str) -> HttpResponse:
    """Closes the ticket; what was typed comes back where that is refused."""
    ticket = get_ticket_for(request.place, ticket_id)
    typed = request.POST.get("reason", "").strip()
    try:
        closed = close_ticket(ticket, read_input(ClosingInput, {"reason": typed}), actor=request.place.actor)
    except InvalidInput as problem:
        # The action's own refusal is one sentence; what cannot be read has one for each complaint.
        errors = [str(problem)] if str(problem) else [one["message"] for one in problem.errors]
        return _show(request, ticket, typed=typed, errors=errors)
    follows = closed.run_goes_on or _("The run was waiting for this repair and was cancelled.")
    return back_to(request, "ticket", ticket.ticket_id, message=_("Ticket closed.") + f" {follows}")


def _show(request: DeskRequest, ticket: Ticket, *, typed: str = "", errors: Sequence[str] = ()) -> HttpResponse:
    context: dict[str, Any] = {
        "ticket": ticket,
        "run": ticket.run,
        "reports": list(ticket.reports.all()),
        "typed": typed,
        "errors": errors,
        "may_review": request.place.may(Permission.REVIEW),
        "may_redo": request.place.may(Permission.REVIEW) and not why_no_redo(ticket.run),
    }
    return render(request, "repairs/tickets/page.html", context, status=400 if errors else 200)
