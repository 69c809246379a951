"""Reports and instructions as REST tells them: the seed's document, and what the desk knows beside it."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from pydantic import AwareDatetime, BaseModel, Field

from reflection_app.api.answer import Answer, PageAnswer
from reflection_app.loops.protocol.checklists import CheckItem
from reflection_app.loops.protocol.classification import classify
from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.tickets import Trigger
from reflection_app.repairs.models.report import AgentInstruction, InstructionState, Report
from reflection_app.repairs.report_quality import ReportQuality, proposals_of


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
