"""Error trace reports, as stored and in the design seed's form, and proposals derived from them."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, Field, JsonValue

from reflection_app.loops.protocol.classification import NAMES
from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts
from reflection_app.loops.protocol.stages import AntiPattern, RepairStatus
from reflection_app.loops.storable import Text, storable_value
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue


class RepairAction(Value):
    """A repair step with its status. `why` is the evidence for the status; the seed's document does not have it."""

    action: Text
    status: RepairStatus = RepairStatus.PENDING
    expected_outcome: Text = ""
    why: Text = ""


class Report(Value):
    """An error trace report. `reflection_id` is "" until first stored; storing it again replaces the old state.

    `revised_attempt` is the attempt made from it. `is_fallback`: code wrote it because no answer was usable.
    `instruction` is for the agent's system prompt, `hint` for the next start.
    """

    reflection_id: str = Field(default="", max_length=60)
    attempt: int = Field(ge=1)
    revised_attempt: int | None = Field(default=None, ge=1)
    agent: Text = ""
    trigger: Trigger
    ticket_id: str
    issues: tuple[Issue, ...] = ()
    surface_issue: Text = ""
    occurrence_process: tuple[Text, ...] = ()
    root_cause: Text = ""
    type: ErrorClass
    description: Text = ""
    remediation: Text = ""
    repair_actions: tuple[RepairAction, ...] = ()
    learning_notes: Text = ""
    anti_pattern: AntiPattern | None = None
    facts: FailureFacts
    instruction: Text = ""
    hint: Text = ""
    remaining_issues: tuple[Text, ...] = ()
    is_fallback: bool = False


class KeptReport(Value):
    """The id and time assigned to a stored report."""

    reflection_id: str
    timestamp: AwareDatetime


class ProposalKind(StrEnum):
    """Kind of a notebook entry."""

    ERROR_NOTE = "error_note"
    ANTI_PATTERN = "anti_pattern"
    LESSON = "lesson"
    FIX_PAIR = "fix_pair"
    RULE = "rule"
    FACT = "project_fact"
    PREFERENCE = "preference"
    SUPPLEMENT = "supplement"


class Proposal(Value):
    """A proposed notebook entry. The same `source` is proposed once; `details` holds the fields of its kind."""

    kind: ProposalKind
    name: Text = Field(max_length=200)
    description: Text = ""
    content: Text = ""
    details: Annotated[dict[str, JsonValue], AfterValidator(storable_value)] = Field(default_factory=dict)
    agent: Text = ""
    category: Text = ""
    source: str = Field(max_length=200)
    reflection_id: str = ""


class Instruction(Value):
    """A proposed instruction for the agent's system prompt. It applies once a member has accepted it."""

    agent: Text
    text: Text
    reflection_id: str


# Error trace reports as documents: the JSON form of the third design seed, in its order

# Agents often number list items themselves.
OWN_NUMBER = re.compile(r"^\s*\d{1,3}[.)、．]\s*")


def corrected(report: Report, *, to: ErrorClass, reason: str) -> Report:
    """Return the report with the class that a member set, and the reason."""
    return report.model_copy(update={"type": to, "description": f"{NAMES[to]}: {reason.strip()}"})


def document_of(report: Report, *, timestamp: datetime) -> dict[str, Any]:
    """Return the report in exactly the seed's form. `anti_pattern` is optional there and omitted if None."""

    def kept(*names: str) -> dict[str, Any]:
        return report.model_dump(mode="json", include=set(names))

    document: dict[str, Any] = {
        "reflection_id": report.reflection_id,
        "timestamp": timestamp.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "agent": report.agent,
        "trigger": report.trigger.value,
        "rewind_ticket_id": report.ticket_id,
        "error_analysis": kept("surface_issue", "occurrence_process", "root_cause"),
        "error_classification": kept("type", "description", "remediation"),
        "repair_actions": [action.model_dump(mode="json", exclude={"why"}) for action in report.repair_actions],
        **kept("learning_notes"),
    }
    if report.anti_pattern is not None:
        document |= kept("anti_pattern")
    return document


def without_number(text: str) -> str:
    """Return a step without its author's number, for lists that are numbered automatically."""
    return OWN_NUMBER.sub("", text, count=1)
