"""Values passed between the steps of the protocol: an attempt, its judgement, and the analysis."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import RecordStage
from reflection_app.loops.framing import framed
from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol.error_classes import ErrorClass, item
from reflection_app.loops.protocol.reports import Report
from reflection_app.loops.protocol.stages import Classified, Output, Planned, Reflected, StageRecord, Submitted
from reflection_app.loops.requirements import Lowered
from reflection_app.loops.texts import cut_with
from reflection_app.loops.tickets import Ticket, Trigger
from reflection_app.loops.values import Message
from reflection_app.loops.verdicts import Judgement


class BrokenBy(StrEnum):
    """How code detected the interruption of an attempt."""

    FAILED_CALL = "failed_call"
    CUT_OFF = "cut_off"


@dataclass(frozen=True)
class Interruption:
    """An interruption: the step's key, the message, and the last successful step before it."""

    by: BrokenBy
    phase: str
    message: str
    last_good_step: str


@dataclass(frozen=True)
class Made:
    """An attempt with its messages, and conditions for its judgement.

    `checkpoint` holds reasons for a mandatory review, regardless of the policy. `lowered` is the reduced expectation,
    if any. `instructions` are those of this run.
    """

    number: int
    content: str
    messages: tuple[Message, ...]
    role: str = "actor"
    is_ordered: bool = False
    interruption: Interruption | None = None
    submitted: Submitted | None = None
    checkpoint: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    lowered: Lowered | None = None

    @property
    def is_empty(self) -> bool:
        """True if the model returned no answer for it."""
        return self.interruption is not None and self.interruption.by is BrokenBy.FAILED_CALL


@dataclass(frozen=True)
class Judged:
    judgement: Judgement
    trigger: Trigger


@dataclass(frozen=True)
class SentBack:
    """An attempt that was sent back, the judgement, and its ticket."""

    made: Made
    judgement: Judgement
    ticket: Ticket

    @property
    def number(self) -> int:
        return self.made.number

    @property
    def trigger(self) -> Trigger:
        return self.ticket.trigger


@dataclass(frozen=True)
class Analysis:
    """Results of the first four steps, and the report as first stored."""

    reflected: Reflected
    classified: Classified
    planned: Planned
    report: Report


# Protocol steps are recorded, and the loop continues with the recorded value, which a fork may have edited.

LONGEST_INPUT = 1_000


async def keep_stage[O: Output](run: Progress, back: SentBack, *, key: str, output: O, **inputs: JsonValue) -> O:
    """Record `output` and return it as stored. `inputs` summarizes the step's input.

    Raise EffectFailed if a fork edited it into another step.
    """
    short = {name: value[:LONGEST_INPUT] if isinstance(value, str) else value for name, value in inputs.items()}
    record = StageRecord(attempt=back.number, ticket_id=back.ticket.ticket_id, input=short, output=output)
    kept = (await run.perform(RecordStage(key=f"attempt-{back.number}/{key}", record=record))).output
    if not isinstance(kept, type(output)):
        raise EffectFailed(f"The step {key!r} of attempt {back.number} was edited into a step {kept.step!r}.")
    return kept


# Mandatory review of the next judgement after a repeated mistake

MOST_NAMED = 3


def checkpoint_for(analysis: Analysis) -> tuple[str, ...]:
    """Return the reasons shown to the reviewer: the repeated mistake and the lowered expectation.

    Return () if no mistake was repeated.
    """
    if analysis.classified.type is not ErrorClass.MODEL_CAPABILITY:
        return ()
    found = analysis.classified.facts.similar.found[:MOST_NAMED]
    named = tuple(
        f"The same mistake came again: “{similar.now[:300]}”, like “{similar.description[:300]}”"
        + (f" in {similar.reflection_id}." if similar.reflection_id else ".")
        for similar in found
    )
    named = named or (f"The same mistake came again: {analysis.reflected.surface_issue[:300]}",)
    lowered = lowered_by(analysis)
    told = (f"The expectation was lowered to {'; '.join(lowered.in_words)}.",) if lowered is not None else ()
    return (*named, *told)


def lowered_by(analysis: Analysis) -> Lowered | None:
    """Return the reduced expectation for the next attempt, if its plan lowered it after a repeated mistake.

    It applies to that attempt only. Later ones are judged by the task again, or by a plan of their own.
    """
    if analysis.classified.type is not ErrorClass.MODEL_CAPABILITY:
        return None
    return analysis.planned.expectation(why=analysis.classified.description)


# A rewind ticket as text for models and agents

LONGEST_LISTED = 8_000
LONGEST_HEAD = 1_000
SENT_BACK_BY = {
    Trigger.CRITIC_EVALUATION: "a critic's evaluation",
    Trigger.FAILED_REQUIREMENT: "minimum requirements that do not hold",
    Trigger.FAILED_CHECK: "a check that failed",
    Trigger.SELF_CHECK: "the agent's own check",
    Trigger.PERSONS_REVIEW: "a person's review; the person's words count most",
    Trigger.PERSONS_ORDER: "a person's order to do it again; the person's words count most",
    Trigger.INTERRUPTION: "an interruption",
}


def framed_ticket(back: SentBack) -> str:
    """Return the ticket as framed data, because it quotes agents and their work."""
    return framed(ticket_text(back), name="ticket", most=2 * LONGEST_LISTED + LONGEST_HEAD)


def ticket_text(back: SentBack) -> str:
    """Return the ticket with its issues and repair plan as text."""
    ticket = back.ticket
    issues = [
        item(
            f"[{issue.category.value}, {issue.severity.value}] "
            + (f"{issue.path}: {issue.in_words}" if issue.path else issue.in_words)
        )
        for issue in ticket.issues
    ]
    issues += [item(weakness) for weakness in back.judgement.further_weaknesses]
    lines = [
        f"Rewind ticket {ticket.ticket_id}",
        f"Sent back by: {SENT_BACK_BY[ticket.trigger]}",
        f"Verdict: {ticket.verdict.value}, quality score {ticket.quality_score:g} of 100",
        "Issues:",
        _listed(issues or ["- None was named."]),
        "What is to be done:",
        _listed([item(repair) for repair in ticket.repair_plan] or ["- Find out and do it."]),
    ]
    return "\n".join(lines)


def _listed(lines: list[str]) -> str:
    return cut_with("\n".join(lines), LONGEST_LISTED, note="- … and more.")
