"""Every state that a page can meet has its look: an enum that grows has to grow here, too."""

from enum import Enum

import pytest

from desk_sandbox.code_tests import FailureReason
from notebook_app.kinds import EntryKind
from reflection_app.core.registry import REGISTRY, look_of
from reflection_app.loops.attempt_effects import DirectorsDecision, ReviewReason
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.completeness.dropped import DropCode
from reflection_app.loops.diagnosis.diagnoses import ErrorType, Remedy
from reflection_app.loops.plans import PlanStepState
from reflection_app.loops.protocol.reports import ProposalKind
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.questions import Choice, QuestionKind
from reflection_app.loops.session_reflections import Finding
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Outcome, Referee, Verdict
from reflection_app.repairs.models import InstructionState, TicketState
from reflection_app.reviews.models import BulkState
from reflection_app.runs.models import RunState, StepState
from reflection_app.teams.models import ToolKind

ENUMS: dict[str, type[Enum]] = {
    "choice": Choice,
    "directed": DirectorsDecision,
    "entry_hint": EntryKind,
    "dropped": DropCode,
    "entry_kind": EntryKind,
    "finding": Finding,
    "proposal": ProposalKind,
    "question": QuestionKind,
    "reason_sentence": ReviewReason,
    "remedy": Remedy,
    "test_failure": FailureReason,
    "tool": ToolKind,
    "outcome": Outcome,
    "run": RunState,
    "verdict": Verdict,
    "mode": Mode,
    "reason": ReviewReason,
    "bulk": BulkState,
    "ticket": TicketState,
    "trigger": Trigger,
    "instruction": InstructionState,
    "tool_error": ErrorType,
    "check": CheckState,
    "plan_step": PlanStepState,
    "stage_repair": RepairStatus,
    "step": StepState,
}


@pytest.mark.parametrize("kind", ENUMS)
def test_every_value_of_an_enum_has_its_look(kind: str) -> None:
    assert {str(one.value) for one in ENUMS[kind]} <= REGISTRY[kind].keys()


def test_every_referee_has_words() -> None:
    assert {referee.label for referee in Referee} <= REGISTRY["referee"].keys()


def test_what_no_enum_has_any_more_is_shown_as_it_is() -> None:
    assert look_of("of old", "outcome").words == "of old"
