"""Rewind tickets as REST tells them: the fields of the ticket itself first, then what became of it."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from pydantic import AwareDatetime, BaseModel, Field

from reflection_app.api.reading import Answer, PageAnswer
from reflection_app.loops import tickets
from reflection_app.loops.protocol.checklists import CheckItem
from reflection_app.loops.protocol.classification import classify
from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models import AgentInstruction, InstructionState, Report, Ticket, TicketState
from reflection_app.repairs.reports import ReportQuality, proposals_of


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


# Reports and instructions as REST tells them: the seed's document, and what the desk knows beside it.


class ErrorAnalysis(BaseModel):
    surface_issue: str
    occurrence_process: list[str]
    root_cause: str


class ErrorClassification(BaseModel):
    type: ErrorClass
    description: str
    remediation: str


class DocumentedRepair(BaseModel):
    action: str
    status: RepairStatus
    expected_outcome: str


class DocumentedAntiPattern(BaseModel):
    pattern_name: str
    symptoms: list[str]
    prevention: str


class ReportDocument(BaseModel):
    """The error trace report. `anti_pattern` is left out where none was named."""

    reflection_id: str = Field(examples=["ref_20250220_143022_k3v9qdmt"])
    timestamp: AwareDatetime
    agent: str
    trigger: Trigger
    rewind_ticket_id: str
    error_analysis: ErrorAnalysis
    error_classification: ErrorClassification
    repair_actions: list[DocumentedRepair]
    learning_notes: str
    anti_pattern: DocumentedAntiPattern = Field(default=None)  # type: ignore[assignment]  # left out, never null


class ReportLine(Answer):
    """A report in a list."""

    reflection_id: str
    timestamp: AwareDatetime
    agent: str
    trigger: Trigger
    rewind_ticket_id: str | None
    run_id: UUID
    attempt: int | None = Field(description="the attempt that it is about")
    revised_attempt: int | None = Field(description="the attempt that was made from it")
    type: ErrorClass = Field(description="the class that holds")
    computed_type: ErrorClass = Field(description="the class that the tree came to")
    surface_issue: str


class ReportPage(PageAnswer):
    results: list[ReportLine]


class CorrectionAnswer(Answer):
    """A person's word on the class, as it is kept."""

    before: ErrorClass
    after: ErrorClass
    reason: str
    by: str
    created_at: AwareDatetime


class ChecklistsAnswer(Answer):
    """Computed; `ok` is null where nothing can tell yet, or where it does not apply."""

    report: list[CheckItem]
    revised_output: list[CheckItem]


class ReportProposalAnswer(Answer):
    """What was proposed to the notebook because of the report."""

    id: UUID
    kind: str
    name: str
    state: str
    occurrences: int


class InstructionAnswer(Answer):
    """An instruction for an agent's system prompt. Runs that begin while it is accepted have it."""

    id: UUID
    agent: str
    text: str
    state: InstructionState
    reflection_id: str | None
    decided_by: str | None
    decided_at: AwareDatetime | None
    created_at: AwareDatetime


class InstructionPage(PageAnswer):
    results: list[InstructionAnswer]


class ReportAnswer(ReportLine):
    """A report with all that is known of it: the document, the facts behind the class, and what became of it."""

    document: ReportDocument
    facts: FailureFacts = Field(description="the facts that the class follows from")
    path: list[str] = Field(description="the questions of the tree with their answers")
    corrections: list[CorrectionAnswer]
    remaining_issues: list[str]
    hint: str
    is_fallback: bool = Field(description="whether code wrote it for want of a usable answer")
    checklists: ChecklistsAnswer
    proposals: list[ReportProposalAnswer]
    instructions: list[InstructionAnswer]


def reports_to_show(rows: QuerySet[Report]) -> QuerySet[Report]:
    """`rows` with all that an answer needs of other tables."""
    related = rows.select_related("ticket", "attempt", "revised_attempt")
    return related.defer("attempt__content", "revised_attempt__content")


def line_of(row: Report) -> dict[str, Any]:
    return {
        "reflection_id": row.reflection_id,
        "timestamp": row.created_at,
        "agent": row.agent,
        "trigger": Trigger(row.trigger),
        "rewind_ticket_id": row.ticket.ticket_id if row.ticket else None,
        "run_id": row.run_id,
        "attempt": row.attempt.number if row.attempt else None,
        "revised_attempt": row.revised_attempt.number if row.revised_attempt else None,
        "type": ErrorClass(row.holding_type),
        "computed_type": ErrorClass(row.error_type),
        "surface_issue": row.surface_issue,
    }


def report_body(row: Report) -> dict[str, Any]:
    """The answer's body. The document is put in as it is: what it leaves out must not come back as null."""
    value, quality, document = row.get_value(), ReportQuality(row), row.get_document()
    answer = ReportAnswer(
        **line_of(row),
        document=ReportDocument.model_validate(document),
        facts=value.facts,
        path=list(classify(value.facts).path),
        corrections=[
            CorrectionAnswer(
                before=ErrorClass(one.before),
                after=ErrorClass(one.after),
                reason=one.reason,
                by=one.by_label,
                created_at=one.created_at,
            )
            for one in row.corrections.all()
        ],
        remaining_issues=list(value.remaining_issues),
        hint=value.hint,
        is_fallback=value.is_fallback,
        checklists=ChecklistsAnswer(report=list(quality.of_report), revised_output=list(quality.of_revision)),
        proposals=[
            ReportProposalAnswer(id=one.id, kind=one.kind, name=one.name, state=one.state, occurrences=one.occurrences)
            for one in proposals_of(row)
        ],
        instructions=[instruction_answer(one) for one in row.instructions.select_related("report")],
    )
    return answer.model_dump(mode="json") | {"document": document}


def instruction_answer(row: AgentInstruction) -> InstructionAnswer:
    return InstructionAnswer(
        id=row.pk,
        agent=row.agent,
        text=row.text,
        state=InstructionState(row.state),
        reflection_id=row.report.reflection_id if row.report else None,
        decided_by=row.decided_by_label or None,
        decided_at=row.decided_at,
        created_at=row.created_at,
    )
