"""Tickets, reports and instructions as REST tells them."""

from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from pydantic import AwareDatetime, BaseModel, Field

from notebook_app.public import learned_from
from reflection_app.api.reading import Answer, OrNull, PageAnswer, Related, part
from reflection_app.loops import tickets
from reflection_app.loops.protocol.checklists import CheckItem
from reflection_app.loops.protocol.classification import classify
from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models import InstructionState, Report, Ticket, TicketState
from reflection_app.repairs.reports import ReportQuality

# Rewind tickets as REST tells them: the fields of the ticket itself first, then what became of it.


AttemptNumber = Annotated[int | None, part("number")]


class SentBack(Answer):
    """The reason why an attempt is sent back, and its repair plan."""

    ticket_id: str = Field(examples=["rewind_20250220_143022_k3v9qdmt"])
    timestamp: AwareDatetime = Field(validation_alias="created_at")
    target_agent: str
    target_phase: str
    verdict: VerdictName
    quality_score: float = Field(description="0 to 100")
    issues: list[Issue]
    repair_plan: list[str] = Field(description="repair steps, in order")
    context_needed: list[str] = Field(description="context required for the repair")
    trigger: Trigger = Field(description="what caused the attempt to be sent back")


class TicketAnswer(SentBack):
    """A rewind ticket and its outcome."""

    state: TicketState
    run_id: UUID
    attempt: AttemptNumber = Field(description="the attempt that the ticket sends back")
    superseded_by: Annotated[str | None, part("ticket_id")] = Field(description="the ticket that replaced this one")
    resolved_by: AttemptNumber = Field(description="the attempt that was accepted after this ticket")
    closed_reason: Annotated[str | None, OrNull]
    ended_by: Annotated[str | None, OrNull] = Field(
        validation_alias="ended_by_label",
        description="the person or API key that closed the ticket; null if the end of the run did",
    )
    reports: Annotated[list[Annotated[str, part("reflection_id")]], Related] = Field(
        description="ids of the reflection reports written for this ticket, newest first"
    )
    started_at: AwareDatetime | None
    ended_at: AwareDatetime | None


class TicketPage(PageAnswer):
    results: list[TicketAnswer]


class ClosedAnswer(Answer):
    """The closed ticket and the effect on its run."""

    ticket: TicketAnswer
    run_cancelled: bool
    run_goes_on: str | None = Field(description="why the run was not cancelled; null if it was")


def tickets_to_show(rows: QuerySet[Ticket]) -> QuerySet[Ticket]:
    """`rows` with all that an answer needs of other tables."""
    related = ("attempt", "superseded_by", "resolved_by")
    return rows.select_related(*related).defer("attempt__content", "resolved_by__content").prefetch_related("reports")


def sent_back_answer(issued: tickets.Ticket) -> SentBack:
    """The ticket as its step keeps it, which forks have as well."""
    return SentBack.model_validate(issued)


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
    """The error trace report. `anti_pattern` is omitted if none was named."""

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
    timestamp: AwareDatetime = Field(validation_alias="created_at")
    agent: str
    trigger: Trigger
    rewind_ticket_id: Annotated[str | None, part("ticket_id")] = Field(validation_alias="ticket")
    run_id: UUID
    attempt: AttemptNumber = Field(description="the attempt that the report is about")
    revised_attempt: AttemptNumber = Field(description="the attempt made from the report")
    type: ErrorClass = Field(
        validation_alias="holding_type",
        description="the current error class: as corrected by a reviewer, else as computed",
    )
    computed_type: ErrorClass = Field(
        validation_alias="error_type", description="the error class computed by the decision tree"
    )
    surface_issue: str


class ReportPage(PageAnswer):
    results: list[ReportLine]


class CorrectionAnswer(Answer):
    """A reviewer's recorded correction of the error class."""

    before: ErrorClass
    after: ErrorClass
    reason: str
    by: str = Field(validation_alias="by_label")
    created_at: AwareDatetime


class ChecklistsAnswer(Answer):
    """Computed checklists. `ok` is null if it cannot be determined yet or does not apply."""

    report: list[CheckItem]
    revised_output: list[CheckItem]


class ReportProposalAnswer(Answer):
    """A notebook proposal made from the report."""

    id: UUID
    kind: str
    name: str
    state: str
    occurrences: int


class InstructionAnswer(Answer):
    """An instruction for an agent's system prompt. It applies to runs that begin while it is accepted."""

    id: UUID
    agent: str
    text: str
    state: InstructionState
    reflection_id: Annotated[str | None, part("reflection_id")] = Field(validation_alias="report")
    decided_by: Annotated[str | None, OrNull] = Field(validation_alias="decided_by_label")
    decided_at: AwareDatetime | None
    created_at: AwareDatetime


class InstructionPage(PageAnswer):
    results: list[InstructionAnswer]


class RepairAnswer(BaseModel):
    """A repair step of the plan and its status."""

    number: int
    action: str
    status: RepairStatus = Field(
        description="`completed` only if verified by code: a requirement is now met, a call succeeded, or the "
        "expected result exists; `written` if something was written, but nothing shows that it fixes "
        "the issue"
    )
    why: str = Field(description="evidence that the step is completed, or why there is none")


class ReportAnswer(ReportLine):
    """A report with all details: the document, the facts behind the class, and the outcome."""

    document: ReportDocument
    facts: FailureFacts = Field(description="the facts that determine the class")
    path: list[str] = Field(description="the questions of the decision tree with their answers")
    corrections: Annotated[list[CorrectionAnswer], Related]
    repairs: list[RepairAnswer] = Field(description="the repair steps with evidence of completion")
    repairs_completed: int
    remaining_issues: list[str]
    hint: str
    is_fallback: bool = Field(description="whether code wrote the report because the model gave no usable answer")
    checklists: ChecklistsAnswer
    proposals: list[ReportProposalAnswer]
    instructions: list[InstructionAnswer]


def reports_to_show(rows: QuerySet[Report]) -> QuerySet[Report]:
    """`rows` with all that an answer needs of other tables."""
    related = rows.select_related("ticket", "attempt", "revised_attempt")
    return related.defer("attempt__content", "revised_attempt__content")


def report_body(row: Report) -> dict[str, Any]:
    """The answer's body. The document is put in as it is: what it leaves out must not come back as null."""
    value, quality, document = row.get_value(), ReportQuality(row), row.get_document()
    answer = ReportAnswer.from_row(
        row,
        document=document,
        facts=value.facts,
        path=classify(value.facts).path,
        repairs=[
            {"number": number, "action": action.action, "status": action.status, "why": action.why}
            for number, action in enumerate(value.repair_actions, start=1)
        ],
        repairs_completed=sum(action.status is RepairStatus.COMPLETED for action in value.repair_actions),
        remaining_issues=value.remaining_issues,
        hint=value.hint,
        is_fallback=value.is_fallback,
        checklists={"report": quality.of_report, "revised_output": quality.of_revision},
        proposals=learned_from(row.project_id, any_of=[{"report": row.reflection_id}]),
        instructions=list(row.instructions.select_related("report")),
    )
    return answer.model_dump(mode="json") | {"document": document}
