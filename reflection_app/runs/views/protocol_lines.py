"""What steps of tickets, the six steps, questions, diagnoses and completeness checks are called in a timeline."""

from reflection_app.loops.effects import (
    AskPerson,
    FindSimilarIssues,
    Generate,
    IssueTicket,
    ProposeEntry,
    ProposeInstruction,
    RecallFix,
    RecallLessons,
    RecordCompleteness,
    RecordFixOutcome,
    RecordReport,
    RecordStage,
    RecordSupplements,
    RecordToolFailure,
    Wait,
)
from reflection_app.runs.models.run import Step

KINDS = {
    IssueTicket.kind: "ticket",
    RecordStage.kind: "stage",
    FindSimilarIssues.kind: "similar",
    RecordReport.kind: "report",
    ProposeEntry.kind: "proposal",
    ProposeInstruction.kind: "instruction",
    AskPerson.kind: "question",
    Wait.kind: "wait",
    RecallFix.kind: "known_fix",
    RecallLessons.kind: "lessons",
    RecordToolFailure.kind: "diagnosis",
    RecordFixOutcome.kind: "fix_outcome",
    RecordCompleteness.kind: "completeness",
    RecordSupplements.kind: "supplements",
}
# Bookkeeping: it takes no time, and what it tells is shown elsewhere on the page.
QUIET_PROTOCOL_KINDS = frozenset(KINDS) - {IssueTicket.kind, AskPerson.kind, RecordCompleteness.kind}
ASKED_FOR = {"plan": "plan_repairs", "work": "repair", "resume": "resume"}
ROLES = {"diagnoser": "diagnose", "completeness": "check_completeness"}


def protocol_what(step: Step) -> str:
    """The name that templates know the step by; empty for steps of other kinds."""
    if step.kind in KINDS:
        return KINDS[step.kind]
    if step.kind != Generate.kind:
        return ""
    if step.role in ROLES:
        return ROLES[step.role]
    parts = step.key.split("/again-")[0].split("/")
    is_protocols = step.role == "reflector" or (parts[-2:-1] and parts[-2].startswith("repair-"))
    return ASKED_FOR.get(parts[-1], "") if is_protocols else ""


def repair_place(step: Step) -> str:
    """Which repair step a step of the journal belongs to, as a number counted from 1; empty for none."""
    parts = step.key.split("/")
    return next((part.removeprefix("repair-") for part in parts if part.startswith("repair-")), "")
