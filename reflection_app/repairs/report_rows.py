"""The rows of error trace reports, and what they are looked up by."""

from collections import defaultdict
from typing import Any
from uuid import UUID

from notebook_app.public import EntryKind, keep
from notebook_app.public import Proposal as EntryProposal
from reflection_app.core.events import EventType, add_event
from reflection_app.loops.effects import FindSimilarIssues
from reflection_app.loops.protocol.error_classes import SimilarIssues
from reflection_app.loops.protocol.reports import Instruction, KeptReport, Proposal
from reflection_app.loops.protocol.reports import Report as ReportValue
from reflection_app.loops.protocol.similarity import similar_issues
from reflection_app.loops.verdicts import Issue
from reflection_app.repairs.models.report import AgentInstruction, Report
from reflection_app.repairs.models.ticket import Ticket
from reflection_app.runs.batch import Batch
from reflection_app.runs.models import Attempt, Run, Step

MOST_REPORTS = 20
LOOKED_AT = ("reflection_id", "issues", "created_at")


def is_ours(reflection_id: str, *, run_id: UUID) -> bool:
    """Whether the report is this run's own: a fork that inherits the beginning of one keeps another."""
    return Report.objects.filter(run=run_id, reflection_id=reflection_id).exists()


def find_similar_issues(effect: FindSimilarIssues, *, run_id: UUID) -> SimilarIssues:
    """What is like these issues in the newest reports on the run's agent, and on this run; without an agent, here only.

    Reports of the run's own attempt, and those that other forks of the same beginning made, are no earlier mistakes.
    """
    run = Run.objects.defer("spec").select_related("task").get(pk=run_id)
    known = [*_of_this_run(run, effect.attempt), *_of_the_agent(run)]
    newest = sorted({row.pk: row for row in known}.values(), key=lambda row: (row.created_at, row.pk), reverse=True)
    earlier = [(row.reflection_id, Issue.model_validate(issue)) for row in newest for issue in row.issues]
    return similar_issues(effect.issues, earlier, looked_at=len(newest))


def _of_this_run(run: Run, attempt: int) -> list[Report]:
    """Reports on earlier attempts of the run, with those on attempts that it has from the run it was forked from."""
    found = list(Report.objects.filter(run=run, attempt__number__lt=attempt).only(*LOOKED_AT))
    parent, before = run.parent, run.forked_from_step
    while parent is not None and before is not None:
        found += Report.objects.filter(run=parent, step__seq__lt=before, attempt__number__lt=attempt).only(*LOOKED_AT)
        before = min(before, parent.forked_from_step) if parent.forked_from_step is not None else before
        parent = parent.parent
    return found


def _of_the_agent(run: Run) -> list[Report]:
    """The newest reports on the run's agent by other runs."""
    agent = run.task.agent
    if not agent:
        return []
    others = Report.objects.filter(project=run.project_id, agent=agent[:120]).exclude(run__in=_relatives(run))
    return list(others.order_by("-created_at", "-id").only(*LOOKED_AT)[:MOST_REPORTS])


def _relatives(run: Run) -> set[UUID]:
    """The run and all that share its beginning: what it was forked from, and every fork of those."""
    parents = dict(Run.objects.filter(task=run.task_id).values_list("pk", "parent"))
    first = run.pk
    while (above := parents.get(first)) is not None:
        first = above
    children: dict[UUID, list[UUID]] = defaultdict(list)
    for pk, parent in parents.items():
        if parent is not None:
            children[parent].append(pk)
    found = [first]
    for pk in found:  # grows while it is read
        found += children[pk]
    return set(found)


def write_report(run: Run, step: Step, batch: Batch, *, report: ReportValue, kept: KeptReport) -> None:
    """The row of a report, new or in the place of its earlier state."""
    batch.write()
    values = report_values(run, report=report, kept=kept)
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


def report_values(run: Run, *, report: ReportValue, kept: KeptReport) -> dict[str, Any]:
    """The columns of the report's row that change when it is kept again."""
    content = report.model_copy(update={"reflection_id": kept.reflection_id}).model_dump(mode="json")
    attempts = {row.number: row for row in Attempt.objects.filter(run=run, number__in=_numbers(report))}
    return {
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


def _numbers(report: ReportValue) -> list[int]:
    return [number for number in (report.attempt, report.revised_attempt) if number]


def keep_proposal(run: Run, proposal: Proposal) -> None:
    """Proposes it to the notebook with the run and the report as its evidence; made twice, it counts once."""
    keep(run.project_id, entry_proposal(run, proposal))


def entry_proposal(run: Run, proposal: Proposal) -> EntryProposal:
    """The proposal as the notebook gets it, and as it is taken back."""
    return EntryProposal(
        kind=EntryKind(proposal.kind.value),
        name=proposal.name,
        source=proposal.source,
        description=proposal.description,
        content=proposal.content,
        details=proposal.details,
        agent=proposal.agent,
        category=proposal.category,
        evidence={"run": str(run.pk)} | ({"report": proposal.reflection_id} if proposal.reflection_id else {}),
    )


def write_instruction(run: Run, batch: Batch, *, instruction: Instruction) -> None:
    """A proposed instruction; the same text is proposed to an agent once."""
    batch.write()
    keep_instruction(run, instruction)


def keep_instruction(run: Run, instruction: Instruction) -> None:
    """Proposes it to people, unless it was proposed to the agent in these words before."""
    AgentInstruction.objects.get_or_create(
        project_id=run.project_id,
        agent=instruction.agent[:120],
        text=instruction.text,
        defaults={"report": Report.objects.filter(run=run, reflection_id=instruction.reflection_id).first()},
    )
