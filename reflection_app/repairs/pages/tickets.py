"""Rewind tickets: the list, and one ticket with all that whoever repairs the attempt has to know."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.tickets import Trigger
from reflection_app.repairs.models import Ticket, TicketState
from reflection_app.repairs.tickets import ClosingInput, close_ticket
from reflection_app.tasks.redo import why_no_redo
from reflection_app.web.access import DeskRequest, get_ticket_for, project_page
from reflection_app.web.forms import complaints
from reflection_app.web.list_pages import Filters, id_of, list_page, one_of, text_of
from reflection_app.web.middleware import post_only

MOST_AGENTS = 100


@project_page()
@require_safe
def ticket_list(request: DeskRequest) -> HttpResponse:
    own = Ticket.objects.filter(project=request.place.project)
    triggers = [trigger.value for trigger in Trigger]
    filters = Filters.read(
        request.GET, state=one_of(TicketState.values), agent=text_of(120), trigger=one_of(triggers), run=id_of
    )
    columns = {"target_agent" if name == "agent" else name: value for name, value in filters.given.items()}
    tickets = own.filter(**columns).select_related("run__task", "attempt")
    return list_page(
        request,
        "repairs/tickets/list.html",
        tickets.defer("run__spec", "run__task__tests", "attempt__content").order_by("-created_at", "-id"),
        called="tickets",
        among=own,
        named_by="ticket_id",
        filters=filters,
        states=list(TicketState),
        triggers=list(Trigger),
        agents=_agents(request.place.project),
    )


def _agents(project: Project) -> list[str]:
    """The agents that tickets are for, by name."""
    named = Ticket.objects.filter(project=project).exclude(target_agent="").order_by("target_agent")
    return list(named.values_list("target_agent", flat=True).distinct()[:MOST_AGENTS])


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
        closed = close_ticket(ticket, ClosingInput.model_validate({"reason": typed}), actor=request.place.actor)
    except ValidationError as error:
        return _show(request, ticket, typed=typed, errors=[one["message"] for one in complaints(error)], status=400)
    except InvalidInput as problem:
        return _show(request, ticket, typed=typed, errors=[str(problem)], status=400)
    follows = closed.run_goes_on or _("Its run, which waited for the repair, was cancelled.")
    messages.success(request, _("The ticket is closed.") + f" {follows}")
    return redirect("ticket", slug=request.place.project.slug, ticket_id=ticket.ticket_id)


def _show(
    request: DeskRequest, ticket: Ticket, *, typed: str = "", errors: list[str] | None = None, status: int = 200
) -> HttpResponse:
    context: dict[str, Any] = {
        "ticket": ticket,
        "run": ticket.run,
        "reports": list(ticket.reports.all()),
        "typed": typed,
        "errors": errors or [],
        "may_review": request.place.may(Permission.REVIEW),
        "may_redo": request.place.may(Permission.REVIEW) and not why_no_redo(ticket.run),
    }
    return render(request, "repairs/tickets/page.html", context, status=status)
