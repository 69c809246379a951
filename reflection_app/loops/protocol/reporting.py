"""The error trace report: kept as soon as there is a plan, for runs that are cut off later, and again at the end.

What the class of the error asks to be remembered is proposed with it.
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

# What a class of error leaves behind for later runs: proposals to the notebook and to the agent's system prompt.
#
# After the table of "Error Type Handling" in the third design seed. What a class means for the run, the loop does.
# Only what the report's own author learned is proposed: what code wrote for want of an answer teaches nobody anything.

LONGEST_NAME = 200
LONGEST_INSTRUCTION = 2_000
# What the fields of an entry hold.
LONGEST_FIELD = 4_000
MOST_IN_LIST = 30
# In bytes, of which a Chinese sign has three. What is shorter is a word for "nothing" in one language or another.
SHORTEST_NOTE = 14
SHORTEST_PATTERN = 6
FIRST_SENTENCE = re.compile(r"\A.+?(?:[.!?](?=\s|\Z)|[。！？]|$)", re.MULTILINE)


def proposals_for(report: Report, *, agent: str) -> tuple[Proposal, ...]:
    """What is proposed to the notebook: the report's anti-pattern and its learning note, of an iteration only its hint.

    A crash's note is kept as an error note, every other one as a lesson. Knowledge that was asked for is proposed where
    it arrives, by the loop. Of the same thing learned for the same agent the source is the same, so that the notebook
    counts it and does not list it twice.
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
    """Whether the pattern says more than that there is none."""
    said = (*pattern.symptoms, pattern.prevention)
    return bool(pattern.pattern_name.strip()) and (
        _weight(pattern.pattern_name) >= SHORTEST_PATTERN or any(_weight(text) >= SHORTEST_PATTERN for text in said)
    )


def _weight(text: str) -> int:
    return len("".join(sign for sign in text if sign.isalnum()).encode())


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _proposal(report: Report, agent: str, kind: ProposalKind, learned: str, entry: dict[str, Any]) -> Proposal:
    # The same for the same thing learned, whatever its letters' case and spaces.
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
    """The instruction that a decision error calls for. None without an agent, whose system prompt it would go into."""
    if report.type is not ErrorClass.DECISION_ERROR or not agent.strip():
        return None
    pattern = report.anti_pattern
    # What code wrote for want of an answer is the ticket's own repair plan, for one piece of work.
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
