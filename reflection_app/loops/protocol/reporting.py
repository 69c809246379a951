"""The error trace report: kept as soon as there is a plan, for runs that are cut off later, and again at the end.

What the class of the error asks to be remembered is proposed with it.
"""

import hashlib
from collections.abc import Sequence

from pydantic import JsonValue

from reflection_app.loops.effects import ProposeEntry, ProposeInstruction, RecordReport
from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reports import Instruction, Proposal, ProposalKind, RepairAction, Report
from reflection_app.loops.protocol.rounds import Analysis, SentBack
from reflection_app.loops.protocol.stages import (
    AntiPattern,
    Classified,
    Executed,
    Planned,
    Reflected,
    RepairStatus,
    Submitted,
)
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.texts import one_line

# What a class of error leaves behind for later runs: proposals to the notebook and to the agent's system prompt.
#
# After the table of "Error Type Handling" in the third design seed. What a class means for the run, the loop does.

LONGEST_NAME = 200
LONGEST_INSTRUCTION = 2_000
MOST_SYMPTOMS = 10
# What the fields of an entry hold.
LONGEST_FIELD = 4_000
MOST_IN_LIST = 30


def proposals_for(report: Report, *, agent: str) -> tuple[Proposal, ...]:
    """What is proposed to the notebook: a capability's limit as an anti-pattern, an iteration's hint as a lesson.

    Knowledge that was asked for is proposed where it arrives, by the loop. Of the same thing learned for the same agent
    the source is the same, so that the notebook counts it and does not list it twice.
    """
    match report.type:
        case ErrorClass.MODEL_CAPABILITY:
            pattern = anti_pattern_of(report)
            lines = (one_line(symptom)[:LONGEST_FIELD].strip() for symptom in pattern.symptoms)
            symptoms: list[JsonValue] = [symptom for symptom in lines if symptom]
            kind, learned = ProposalKind.ANTI_PATTERN, pattern.pattern_name
            name, description = pattern.pattern_name.strip(), report.surface_issue or report.description
            content = f"Error type: {report.type.value}"
            # As much as the entry's own fields hold.
            details: dict[str, JsonValue] = {
                "symptoms": symptoms[:MOST_IN_LIST],
                "prevention": pattern.prevention.strip()[:LONGEST_FIELD],
            }
        case ErrorClass.NORMAL_ITERATION if report.hint.strip():
            kind, learned = ProposalKind.LESSON, report.hint.strip()
            name, content, details = learned.splitlines()[0], learned, {}
            description = f"For the next start: {report.surface_issue}" if report.surface_issue.strip() else ""
        case _:
            return ()
    # The same for the same thing learned, whatever its letters' case and spaces.
    digest = hashlib.sha256("\n".join((agent.strip(), " ".join(learned.casefold().split()))).encode()).hexdigest()
    proposal = Proposal(
        kind=kind,
        name=name[:LONGEST_NAME],
        description=description,
        content=content,
        details=details,
        agent=agent,
        category=report.issues[0].category.value if report.issues else "",
        source=f"protocol/{kind.value}/{digest[:32]}",
        reflection_id=report.reflection_id,
    )
    return (proposal,)


def instruction_for(report: Report, *, agent: str) -> Instruction | None:
    """The instruction that a decision error calls for. None without an agent, whose system prompt it would go into."""
    if report.type is not ErrorClass.DECISION_ERROR or not agent.strip():
        return None
    pattern = report.anti_pattern
    texts = (report.instruction, pattern.prevention if pattern else "", report.learning_notes, report.remediation)
    text = next((text.strip() for text in texts if text.strip()), "")
    if not text:
        return None
    return Instruction(agent=agent, text=text[:LONGEST_INSTRUCTION], reflection_id=report.reflection_id)


def anti_pattern_of(report: Report) -> AntiPattern:
    """The report's anti-pattern; where it names none, what the report says about the mistake."""
    if report.anti_pattern is not None and report.anti_pattern.pattern_name.strip():
        return report.anti_pattern
    symptoms = tuple(issue.description for issue in report.issues) or report.occurrence_process
    return AntiPattern(
        pattern_name=report.surface_issue.strip() or report.description.strip() or "A mistake made again",
        symptoms=symptoms[:MOST_SYMPTOMS],
        prevention=report.learning_notes.strip() or report.remediation.strip() or report.instruction.strip(),
    )


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
    report = Report(
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
