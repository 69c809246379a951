"""The rows of rewind tickets: issued, begun, superseded by the next, and ended with their run.

Every transition is guarded by its own UPDATE. A fork issues tickets of its own; those that its copied steps speak of
are the parent's, and stay as the parent left them.
"""

from datetime import datetime

from django.utils import timezone

from reflection_app.core.events import EventType, add_event, next_event
from reflection_app.loops.ends import Outcome
from reflection_app.loops.tickets import Ticket as IssuedTicket
from reflection_app.repairs.models.ticket import Ticket, TicketState
from reflection_app.runs.batch import Batch
from reflection_app.runs.models import Attempt, Run, Step

OPEN_STATES = (TicketState.OPEN, TicketState.IN_PROGRESS)
SUPERSEDE = """
UPDATE reflection_app_ticket SET state = 'superseded', superseded_by_id = %s, ended_at = %s
WHERE run_id = %s AND state IN ('open', 'in_progress') AND id <> %s
"""
END = """
UPDATE reflection_app_ticket SET state = %s, closed_reason = %s, resolved_by_id = %s, ended_at = %s
WHERE id = %s AND state IN ('open', 'in_progress')
"""


def write_ticket(run: Run, step: Step, batch: Batch, *, issued: IssuedTicket, attempt: Attempt) -> None:
    """The row of a ticket; what was open on the run is superseded by it."""
    values = issued.model_dump(mode="json")
    row = Ticket(
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
    batch.insert(row)
    batch.add(SUPERSEDE, row.pk, issued.timestamp, run.pk, row.pk)
    batch.insert(next_event(run, EventType.TICKET_ISSUED, ticket=issued.ticket_id, verdict=issued.verdict.value))


def begin_ticket(run: Run, *, ticket_id: str, by: str = "", now: datetime | None = None) -> bool:
    """Marks an open ticket of the run as taken up; False where it is not open, or not the run's own."""
    begun = Ticket.objects.filter(run=run, ticket_id=ticket_id, state=TicketState.OPEN).update(
        state=TicketState.IN_PROGRESS, started_at=now or timezone.now()
    )
    if begun:
        add_event(run, EventType.TICKET_STARTED, ticket=ticket_id, by=by)
    return bool(begun)


def end_tickets(run: Run, batch: Batch, *, outcome: str) -> None:
    """Ends what is open on an ended run: resolved where a later attempt was accepted, else closed with the reason."""
    for ticket in Ticket.objects.filter(run=run, state__in=OPEN_STATES).select_related("attempt"):
        state, why = TicketState.CLOSED, f"the run ended: {outcome.replace('_', ' ')}"
        if outcome == Outcome.SUCCEEDED:
            is_repaired = _is_repaired(ticket, run)
            state = TicketState.RESOLVED if is_repaired else TicketState.CLOSED
            why = "" if is_repaired else "an attempt from before the ticket was accepted"
        resolved_by = run.best_attempt_id if state == TicketState.RESOLVED else None
        batch.add(END, state.value, why, resolved_by, timezone.now(), ticket.pk)
        told = {"ticket": ticket.ticket_id, "state": state.value, "outcome": outcome}
        batch.insert(next_event(run, EventType.TICKET_ENDED, **told))


def _is_repaired(ticket: Ticket, run: Run) -> bool:
    """Whether the attempt that is kept came after the one that the ticket sent back."""
    sent_back = ticket.attempt.number if ticket.attempt else 0
    return run.best_attempt is not None and run.best_attempt.number > sent_back
