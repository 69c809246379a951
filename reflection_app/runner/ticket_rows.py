"""The rows of rewind tickets: issued, superseded by the next, and ended with their run."""

from django.utils import timezone

from reflection_app.loops.ends import Outcome
from reflection_app.loops.tickets import Ticket as IssuedTicket
from reflection_app.models import Attempt, EventType, Run, Step, Ticket, TicketState, add_event
from reflection_app.runner.batch import Batch

OPEN_STATES = (TicketState.OPEN, TicketState.IN_PROGRESS)


def write_ticket(run: Run, step: Step, batch: Batch, *, issued: IssuedTicket, attempt: Attempt) -> None:
    """The row of a ticket; what was open on the run is superseded by it."""
    batch.write()
    values = issued.model_dump(mode="json")
    row = Ticket.objects.create(
        project_id=run.project_id,
        run=run,
        attempt=attempt,
        step=step,
        ticket_id=issued.ticket_id,
        trigger=issued.trigger.value,
        target_agent=issued.target_agent[:120],
        target_phase=issued.target_phase[:120],
        verdict=issued.verdict.value,
        quality_score=issued.quality_score,
        issues=values["issues"],
        repair_plan=values["repair_plan"],
        context_needed=values["context_needed"],
        created_at=issued.timestamp,
    )
    Ticket.objects.filter(run=run, state__in=OPEN_STATES).exclude(pk=row.pk).update(
        state=TicketState.SUPERSEDED, superseded_by=row, ended_at=issued.timestamp
    )
    add_event(run, EventType.TICKET_ISSUED, ticket=issued.ticket_id, verdict=issued.verdict.value)


def end_tickets(run: Run, *, outcome: str) -> None:
    """Ends what is open on a run that ends: resolved where an attempt was accepted, else closed with the reason."""
    open_tickets = Ticket.objects.filter(run=run, state__in=OPEN_STATES)
    now = timezone.now()
    if outcome == Outcome.SUCCEEDED:
        changed = open_tickets.update(state=TicketState.RESOLVED, resolved_by=run.best_attempt_id, ended_at=now)
    else:
        why = f"the run ended: {outcome.replace('_', ' ')}"
        changed = open_tickets.update(state=TicketState.CLOSED, closed_reason=why, ended_at=now)
    if changed:
        add_event(run, EventType.TICKET_ENDED, outcome=outcome)
