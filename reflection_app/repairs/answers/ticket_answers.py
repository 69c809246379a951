"""Rewind tickets as REST tells them: the fields of the ticket itself first, then what became of it."""

from uuid import UUID

from django.db.models import QuerySet
from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer, PageAnswer
from reflection_app.loops import tickets
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models.ticket import Ticket, TicketState


class SentBack(Answer):
    """What sends an attempt back, and what is to be done about it."""

    ticket_id: str = Field(examples=["rewind_20250220_143022_k3v9qdmt"])
    timestamp: AwareDatetime
    target_agent: str
    target_phase: str
    verdict: VerdictName
    quality_score: float = Field(description="0 to 100")
    issues: list[Issue]
    repair_plan: list[str] = Field(description="what to do, in order")
    context_needed: list[str] = Field(description="what whoever repairs it has to have before them")
    trigger: Trigger = Field(description="what made the attempt go back")


class TicketAnswer(SentBack):
    """A rewind ticket, and what became of it."""

    state: TicketState
    run_id: UUID
    attempt: int | None = Field(description="the attempt that it sends back")
    superseded_by: str | None = Field(description="the ticket that took its place")
    resolved_by: int | None = Field(description="the attempt that was accepted after it")
    closed_reason: str | None
    ended_by: str | None = Field(description="who closed it, where it was not the run's end that did")
    reports: list[str] = Field(description="the ids of the reflection reports written for it, newest first")
    started_at: AwareDatetime | None
    ended_at: AwareDatetime | None


class TicketPage(PageAnswer):
    results: list[TicketAnswer]


class ClosedAnswer(Answer):
    """The closed ticket, and what that means for its run."""

    ticket: TicketAnswer
    run_cancelled: bool
    run_goes_on: str | None = Field(description="why the run was not cancelled")


def tickets_to_show(rows: QuerySet[Ticket]) -> QuerySet[Ticket]:
    """`rows` with all that an answer needs of other tables."""
    related = ("attempt", "superseded_by", "resolved_by")
    return rows.select_related(*related).defer("attempt__content", "resolved_by__content").prefetch_related("reports")


def ticket_answer(row: Ticket) -> TicketAnswer:
    return TicketAnswer(
        ticket_id=row.ticket_id,
        timestamp=row.created_at,
        target_agent=row.target_agent,
        target_phase=row.target_phase,
        verdict=VerdictName(row.verdict),
        quality_score=row.quality_score,
        issues=row.issues,
        repair_plan=row.repair_plan,
        context_needed=row.context_needed,
        trigger=Trigger(row.trigger),
        state=TicketState(row.state),
        run_id=row.run_id,
        attempt=row.attempt.number if row.attempt else None,
        superseded_by=row.superseded_by.ticket_id if row.superseded_by else None,
        resolved_by=row.resolved_by.number if row.resolved_by else None,
        closed_reason=row.closed_reason or None,
        ended_by=row.ended_by_label or None,
        reports=[report.reflection_id for report in row.reports.all()],
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def sent_back_answer(issued: tickets.Ticket) -> SentBack:
    """The ticket as its step keeps it, which forks have as well."""
    return SentBack(**issued.model_dump(exclude={"attempt"}))
