"""What people and agents do with a rewind ticket: say that it is taken up, and close it."""

from dataclasses import dataclass
from typing import Annotated

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.adapters.live import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput, MakesItsOwn, TicketMovedOn
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Execution
from reflection_app.loops.values import Value
from reflection_app.repairs.models import Ticket, TicketState
from reflection_app.repairs.rows import OPEN_STATES, begin_ticket
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Run
from reflection_app.runs.resuming import cancel_run


class ClosingInput(Value):
    """The reason for closing a ticket, shown to later readers."""

    reason: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = ""


@dataclass(frozen=True)
class Closed:
    """A closed ticket, and why its run goes on all the same; nothing where the run was cancelled with it."""

    ticket: Ticket
    run_goes_on: str = ""


@transaction.atomic
def start_ticket(ticket: Ticket, *, actor: Actor) -> Ticket:
    """The ticket, in progress. Of two agents who take it up at once, one does; the other gets TicketMovedOn.

    Raises MakesItsOwn where the run repairs by itself: then its own first step takes the ticket up.
    """
    run = Run.objects.select_for_update(of=("self",)).get(pk=ticket.run_id)
    if run.get_spec().execution is not Execution.EXTERNAL:
        raise MakesItsOwn(_("This run repairs its own attempts (execution: managed) and starts its tickets itself."))
    if not begin_ticket(run, ticket_id=ticket.ticket_id, by=actor.label):
        raise _moved_on(ticket, doing=_("started"))
    run.save(update_fields=["last_event_seq"])
    audit(run.project_id, actor, "ticket.started", target=ticket, before={"state": TicketState.OPEN.value})
    transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    ticket.refresh_from_db()
    return ticket


@transaction.atomic
def close_ticket(ticket: Ticket, data: ClosingInput, *, actor: Actor) -> Closed:
    """The ticket, closed with the reason, and its run cancelled where it waits for the repair.

    Raises InvalidInput without a reason, and TicketMovedOn where the ticket has ended already.
    """
    reason = data.reason.strip()
    if not reason:
        message = _("Enter a reason for closing. The agent or person repairing it will see it.")
        raise InvalidInput(message, errors=[{"field": "reason", "message": _("must not be blank")}])
    run = Run.objects.select_for_update(of=("self",)).get(pk=ticket.run_id)
    before = Ticket.objects.values_list("state", flat=True).get(pk=ticket.pk)
    closed = Ticket.objects.filter(pk=ticket.pk, state__in=OPEN_STATES).update(
        state=TicketState.CLOSED, closed_reason=reason, ended_by_label=actor.label, ended_at=timezone.now()
    )
    if not closed:
        raise _moved_on(ticket, doing=_("closed"))
    add_event(run, EventType.TICKET_ENDED, ticket=ticket.ticket_id, state=TicketState.CLOSED.value, by=actor.label)
    run.save(update_fields=["last_event_seq"])
    goes_on = _why_it_goes_on(run, ticket)
    after = {"state": TicketState.CLOSED.value, "reason": reason, "run_cancelled": not goes_on}
    audit(run.project_id, actor, "ticket.closed", target=ticket, before={"state": before}, after=after)
    if goes_on:
        transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    else:
        cancel_run(run, actor=actor)
    ticket.refresh_from_db()
    return Closed(ticket=ticket, run_goes_on=goes_on)


def _why_it_goes_on(run: Run, ticket: Ticket) -> str:
    """Why the run does not wait for the repair any more; nothing where it does."""
    if run.is_finished:
        return _("The run has already ended (%(outcome)s).") % {"outcome": run.outcome}
    sent_back = ticket.attempt.number if ticket.attempt else 0
    if run.attempts_made > sent_back:
        return _("Attempt %(number)s was made after the ticket and is being evaluated, so the run continues.") % {
            "number": run.attempts_made
        }
    return ""


def _moved_on(ticket: Ticket, *, doing: str) -> TicketMovedOn:
    """What became of the ticket in the meantime, in words."""
    now = Ticket.objects.select_related("superseded_by").get(pk=ticket.pk)
    match now.state:
        case TicketState.IN_PROGRESS:
            is_now = _("it is already in progress: it was started, or its six steps have begun")
        case TicketState.SUPERSEDED:
            is_now = _("it was superseded by %(ticket)s") % {"ticket": now.superseded_by or _("another ticket")}
        case TicketState.RESOLVED:
            is_now = _("it is resolved: a later attempt was accepted")
        case _:
            is_now = _("it was closed: %(reason)s") % {"reason": now.closed_reason}
    return TicketMovedOn(_("The ticket was not %(doing)s: %(is_now)s.") % {"doing": doing, "is_now": is_now})
