"""The rows of error trace reports, and what they are looked up by."""

from typing import Any
from uuid import UUID

from reflection_app.loops.effects import FindSimilarIssues
from reflection_app.loops.protocol.error_classes import SimilarIssues
from reflection_app.loops.protocol.reports import Instruction, KeptReport, Proposal
from reflection_app.loops.protocol.reports import Report as ReportValue
from reflection_app.models import AgentInstruction, Attempt, EventType, Report, Run, Step, Ticket, add_event
from reflection_app.runner.batch import Batch


def is_ours(reflection_id: str, *, run_id: UUID) -> bool:
    """Whether the report is this run's own: a fork that inherits the beginning of one keeps another."""
    return Report.objects.filter(run=run_id, reflection_id=reflection_id).exists()


def find_similar_issues(effect: FindSimilarIssues, *, run_id: UUID) -> SimilarIssues:
    raise NotImplementedError


def write_report(run: Run, step: Step, batch: Batch, *, report: ReportValue, kept: KeptReport) -> None:
    """The row of a report, new or in the place of its earlier state."""
    batch.write()
    content = report.model_copy(update={"reflection_id": kept.reflection_id}).model_dump(mode="json")
    attempts = {row.number: row for row in Attempt.objects.filter(run=run, number__in=_numbers(report))}
    values: dict[str, Any] = {
        "ticket": Ticket.objects.filter(run=run, ticket_id=report.ticket_id).first(),
        "attempt": attempts.get(report.attempt),
        "revised_attempt": attempts.get(report.revised_attempt) if report.revised_attempt else None,
        "agent": report.agent[:120],
        "trigger": report.trigger.value,
        "error_type": report.type.value,
        "surface_issue": report.surface_issue,
        "issues": content["issues"],
        "content": content,
        "updated_at": kept.timestamp,
    }
    known = Report.objects.filter(run=run, reflection_id=kept.reflection_id)
    if not known.update(**values):
        Report.objects.create(
            project_id=run.project_id,
            run=run,
            step=step,
            reflection_id=kept.reflection_id,
            created_at=kept.timestamp,
            **values,
        )
    add_event(run, EventType.REPORT_KEPT, report=kept.reflection_id, type=report.type.value)


def _numbers(report: ReportValue) -> list[int]:
    return [number for number in (report.attempt, report.revised_attempt) if number]


def write_proposal(run: Run, batch: Batch, *, proposal: Proposal) -> None:
    raise NotImplementedError


def write_instruction(run: Run, batch: Batch, *, instruction: Instruction) -> None:
    """A proposed instruction; the same text is proposed to an agent once."""
    batch.write()
    AgentInstruction.objects.get_or_create(
        project_id=run.project_id,
        agent=instruction.agent[:120],
        text=instruction.text,
        defaults={"report": Report.objects.filter(run=run, reflection_id=instruction.reflection_id).first()},
    )
