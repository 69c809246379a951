"""Rows that outlive the steps which are taken back, as they were before those steps wrote to them."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from reflection_app.core.events import Event, EventType
from reflection_app.loops.effects import RecordFixOutcome, RecordReport, RecordSupplements
from reflection_app.loops.protocol.reports import KeptReport
from reflection_app.repairs.fix_pairs import uncount_outcome
from reflection_app.repairs.models.completeness import CompletenessCheck, Supplement
from reflection_app.repairs.models.report import Report
from reflection_app.repairs.models.ticket import Ticket, TicketState
from reflection_app.repairs.models.tool_failure import ToolFailure
from reflection_app.repairs.report_rows import report_values
from reflection_app.runs.models.run import Run, Step, StepState

ENDED = (TicketState.RESOLVED, TicketState.CLOSED)


def uncount_fixes(run: Run, gone: QuerySet[Step]) -> None:
    """Takes what the run's fixes counted for out of the memory of fixes again."""
    recorded = gone.filter(kind=RecordFixOutcome.kind, state=StepState.DONE)
    places = list(recorded.values_list("result__place", flat=True))
    failures = ToolFailure.objects.select_for_update().filter(run=run, place__in=places, worked__isnull=False)
    for failure in failures.order_by("pk"):
        uncount_outcome(failure)
    failures.update(worked=None, outcome=None, outcome_at=None)


def unmake_supplements(run: Run, gone: QuerySet[Step]) -> None:
    """Forgets how supplements went that an earlier check had asked for."""
    recorded = gone.filter(kind=RecordSupplements.kind, state=StepState.DONE)
    attempts = list(recorded.values_list("result__attempt", flat=True))
    checks = CompletenessCheck.objects.filter(run=run, attempt_number__in=attempts).exclude(step__in=gone)
    Supplement.objects.filter(completeness_check__in=checks).update(
        attempted=None, succeeded=None, error="", tokens=0, cost_usd=0
    )
    checks.update(used=None, attempted=None, succeeded=None)


def restore_reports(run: Run, *, gone: QuerySet[Step], kept: QuerySet[Step]) -> None:
    """Puts reports that were kept again since into the words that they had before."""
    recorded = {"kind": RecordReport.kind, "state": StepState.DONE}
    changed = set(gone.filter(**recorded).values_list("result__reflection_id", flat=True))
    last: dict[str, Step] = {}
    for step in kept.filter(**recorded, result__reflection_id__in=changed).order_by("seq"):
        last[KeptReport.model_validate(step.result).reflection_id] = step
    for reflection_id, step in last.items():
        effect = RecordReport.model_validate({"key": step.key, **step.request})
        values = report_values(run, report=effect.report, kept=KeptReport.model_validate(step.result))
        Report.objects.filter(run=run, reflection_id=reflection_id).update(**values)


def superseded_by(gone: QuerySet[Step]) -> list[UUID]:
    """The tickets that were open until one took their place that goes now."""
    return list(Ticket.objects.filter(superseded_by__step__in=gone).values_list("pk", flat=True))


def reopen_tickets(run: Run, *, superseded: Sequence[UUID], since: int) -> None:
    """Opens what was superseded or ended since event `since`; what was begun since is not begun.

    A ticket that a person closed stays closed.
    """
    told = Event.objects.filter(run=run, seq__gt=since)
    ended = told.filter(type=EventType.TICKET_ENDED).values_list("payload__ticket", flat=True)
    begun = told.filter(type=EventType.TICKET_STARTED).values_list("payload__ticket", flat=True)
    tickets = Ticket.objects.filter(run=run)
    closed_by_end = tickets.filter(ticket_id__in=list(ended), state__in=ENDED, ended_by_label="")
    reopened = tickets.filter(pk__in=[*superseded, *closed_by_end.values_list("pk", flat=True)])
    tickets.filter(ticket_id__in=list(begun)).update(started_at=None)
    as_open = {"superseded_by": None, "resolved_by": None, "closed_reason": "", "ended_at": None}
    open_again = tickets.filter(pk__in=list(reopened.values_list("pk", flat=True)))
    open_again.update(state=TicketState.OPEN, **as_open)
    tickets.filter(state=TicketState.OPEN, started_at__isnull=False).update(state=TicketState.IN_PROGRESS)
    tickets.filter(state=TicketState.IN_PROGRESS, started_at__isnull=True).update(state=TicketState.OPEN)
