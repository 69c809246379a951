"""The error trace report: kept as soon as there is a plan, for runs that are cut off later, and again at the end.

What the class of the error asks to be remembered is proposed with it.
"""

from collections.abc import Sequence

from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol.handling import instruction_for, proposals_for
from reflection_app.loops.protocol.reports import RepairAction, Report
from reflection_app.loops.protocol.rounds import Analysis, SentBack
from reflection_app.loops.protocol.stages import Classified, Executed, Planned, Reflected, RepairStatus, Submitted
from reflection_app.loops.protocol_effects import ProposeEntry, ProposeInstruction, RecordReport
from reflection_app.loops.task_spec import TaskSpec


async def analysed(
    spec: TaskSpec,
    run: Progress,
    back: SentBack,
    *,
    reflected: Reflected,
    classified: Classified,
    planned: Planned,
) -> Analysis:
    """The analysis with its report kept, all repairs still to be done, and what follows from it proposed."""
    report = report_of(spec, back, reflected=reflected, classified=classified, planned=planned)
    kept = await run.perform(RecordReport(key=f"attempt-{back.number}/report", report=report))
    report = report.model_copy(update={"reflection_id": kept.reflection_id})
    for place, proposal in enumerate(proposals_for(report, agent=spec.agent), start=1):
        await run.perform(ProposeEntry(key=f"attempt-{back.number}/propose-{place}", proposal=proposal))
    instruction = instruction_for(report, agent=spec.agent)
    if instruction is not None:
        await run.perform(ProposeInstruction(key=f"attempt-{back.number}/instruction", instruction=instruction))
    return Analysis(reflected, classified, planned, report)


async def keep_report(
    run: Progress,
    back: SentBack,
    analysis: Analysis,
    *,
    key: str,
    done: Sequence[Executed],
    submitted: Submitted | None = None,
) -> None:
    """The report with how the repairs ended so far and what remains, in the place of its first state."""
    ended = {one.number: one.status for one in done}
    actions = tuple(
        action.model_copy(update={"status": ended.get(number, RepairStatus.PENDING)})
        for number, action in enumerate(analysis.report.repair_actions, start=1)
    )
    report = analysis.report.model_copy(
        update={
            "repair_actions": actions,
            "revised_attempt": submitted.attempt if submitted else None,
            "remaining_issues": submitted.remaining_issues if submitted else (),
        }
    )
    await run.perform(RecordReport(key=f"attempt-{back.number}/{key}", report=report))


def report_of(
    spec: TaskSpec, back: SentBack, *, reflected: Reflected, classified: Classified, planned: Planned
) -> Report:
    return Report(
        attempt=back.number,
        agent=spec.agent,
        trigger=back.trigger,
        ticket_id=back.ticket.ticket_id,
        issues=back.ticket.issues,
        surface_issue=reflected.surface_issue,
        occurrence_process=reflected.occurrence_process,
        root_cause=reflected.root_cause,
        type=classified.type,
        description=classified.description,
        remediation=planned.remediation,
        repair_actions=tuple(
            RepairAction(action=step.action, expected_outcome=step.expected_outcome) for step in planned.repair_steps
        ),
        learning_notes=planned.learning_notes,
        anti_pattern=planned.anti_pattern,
        facts=classified.facts,
        instruction=planned.instruction,
        hint=planned.hint,
        is_fallback=reflected.is_fallback or planned.is_fallback,
    )
