"""How each state is shown: its words, its icon and its tone, once for all pages, drawings and messages.

Beside each value of the loops' enums stands what it looks like; states of models, which this floor does not know, are
keyed by their values. Templates ask by `words`, `look` and `badge` (web/template_filters.py) and compare with no state.
"""

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.diagnosis.diagnoses import ErrorType
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Outcome, Verdict


class Look(NamedTuple):
    """The icon differs with the words, so that the tone, which is a colour, is never the only sign."""

    words: str | Promise
    icon: str = ""
    tone: str = "plain"


type Looks = dict[str, Look]

OUTCOMES: Looks = {
    Outcome.SUCCEEDED: Look(_("Succeeded"), "check", "good"),
    Outcome.UNVERIFIED: Look(_("Unverified"), "question"),
    Outcome.EXHAUSTED: Look(_("Attempts used up"), "repeat", "warn"),
    Outcome.OVER_BUDGET: Look(_("Over budget"), "coin", "warn"),
    Outcome.TIMED_OUT: Look(_("Out of time"), "clock", "warn"),
    Outcome.OVER_CORRECTED: Look(_("Over-corrected"), "down", "warn"),
    Outcome.REJECTED: Look(_("Rejected"), "stop", "bad"),
    Outcome.CANCELLED: Look(_("Cancelled"), "cross"),
    Outcome.FAILED: Look(_("Failed"), "warning", "bad"),
}
RUN_STATES: Looks = {
    "queued": Look(_("Queued"), "clock"),
    "running": Look(_("Running"), "running", "accent"),
    "waiting_review": Look(_("Waiting for review"), "person", "wait"),
    "waiting_agent": Look(_("Waiting for the agent"), "clock"),
    "waiting_time": Look(_("Waiting"), "clock"),
    "finished": Look(_("Finished"), "clock"),
}
VERDICTS: Looks = {
    Verdict.PASS: Look(_("Pass"), "check", "good"),
    Verdict.REVISE: Look(_("Revise"), "repeat", "warn"),
    Verdict.REJECT: Look(_("Reject"), "stop", "bad"),
}
MODES: Looks = {
    Mode.EXTERNAL_LOOP: Look(_("External check")),
    Mode.ACTOR_CRITIC: Look(_("Actor and critic")),
    Mode.REFLEXION: Look(_("Reflexion")),
    Mode.PLANNING: Look(_("Planning")),
    Mode.REFLECTION_PROTOCOL: Look(_("Reflection protocol")),
    Mode.INLINE_REFLECTION: Look(_("Inline reflection")),
    Mode.TOOL_DIAGNOSIS: Look(_("Tool diagnosis")),
    Mode.COMPLETENESS_CHECK: Look(_("Completeness check")),
    Mode.ERROR_REFLECTION: Look(_("Looking for errors")),
    Mode.MEMORY_REFLECTION: Look(_("Looking for what to remember")),
    Mode.MERGE_SUGGESTION: Look(_("Suggesting a merge")),
    Mode.ADAPTIVE: Look(_("Adaptive")),
}
# By the label of a Referee; "requirements" are those of its tests that code checks.
REFEREES: Looks = {
    "self": Look(_("The model itself")),
    "critic": Look(_("Critic")),
    "generated_tests": Look(_("Tests by a model")),
    "tool": Look(_("Check")),
    "tests": Look(_("Tests")),
    "requirements": Look(_("Minimum requirements")),
    "person": Look(_("Person")),
}
REVIEW_REASONS: Looks = {
    ReviewReason.REJECTED: Look(_("Rejected")),
    ReviewReason.LOW_CONFIDENCE: Look(_("Low confidence")),
    ReviewReason.UNSETTLED_PICK: Look(_("Unsettled pick")),
    ReviewReason.BROKEN_TESTS: Look(_("Broken tests")),
    ReviewReason.AUDIT: Look(_("Audit sample")),
    ReviewReason.CHECKPOINT: Look(_("Checkpoint")),
    ReviewReason.POLICY: Look(_("Policy")),
    ReviewReason.ASKED_FOR: Look(_("Asked for")),
    ReviewReason.ADJUDICATION: Look(_("Adjudication")),
}
BULK_STATES: Looks = {
    "running": Look(_("Under way")),
    "done": Look(_("Done")),
    "undoing": Look(_("Undoing")),
    "undone": Look(_("Undone")),
}
BULK_ITEM_STATES: Looks = {
    "pending": Look(_("Waiting")),
    "done": Look(_("Decided")),
    "undone": Look(_("Undone")),
}
TICKET_STATES: Looks = {
    "open": Look(_("Open"), "clock", "wait"),
    "in_progress": Look(_("In progress"), "running", "accent"),
    "resolved": Look(_("Resolved"), "check", "good"),
    "superseded": Look(_("Superseded"), "repeat"),
    "closed": Look(_("Closed"), "cross"),
}
TICKET_TRIGGERS: Looks = {
    Trigger.CRITIC_EVALUATION: Look(_("The critic's verdict")),
    Trigger.FAILED_REQUIREMENT: Look(_("A minimum requirement that does not hold")),
    Trigger.FAILED_CHECK: Look(_("A check that failed")),
    Trigger.SELF_CHECK: Look(_("The agent's own check")),
    Trigger.PERSONS_REVIEW: Look(_("A person's review")),
    Trigger.PERSONS_ORDER: Look(_("A person's order")),
    Trigger.INTERRUPTION: Look(_("An interruption")),
}
INSTRUCTION_STATES: Looks = {
    "proposed": Look(_("Proposed"), "clock", "wait"),
    "accepted": Look(_("Accepted"), "check", "good"),
    "declined": Look(_("Declined"), "cross"),
}
TOOL_ERRORS: Looks = {
    ErrorType.PARAMETER_ERROR: Look(_("wrong parameters")),
    ErrorType.WRONG_TOOL: Look(_("wrong tool")),
    ErrorType.PERMISSION_DENIED: Look(_("no permission")),
    ErrorType.EXTERNAL_SERVICE_ERROR: Look(_("service failed")),
}
CHECK_STATES: Looks = {
    CheckState.COMPLETE: Look(_("nothing missing"), "check", "mark-good"),
    CheckState.INCOMPLETE: Look(_("something missing"), "warning", "mark-warn"),
    CheckState.UNCHECKED: Look(_("not checked"), "question", "muted"),
}
# The tone is the state of a plan's step that it looks like.
SUPPLEMENT_STATES: Looks = {
    "done": Look(_("done"), "check", "done"),
    "failed": Look(_("failed"), "warning", "failed"),
    "under_way": Look(_("under way"), "running", "running"),
    "not_tried": Look(_("not tried"), "cross", "waiting"),
    "not_reached": Look(_("not reached"), "cross", "waiting"),
    "advice": Look(_("suggested"), "info", "waiting"),
}
# What a report or a journal keeps in English is shown as it is kept.
PLAN_STEP_STATES: Looks = {
    "done": Look("done", "check"),
    "failed": Look("failed", "warning"),
    "running": Look("running", "running"),
    "waiting": Look("waiting", "clock"),
    "skipped": Look("skipped", "cross"),
    "not_reached": Look(_("not reached"), "cross"),
}
STAGE_STATES: Looks = {
    "done": Look("", "check"),
    "failed": Look(_("not all worked"), "warning"),
    "stopped": Look(_("the run ended here"), "warning"),
    "again": Look(_("needs another iteration"), "repeat"),
    "now": Look(_("now"), "running"),
    "to_come": Look(_("to come"), "clock"),
    "not_reached": Look(_("not reached"), "cross"),
}
STAGE_REPAIR_STATES: Looks = {
    RepairStatus.COMPLETED: Look("completed", "check"),
    RepairStatus.FAILED: Look("failed", "warning"),
    RepairStatus.SKIPPED: Look("skipped", "cross"),
    RepairStatus.PENDING: Look(_("the agent said nothing of it"), "clock"),
    "now": Look("now", "running"),
    "to_come": Look(_("to come"), "clock"),
    "not_reached": Look(_("not reached"), "cross"),
}
STEP_STATES: Looks = {
    "started": Look(_("running"), "running", "accent"),
    "waiting": Look(_("waiting"), "clock", "wait"),
    "done": Look(""),
    "failed": Look(_("failed"), "warning", "bad"),
    "abandoned": Look(_("stopped"), "cross"),
}
# By what a step of the timeline is (runs/views/steps.py); all others are talk.
STEP_ICONS = {
    name: icon
    for icon, names in {
        "pen": ("answer", "working", "handed_in", "repair", "resume"),
        "tool": ("call", "diagnosis", "fix_outcome", "known_fix"),
        "plan": (
            *("plan", "planning", "revising", "outcome"),
            *("stage", "plan_repairs", "completeness", "supplements"),
        ),
        "star": ("kept",),
        "flask": ("tests",),
        "person": ("review", "question"),
        "scale": ("verdict",),
        "dice": ("draw", "audit"),
        "repeat": ("ticket",),
        "clock": ("wait",),
    }.items()
    for name in names
}
ENTRY_STATES: Looks = {
    "proposed": Look(_("proposed, not accepted yet")),
    "screened": Look(_("screened, not accepted yet")),
    "approved": Look(_("accepted")),
}

REGISTRY: dict[str, Looks] = {
    "outcome": OUTCOMES,
    "run": RUN_STATES,
    "verdict": VERDICTS,
    "mode": MODES,
    "referee": REFEREES,
    "reason": REVIEW_REASONS,
    "bulk": BULK_STATES,
    "bulk_item": BULK_ITEM_STATES,
    "ticket": TICKET_STATES,
    "trigger": TICKET_TRIGGERS,
    "instruction": INSTRUCTION_STATES,
    "tool_error": TOOL_ERRORS,
    "check": CHECK_STATES,
    "supplement": SUPPLEMENT_STATES,
    "plan_step": PLAN_STEP_STATES,
    "stage": STAGE_STATES,
    "stage_repair": STAGE_REPAIR_STATES,
    "step": STEP_STATES,
    "entry": ENTRY_STATES,
}


def look_of(value: str, kind: str) -> Look:
    """How `value` of the enum `kind` is shown; one that the enum does not have any more, as itself."""
    return REGISTRY[kind].get(value) or Look(value)
