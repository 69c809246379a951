"""Error trace report: stored once there is a plan, in case the run is cut off, and again at the end.

What the error class asks to remember is proposed together with it.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

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
    Submitted,
)
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.texts import one_line

# Proposals to the notebook and to the agent's system prompt, per error class.
#
# Source: the table of "Error Type Handling" in the third design seed. The loop handles the consequences for the run.
# Only what the reflector learned is proposed; text that code wrote in place of an answer teaches nothing.

LONGEST_NAME = 200
LONGEST_INSTRUCTION = 2_000
# Maximum characters of an entry's field.
LONGEST_FIELD = 4_000
MOST_IN_LIST = 30
# In bytes; a Chinese character has three. Shorter texts only say "nothing" in some language.
SHORTEST_NOTE = 14
SHORTEST_PATTERN = 6
FIRST_SENTENCE = re.compile(r"\A.+?(?:[.!?](?=\s|\Z)|[。！？]|$)", re.MULTILINE)


def proposals_for(report: Report, *, agent: str) -> tuple[Proposal, ...]:
    """Return the notebook proposals: the report's anti-pattern and learning note; for an iteration its hint.

    A crash's note becomes an error note, any other a lesson. The loop proposes requested knowledge when it arrives. The
    same lesson for the same agent has the same `source`, so the notebook counts it and does not list it twice.
    """
    note, learned = report.learning_notes.strip(), list[tuple[ProposalKind, str, dict[str, Any]]]()
    surface = report.surface_issue.strip()
    if report.type is ErrorClass.NORMAL_ITERATION:
        if hint := report.hint.strip():
            told = f"For the next start: {surface}" if surface else ""
            lesson = {"name": hint.splitlines()[0], "description": told, "content": hint}
            learned.append((ProposalKind.LESSON, hint, lesson))
        return tuple(_proposal(report, agent, *one) for one in learned)
    if (pattern := report.anti_pattern) is not None and _is_pattern(pattern):
        lines = (one_line(symptom)[:LONGEST_FIELD].strip() for symptom in pattern.symptoms)
        entry = {
            "name": pattern.pattern_name.strip(),
            "description": surface or report.description,
            "content": f"Error type: {report.type.value}",
            # As much as the entry's own fields hold.
            "details": {
                "symptoms": [symptom for symptom in lines if symptom][:MOST_IN_LIST],
                "prevention": pattern.prevention.strip()[:LONGEST_FIELD],
            },
        }
        learned.append((ProposalKind.ANTI_PATTERN, pattern.pattern_name, entry))
    is_said_there = bool(learned) and pattern is not None and _folded(note) == _folded(pattern.prevention)
    if _weight(note) >= SHORTEST_NOTE and not is_said_there:
        first = FIRST_SENTENCE.search(note)
        entry = {"name": first[0].strip() if first else note, "description": surface, "content": note}
        kind = ProposalKind.LESSON
        if report.type is ErrorClass.PIPELINE_CRASH and surface:
            kind = ProposalKind.ERROR_NOTE
            cause, advice = report.root_cause.strip()[:LONGEST_FIELD], note[:LONGEST_FIELD]
            entry |= {"name": surface.splitlines()[0], "details": {"cause": cause, "suggestion": advice}}
        learned.append((kind, note, entry))
    return tuple(_proposal(report, agent, *one) for one in learned)


def _is_pattern(pattern: AntiPattern) -> bool:
    """Return True if the pattern has content beyond saying that there is none."""
    said = (*pattern.symptoms, pattern.prevention)
    return bool(pattern.pattern_name.strip()) and (
        _weight(pattern.pattern_name) >= SHORTEST_PATTERN or any(_weight(text) >= SHORTEST_PATTERN for text in said)
    )


def _weight(text: str) -> int:
    return len("".join(sign for sign in text if sign.isalnum()).encode())


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _proposal(report: Report, agent: str, kind: ProposalKind, learned: str, entry: dict[str, Any]) -> Proposal:
    # Equal for the same lesson, regardless of case and white space.
    digest = hashlib.sha256("\n".join((agent.strip(), _folded(learned))).encode()).hexdigest()
    return Proposal(
        **(entry | {"name": entry["name"][:LONGEST_NAME]}),
        kind=kind,
        agent=agent,
        category=report.issues[0].category.value if report.issues else "",
        source=f"protocol/{kind.value}/{digest[:32]}",
        reflection_id=report.reflection_id,
    )


def instruction_for(report: Report, *, agent: str) -> Instruction | None:
    """Return the instruction for a decision error, or None, as without an agent to receive it."""
    if report.type is not ErrorClass.DECISION_ERROR or not agent.strip():
        return None
    pattern = report.anti_pattern
    # Remediation that code wrote in place of an answer is the ticket's repair plan, which concerns one task only.
    remediation = "" if report.is_fallback else report.remediation
    texts = (report.instruction, pattern.prevention if pattern else "", report.learning_notes, remediation)
    text = next((text.strip() for text in texts if text.strip()), "")
    if not text:
        return None
    return Instruction(agent=agent, text=text[:LONGEST_INSTRUCTION], reflection_id=report.reflection_id)


async def analysed(
    spec: TaskSpec,
    run: Progress,
    back: SentBack,
    *,
    reflected: Reflected,
    classified: Classified,
    planned: Planned,
) -> Analysis:
    """Store the report with all repairs pending, make the proposals, and return the analysis."""
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
    """Store the report with the current results of the repairs, replacing its earlier state."""
    ended = {one.number: {"status": one.status, "why": one.why or one.error} for one in done}
    actions = tuple(
        action.model_copy(update=ended.get(number, {}))
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
