"""Effects of rewind tickets and of the six steps."""

from pydantic import TypeAdapter

from reflection_app.loops.effect import Effect
from reflection_app.loops.protocol.error_classes import SimilarIssues
from reflection_app.loops.protocol.reports import Instruction, KeptReport, Proposal, Report
from reflection_app.loops.protocol.stages import StageRecord
from reflection_app.loops.tickets import Ticket, TicketDraft
from reflection_app.loops.verdicts import Issue


class IssueTicket(Effect[Ticket]):
    """Issue a rewind ticket for an attempt that goes back. An older ticket of the run that is open is superseded."""

    kind = "issue_ticket"
    results = TypeAdapter(Ticket)

    draft: TicketDraft


class RecordStage(Effect[StageRecord]):
    """Keep a step of the protocol, with what it was given and what came of it."""

    kind = "record_stage"
    results = TypeAdapter(StageRecord)

    record: StageRecord


class FindSimilarIssues(Effect[SimilarIssues]):
    """Look for issues like these in the newest reports on the run's agent, and on this run."""

    kind = "find_similar_issues"
    results = TypeAdapter(SimilarIssues)

    attempt: int
    issues: tuple[Issue, ...]


class RecordReport(Effect[KeptReport]):
    """Keep an error trace report, or its newer state."""

    kind = "record_report"
    results = TypeAdapter(KeptReport)

    report: Report


class ProposeEntry(Effect[Proposal]):
    """Propose something to the notebook."""

    kind = "propose_entry"
    results = TypeAdapter(Proposal)

    proposal: Proposal


class ProposeInstruction(Effect[Instruction]):
    """Propose an instruction for the agent's system prompt."""

    kind = "propose_instruction"
    results = TypeAdapter(Instruction)

    instruction: Instruction
