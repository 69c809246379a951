"""Results of the effects that ask nothing of the outside: what is kept as it is, chance, names, and our own memory."""

import secrets
from typing import Any
from uuid import UUID

from reflection_app.loops.effects import (
    ChooseLoop,
    Draw,
    Drawn,
    FindSimilarIssues,
    IssueTicket,
    KeepAttempt,
    Lookup,
    Naming,
    Noted,
    ProposeEntry,
    ProposeInstruction,
    ReadSession,
    RecallFix,
    RecordCompleteness,
    RecordFindings,
    RecordFixOutcome,
    RecordMemories,
    RecordMergeSuggestion,
    RecordPick,
    RecordPlan,
    RecordPlanStep,
    RecordReflection,
    RecordReport,
    RecordStage,
    RecordSupplements,
    RecordToolFailure,
    RecordVerdict,
    RequestAudit,
)
from reflection_app.loops.protocol.reports import KeptReport
from reflection_app.loops.tickets import Ticket
from reflection_app.repairs.failure_rows import recall_fix
from reflection_app.repairs.report_rows import find_similar_issues, is_ours
from reflection_app.runs.naming import named
from reflection_app.sessions.looked_back_at import read_session


def value_of(effect: Lookup | Naming | Noted, *, run_id: UUID) -> Any:
    """The result of `effect`. Lookups read the database; nothing is written here."""
    match effect:
        case FindSimilarIssues():
            return find_similar_issues(effect, run_id=run_id)
        case RecallFix():
            return recall_fix(effect, run_id=run_id)
        case ReadSession():
            return read_session(effect, run_id=run_id)
        case IssueTicket(draft=draft):
            ticket_id, now = named("rewind")
            return Ticket(ticket_id=ticket_id, timestamp=now, **dict(draft))
        case RecordReport(report=report):
            reflection_id, now = named("ref")
            if report.reflection_id and is_ours(report.reflection_id, run_id=run_id):
                reflection_id = report.reflection_id
            return KeptReport(reflection_id=reflection_id, timestamp=now)
    return _kept(effect)


def _kept(effect: Noted) -> Any:  # noqa: PLR0911 - one line an effect
    match effect:
        case RecordVerdict(judgement=kept) | RecordPick(pick=kept) | ChooseLoop(route=kept):
            return kept
        case RecordPlan(plan=kept) | RecordPlanStep(outcome=kept) | RecordFixOutcome(outcome=kept):
            return kept
        case RecordStage(record=kept) | ProposeEntry(proposal=kept) | ProposeInstruction(instruction=kept):
            return kept
        case RecordToolFailure(failure=kept) | RecordCompleteness(found=kept) | RecordSupplements(done=kept):
            return kept
        case RecordFindings(found=kept) | RecordMemories(found=kept) | RecordMergeSuggestion(suggestion=kept):
            return kept
        case RecordReflection(kept=reflection):
            return reflection
        case Draw(share=share):
            return Drawn(value=secrets.SystemRandom().random(), share=share)
        case KeepAttempt() | RequestAudit():
            return None
