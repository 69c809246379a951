"""How each state is shown: its words, its icon and its tone, once for all pages, drawings and messages.

Beside each value of the loops' enums stands what it looks like; states of models, which this floor does not know, are
keyed by their values. Templates ask by `words`, `look` and `badge` (web/template_filters.py) and compare with no state.
"""

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from desk_sandbox.code_tests import FailureReason
from reflection_app.loops.attempt_effects import DirectorsDecision, ReviewReason
from reflection_app.loops.completeness.checks import CheckState, SettingsFrom
from reflection_app.loops.completeness.dropped import DropCode
from reflection_app.loops.completeness.file_codes import FaultCode, FileKind, WhyNot
from reflection_app.loops.completeness.looked import Holds, WhyNotLooked
from reflection_app.loops.diagnosis.diagnoses import ErrorType, Remedy
from reflection_app.loops.protocol.reports import ProposalKind
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.questions import Choice, QuestionKind
from reflection_app.loops.session_reflections import Finding
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.tool_permission import Ground, ToolEffect
from reflection_app.loops.verdicts import Outcome, Verdict


class Look(NamedTuple):
    """The icon differs with the words, so that the tone, which is a colour, is never the only sign."""

    words: str | Promise
    icon: str = ""
    tone: str = "plain"


type Looks = dict[str, Look]

# The key of how every other value of its kind is shown.
ANY_OTHER = ""

OUTCOMES: Looks = {
    Outcome.SUCCEEDED: Look(_("Succeeded"), "check", "good"),
    Outcome.UNVERIFIED: Look(_("Unverified"), "question"),
    Outcome.EXHAUSTED: Look(_("Attempts exhausted"), "repeat", "warn"),
    Outcome.OVER_BUDGET: Look(_("Over budget"), "coin", "warn"),
    Outcome.TIMED_OUT: Look(_("Timed out"), "clock", "warn"),
    Outcome.OVER_CORRECTED: Look(_("Over-corrected"), "down", "warn"),
    Outcome.REJECTED: Look(_("Rejected"), "stop", "bad"),
    Outcome.CANCELLED: Look(_("Cancelled"), "cross"),
    Outcome.FAILED: Look(_("Failed"), "warning", "bad"),
}
VERDICTS: Looks = {
    Verdict.PASS: Look(_("Pass"), "check", "good"),
    Verdict.REVISE: Look(_("Revise"), "repeat", "warn"),
    Verdict.REJECT: Look(_("Reject"), "stop", "bad"),
}
# The parts of what a step came to, by their names in its record.
STAGE_FACTS: Looks = {
    "artifacts": Look(_("Artifacts")),
    "files": Look(_("Files")),
    "last_good_step": Look(_("Last good step")),
    "earlier_tickets": Look(_("Earlier tickets")),
    "excerpt": Look(_("Excerpt")),
    "expected": Look(_("Expected")),
    "actual": Look(_("Actual")),
    "gap": Look(_("Gap")),
    "root_cause": Look(_("Root cause")),
    "occurrence_process": Look(_("Sequence of events")),
    "questions": Look(_("Questions")),
    "description": Look(_("Description")),
    "path": Look(_("Path")),
    "repair_steps": Look(_("Repair steps")),
    "resources_needed": Look(_("Resources")),
    "remediation": Look(_("Remedy")),
    "instruction": Look(_("Instruction for the agent")),
    "hint": Look(_("Restart hint")),
    "expected_score": Look(_("Expected score")),
    "lowered": Look(_("Reduced expectations")),
    "anti_pattern": Look(_("Anti-pattern")),
    "learning_notes": Look(_("Learnings")),
    "remaining_issues": Look(_("Remaining issues")),
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
            *("stage", "plan_repairs", "completeness", "likeness", "estimates", "supplements", "second_look", "files"),
            *("look", "render_pages"),
        ),
        "star": ("kept",),
        "flask": ("tests",),
        "person": ("review", "question", "permission"),
        "scale": ("verdict",),
        "dice": ("draw", "audit", "check_lots"),
        "repeat": ("ticket",),
        "clock": ("wait",),
    }.items()
    for name in names
}
# Why a person is asked, in a sentence. `<reason> <referee>` stands before the reason alone.
REVIEW_SENTENCES: Looks = {
    "rejected self": Look(_("Rejected by the model itself")),
    "rejected critic": Look(_("Rejected by the critic")),
    ReviewReason.REJECTED: Look(_("Rejected verdict")),
    "low_confidence self": Look(_("Low model confidence")),
    "low_confidence critic": Look(_("Low critic confidence")),
    ReviewReason.LOW_CONFIDENCE: Look(_("Low verdict confidence")),
    ReviewReason.UNSETTLED_PICK: Look(_("Inconclusive evidence: select the final answer")),
    ReviewReason.BROKEN_TESTS: Look(_("Invalid tests: result unknown")),
    ReviewReason.CHECKPOINT: Look(_("Review checkpoint")),
    ReviewReason.POLICY: Look(_("Required by a policy rule")),
    ReviewReason.ASKED_FOR: Look(_("A review was requested")),
    ReviewReason.ADJUDICATION: Look(_("Reviewers disagree")),
    ReviewReason.REQUIRED: Look(_("Required by the task")),
    ReviewReason.AUDIT: Look(_("Random audit")),
}
REGISTRY: dict[str, Looks] = {
    "outcome": OUTCOMES,
    # What became of a run that was not accepted, in a sentence.
    "outcome_sentence": {
        Outcome.UNVERIFIED: Look(_("There is an answer, but it could not be verified.")),
        Outcome.EXHAUSTED: Look(_("All attempts were used; none was accepted.")),
        Outcome.TIMED_OUT: Look(_("The run reached its time limit.")),
        Outcome.OVER_CORRECTED: Look(_("The run stopped because further attempts made the result worse.")),
        Outcome.REJECTED: Look(_("The work was rejected.")),
        Outcome.CANCELLED: Look(_("The run was cancelled.")),
    },
    "run": {
        "queued": Look(_("Queued"), "clock"),
        "running": Look(_("Running"), "running", "accent"),
        "waiting_review": Look(_("Waiting for review"), "person", "wait"),
        "waiting_agent": Look(_("Waiting for the agent"), "clock"),
        "waiting_time": Look(_("Waiting"), "clock"),
        "finished": Look(_("Finished"), "clock"),
    },
    "verdict": VERDICTS,
    "mode": {
        Mode.EXTERNAL_LOOP: Look(_("Automated test")),
        Mode.ACTOR_CRITIC: Look(_("Actor and critic")),
        Mode.REFLEXION: Look(_("Reflexion")),
        Mode.PLANNING: Look(_("Planning")),
        Mode.REFLECTION_PROTOCOL: Look(_("Reflection protocol")),
        Mode.INLINE_REFLECTION: Look(_("Inline reflection")),
        Mode.TOOL_DIAGNOSIS: Look(_("Tool diagnosis")),
        Mode.COMPLETENESS_CHECK: Look(_("Completeness check")),
        Mode.ERROR_REFLECTION: Look(_("Error reflection")),
        Mode.MEMORY_REFLECTION: Look(_("Memory reflection")),
        Mode.MERGE_SUGGESTION: Look(_("Merge suggestion")),
        Mode.ADAPTIVE: Look(_("Adaptive")),
    },
    # By the label of a Referee; "requirements" are those of its tests that code checks.
    "referee": {
        "self": Look(_("Self-judgment")),
        "critic": Look(_("Critic")),
        "generated_tests": Look(_("Generated tests")),
        "tool": Look(_("Check")),
        "tests": Look(_("Tests")),
        "requirements": Look(_("Minimum requirements")),
        "person": Look(_("Reviewer")),
        "unjudged": Look(_("Not judged")),
    },
    "reason": {
        ReviewReason.REJECTED: Look(_("Rejected")),
        ReviewReason.LOW_CONFIDENCE: Look(_("Low confidence")),
        ReviewReason.UNSETTLED_PICK: Look(_("Inconclusive evidence")),
        ReviewReason.BROKEN_TESTS: Look(_("Invalid tests")),
        ReviewReason.AUDIT: Look(_("Audit sample")),
        ReviewReason.CHECKPOINT: Look(_("Checkpoint")),
        ReviewReason.POLICY: Look(_("Policy")),
        ReviewReason.ASKED_FOR: Look(_("Requested")),
        ReviewReason.ADJUDICATION: Look(_("Adjudication")),
        ReviewReason.REQUIRED: Look(_("Required")),
    },
    "bulk": {
        "running": Look(_("In progress")),
        "done": Look(_("Done")),
        "undoing": Look(_("Undoing")),
        "undone": Look(_("Undone")),
    },
    "bulk_item": {
        "pending": Look(_("Waiting")),
        "done": Look(_("Decided")),
        "failed": Look(_("Failed")),
        "undone": Look(_("Undone")),
        "kept": Look(_("Could not be undone")),
    },
    "ticket": {
        "open": Look(_("Open"), "clock", "wait"),
        "in_progress": Look(_("In progress"), "running", "accent"),
        "resolved": Look(_("Resolved"), "check", "good"),
        "superseded": Look(_("Superseded"), "repeat"),
        "closed": Look(_("Closed"), "cross"),
    },
    "trigger": {
        Trigger.CRITIC_EVALUATION: Look(_("Critic verdict")),
        Trigger.FAILED_REQUIREMENT: Look(_("Failed minimum requirement")),
        Trigger.FAILED_CHECK: Look(_("Failed check")),
        Trigger.SELF_CHECK: Look(_("Agent self-check")),
        Trigger.PERSONS_REVIEW: Look(_("Human review")),
        Trigger.PERSONS_ORDER: Look(_("Manual redo")),
        Trigger.INTERRUPTION: Look(_("Interruption")),
    },
    "instruction": {
        "proposed": Look(_("Proposed"), "clock", "wait"),
        "accepted": Look(_("Accepted"), "check", "good"),
        "declined": Look(_("Declined"), "cross"),
    },
    "tool_error": {
        ErrorType.PARAMETER_ERROR: Look(_("wrong parameters")),
        ErrorType.WRONG_TOOL: Look(_("wrong tool")),
        ErrorType.PERMISSION_DENIED: Look(_("no permission")),
        ErrorType.EXTERNAL_SERVICE_ERROR: Look(_("service error")),
    },
    "check": {
        CheckState.COMPLETE: Look(_("nothing missing"), "check", "mark-good"),
        CheckState.INCOMPLETE: Look(_("something missing"), "warning", "mark-warn"),
        CheckState.SUPPLEMENTED: Look(_("completed by follow-up steps"), "check", "mark-good"),
        CheckState.UNCHECKED: Look(_("not checked"), "question", "muted"),
    },
    "settings_from": {
        SettingsFrom.TASK: Look(_("Uses the task's settings.")),
        SettingsFrom.PROJECT: Look(_("Uses the project's settings.")),
        SettingsFrom.DESK: Look(_("Uses the server's settings.")),
    },
    "file_kind": {
        FileKind.JSON: Look("JSON"),
        FileKind.JSON_LINES: Look("JSON Lines"),
        FileKind.CSV: Look("CSV"),
        FileKind.TSV: Look("TSV"),
        FileKind.XLSX: Look(_("workbook")),
        FileKind.PARQUET: Look("Parquet"),
        FileKind.PDF: Look("PDF"),
        FileKind.DOCX: Look(_("document")),
        FileKind.PPTX: Look(_("slides")),
        FileKind.HTML: Look("HTML"),
        FileKind.MARKDOWN: Look("Markdown"),
        FileKind.IMAGE: Look(_("image")),
        FileKind.SOUND: Look(_("audio")),
        FileKind.ARCHIVE: Look(_("archive")),
        FileKind.SOURCE: Look(_("source code")),
        FileKind.TEXT: Look(_("text")),
        FileKind.OTHER: Look(_("other")),
    },
    "file_fault": {
        FaultCode.NOT_THERE: Look(_("File not found.")),
        FaultCode.TOO_FEW: Look(_("Too few matching files.")),
        FaultCode.EMPTY: Look(_("File is empty.")),
        FaultCode.OTHER_KIND: Look(_("Wrong file type.")),
        FaultCode.OTHER_ENDING: Look(_("Content does not match the file name.")),
        FaultCode.TRUNCATED: Look(_("File is truncated.")),
        FaultCode.UNREADABLE: Look(_("File cannot be opened.")),
        FaultCode.ENCRYPTED: Look(_("File is encrypted.")),
        FaultCode.ENCODING: Look(_("Invalid encoding.")),
        FaultCode.SYNTAX: Look(_("File cannot be parsed.")),
        FaultCode.TORN_ROW: Look(_("A row has a different number of fields.")),
        FaultCode.BAD_LINE: Look(_("A line cannot be parsed.")),
        FaultCode.NO_TEXT: Look(_("No text found.")),
        FaultCode.SCHEMA: Look(_("Data does not match the schema.")),
        FaultCode.MISSING_COLUMN: Look(_("Missing column.")),
        FaultCode.MISSING_SHEET: Look(_("Missing sheet.")),
        FaultCode.MISSING_SECTION: Look(_("Missing section.")),
        FaultCode.MISSING_ENTRY: Look(_("Missing entry.")),
        FaultCode.TOO_FEW_ROWS: Look(_("Too few rows.")),
        FaultCode.TOO_FEW_PAGES: Look(_("Too few pages.")),
        FaultCode.TOO_FEW_WORDS: Look(_("Too few words.")),
        FaultCode.TOO_SMALL: Look(_("Too small.")),
        FaultCode.BROKEN_LINK: Look(_("Broken link.")),
        FaultCode.FORMULA_ERROR: Look(_("A formula returns an error.")),
        FaultCode.UNFOLDS: Look(_("Decompressed size far exceeds the declared size.")),
        FaultCode.UNSAFE_ENTRY: Look(_("An archive entry would be written outside its folder.")),
        FaultCode.TOO_LARGE: Look(_("Too large to inspect.")),
        FaultCode.TOO_SLOW: Look(_("Inspection timed out.")),
    },
    # Whether a produced file shows what it must, by a model that looked at it. That nobody looked is never good.
    "holds": {
        Holds.YES: Look(_("present"), "check", "mark-good"),
        Holds.NO: Look(_("missing"), "warning", "mark-warn"),
        Holds.CANNOT_TELL: Look(_("unclear"), "question", "muted"),
        Holds.NOT_LOOKED_AT: Look(_("not inspected"), "question", "muted"),
    },
    "why_not_seen": {
        WhyNotLooked.NO_MODEL: Look(_("Not inspected: no vision model is configured (LLM_VISION_MODEL).")),
        WhyNotLooked.NO_PAGES: Look(_("Not inspected: this file type has no pages to show.")),
        WhyNotLooked.NOT_RENDERED: Look(_("Not inspected: its pages could not be rendered.")),
        WhyNotLooked.TOO_MANY: Look(_("Not inspected: too many files for one check.")),
        WhyNotLooked.LIMIT: Look(_("Not inspected: the run reached a limit.")),
        WhyNotLooked.MODEL_FAILED: Look(_("Not inspected: the model call failed.")),
        WhyNotLooked.NO_ANSWER: Look(_("The vision model returned no usable answer.")),
    },
    "why_not_looked": {
        WhyNot.NO_SANDBOX: Look(_("No sandbox is available to open it.")),
        WhyNot.NO_LIBRARY: Look(_("The library for this format is not installed.")),
        WhyNot.NO_READER: Look(_("This format is not supported.")),
        WhyNot.NO_TIME: Look(_("The time limit for all files was reached.")),
    },
    # The tone is the state of a plan's step that it looks like.
    "supplement": {
        "done": Look(_("done"), "check", "done"),
        "done_already": Look(_("already done, not repeated"), "check", "done"),
        "failed": Look(_("failed"), "warning", "failed"),
        "under_way": Look(_("in progress"), "running", "running"),
        "not_tried": Look(_("not started"), "cross", "waiting"),
        "not_reached": Look(_("not reached"), "cross", "waiting"),
        "left_out": Look(_("skipped"), "coin", "waiting"),
        "advice": Look(_("suggested"), "info", "waiting"),
    },
    # Why a check left something out. What stands in brackets is a parameter.
    "dropped": {
        DropCode.NAMES_NOTHING: Look(_("Names no operation.")),
        DropCode.TWICE: Look(_("Duplicate suggestion.")),
        DropCode.DONE_ALREADY: Look(_("Already done, and the task does not request a repeat.")),
        DropCode.UNRELATED: Look(_("Unrelated to the task.")),
        DropCode.NO_TOOL: Look(_("None of the named tools is suitable.")),
        DropCode.NOT_MISSING: Look(_("The check found nothing missing.")),
        DropCode.CHECK_ONLY: Look(_("Check only: no follow-up steps are executed.")),
        DropCode.TOO_MANY: Look(_("Only the best %(most)s are executed.")),
        DropCode.UNKNOWN_TOOL: Look(_("The tool “%(name)s” is not on the list.")),
        DropCode.UNFIT_TOOL: Look(_("The tool “%(name)s” is not suitable.")),
        DropCode.PRICE_UNKNOWN: Look(_("The model's price is unknown, so the cost limit cannot be enforced.")),
        DropCode.MONEY_SPENT: Look(_("The check's budget was used up before this step started.")),
    },
    # What a report or a journal keeps in English is shown as it is kept.
    "plan_step": {
        "done": Look("done", "check"),
        "failed": Look("failed", "warning"),
        "running": Look("running", "running"),
        "waiting": Look("waiting", "clock"),
        "skipped": Look("skipped", "cross"),
        "not_reached": Look(_("not reached"), "cross"),
    },
    "stage_name": {
        "explore": Look(_("Explore")),
        "reflect": Look(_("Reflect")),
        "classify": Look(_("Classify")),
        "plan": Look(_("Plan")),
        "execute": Look(_("Execute")),
        "submit": Look(_("Submit")),
    },
    "stage_fact": STAGE_FACTS,
    "stage": {
        "done": Look("", "check"),
        "failed": Look(_("some failed"), "warning"),
        "stopped": Look(_("the run ended here"), "warning"),
        "again": Look(_("needs another iteration"), "repeat"),
        "now": Look(_("now"), "running"),
        "to_come": Look(_("upcoming"), "clock"),
        "not_reached": Look(_("not reached"), "cross"),
    },
    "stage_repair": {
        RepairStatus.COMPLETED: Look("completed", "check"),
        RepairStatus.WRITTEN: Look(_("written, not verified"), "question"),
        RepairStatus.FAILED: Look("failed", "warning"),
        RepairStatus.SKIPPED: Look("skipped", "cross"),
        RepairStatus.PENDING: Look(_("not reported by the agent"), "clock"),
        "now": Look("now", "running"),
        "to_come": Look(_("upcoming"), "clock"),
        "not_reached": Look(_("not reached"), "cross"),
    },
    "step": STEP_STATES,
    "entry": {
        "proposed": Look(_("proposed, not accepted yet")),
        "screened": Look(_("checked, not accepted yet")),
        "approved": Look(_("accepted")),
    },
    # What was decided of a REJECT, by the decision or by the verdict that it comes down to.
    "directed": {
        DirectorsDecision.REDO: Look(_("requested a redo")),
        DirectorsDecision.ACCEPT: Look(_("accepted it anyway")),
        DirectorsDecision.CLOSE: Look(_("closed it as rejected")),
        Verdict.REVISE: Look(_("requested a redo")),
        Verdict.PASS: Look(_("accepted it anyway")),
        Verdict.REJECT: Look(_("closed it as rejected")),
    },
    "reason_sentence": REVIEW_SENTENCES,
    # What a reviewer does with a verdict, by its referee.
    "agree": {
        "critic": Look(_("Agree with the critic")),
        "self": Look(_("Agree with the model")),
        ANY_OTHER: Look(_("Agree with the verdict")),
    },
    "agreed": {
        "critic": Look(_("agreed with the critic")),
        "self": Look(_("agreed with the model")),
        ANY_OTHER: Look(_("agreed with the verdict")),
    },
    "overruled": {
        "critic": Look(_("overruled the critic")),
        "self": Look(_("overruled the model")),
        ANY_OTHER: Look(_("overruled the verdict")),
    },
    "judge": {
        "critic": Look(_("the critic")),
        "self": Look(_("the model")),
        ANY_OTHER: Look(_("the verdict")),
    },
    "test_failure": {
        FailureReason.WRONG_ANSWER: Look(_("wrong answer")),
        FailureReason.EXCEPTION: Look(_("raised an error")),
        FailureReason.TIMEOUT: Look(_("timed out")),
        FailureReason.MEMORY: Look(_("used too much memory")),
        FailureReason.OUTPUT_LIMIT: Look(_("printed too much")),
        FailureReason.EXITED: Look(_("ended the program")),
        FailureReason.CRASHED: Look(_("crashed")),
        FailureReason.NOT_RUN: Look(_("was not run")),
        FailureReason.FORGED: Look(_("tried to fake its result")),
        FailureReason.BROKEN_TEST: Look(_("the test itself is invalid")),
    },
    # The parts of an answer that was thought through aloud.
    "thought": {
        "understand": Look(_("Understand")),
        "analyze": Look(_("Analyze")),
        "plan": Look(_("Plan")),
        "execute": Look(_("Execute")),
        "verify": Look(_("Verify")),
        "reasoning": Look(_("Reasoning")),
        "answer": Look(_("Answer")),
    },
    "remedy": {
        Remedy.FIX_AND_RETRY: Look(_("fix the parameters and retry")),
        Remedy.RETRY_LATER: Look(_("wait and retry")),
        Remedy.SWITCH_TOOL: Look(_("use another tool")),
        Remedy.ASK_PERSON: Look(_("ask a reviewer")),
        Remedy.SKIP: Look(_("skip it")),
    },
    "question": {
        QuestionKind.PERMISSION: Look(_("Permission needed")),
        QuestionKind.KNOWLEDGE: Look(_("Missing knowledge")),
        QuestionKind.REPAIR: Look(_("Repair needs a reviewer")),
        QuestionKind.TOOL_CALL: Look(_("Approve tool call")),
        ANY_OTHER: Look(_("Question")),
    },
    "choice": {
        Choice.TRY_AGAIN: Look(_("permission granted")),
        Choice.SKIP: Look(_("continue without it")),
        Choice.GIVE_UP: Look(_("give up")),
        Choice.ANSWER: Look(_("answered")),
        Choice.ALLOW: Look(_("approved the call")),
        Choice.REFUSE: Look(_("rejected the call")),
    },
    "finding": {
        Finding.REASONING_ERROR: Look(_("reasoning error")),
        Finding.TOOL_MISUSE: Look(_("tool misuse")),
        Finding.MISSED_OPTIMIZATION: Look(_("missed optimization")),
        Finding.INCOMPLETE_ANSWER: Look(_("incomplete answer")),
        Finding.HALLUCINATION: Look(_("hallucination")),
        Finding.CONTEXT_MISMANAGEMENT: Look(_("context mismanagement")),
        Finding.OTHER: Look(_("other")),
    },
    "tool": {
        "http": Look(_("HTTP")),
        "mcp": Look(_("MCP server")),
        "builtin": Look(_("built-in")),
    },
    "tool_effect": {
        ToolEffect.READ: Look(_("read-only")),
        ToolEffect.WRITE: Look(_("writes")),
        ToolEffect.EXTERNAL: Look(_("external action")),
        "auto": Look(_("automatic")),
    },
    # Why a call of a tool was made.
    "ground": {
        Ground.READS: Look(_("read-only")),
        Ground.SUBMITTED: Look(_("named by the task")),
        Ground.SETTING: Look(_("allowed by an admin")),
        Ground.SAVES_RESULT: Look(_("saves a result of this run")),
        Ground.TASK_WORDS: Look(_("requested by the task")),
        Ground.REVIEWER: Look(_("approved by a reviewer")),
    },
    # The decision on such a call: runs/permissions.py.
    "decided": {
        "allowed": Look(_("Approved")),
        "refused": Look(_("Refused")),
        "asked": Look(_("Waiting for a reviewer")),
        "not_asked": Look(_("Not called")),
    },
    # Kinds of the notebook's entries: within a sentence, of a report's proposals, and what one of them says.
    "entry_kind": {
        ProposalKind.LESSON: Look(_("lesson")),
        ProposalKind.ANTI_PATTERN: Look(_("anti-pattern")),
        ProposalKind.ERROR_NOTE: Look(_("error note")),
        ProposalKind.FIX_PAIR: Look(_("fix pair")),
        ProposalKind.RULE: Look(_("rule")),
        ProposalKind.FACT: Look(_("project fact")),
        "fact": Look(_("project fact")),
        ProposalKind.PREFERENCE: Look(_("preference")),
        ProposalKind.SUPPLEMENT: Look(_("follow-up step")),
    },
    "proposal": {
        ProposalKind.ANTI_PATTERN: Look(_("Anti-pattern")),
        ProposalKind.FACT: Look(_("Fact")),
        ProposalKind.ERROR_NOTE: Look(_("Error note")),
        ProposalKind.FIX_PAIR: Look(_("Fix pair")),
        ProposalKind.LESSON: Look("Lesson"),
        ProposalKind.RULE: Look("Rule"),
        ProposalKind.PREFERENCE: Look("Preference"),
        ProposalKind.SUPPLEMENT: Look("Supplement"),
    },
    "entry_hint": {
        ProposalKind.ERROR_NOTE: Look(_("What went wrong, why, and what to do instead")),
        ProposalKind.ANTI_PATTERN: Look(_("A failing approach, its symptoms, and how to prevent it")),
        ProposalKind.LESSON: Look(_("When it applies, and the advice")),
        ProposalKind.FIX_PAIR: Look(_("How a tool fails, and the fix that worked")),
        ProposalKind.RULE: Look(_("A rule that always applies in this project")),
        ProposalKind.FACT: Look(_("A project fact that an agent cannot guess")),
        ProposalKind.PREFERENCE: Look(_("How a person wants work done")),
        ProposalKind.SUPPLEMENT: Look(_("What an operation lacks, and the tools that provide it")),
    },
    "channel": {
        "on": Look(_("on"), "check", "good"),
        "failing": Look(_("failing"), "warning", "bad"),
        "off": Look(_("off"), "stop"),
    },
    "channel_message": {
        "waiting": Look(_("pending"), "clock"),
        "delivered": Look(_("delivered"), "check", "good"),
        "given_up": Look(_("failed"), "cross", "bad"),
        "obsolete": Look(_("no longer needed"), "check"),
    },
}


def look_of(value: str, kind: str) -> Look:
    """How `value` of the enum `kind` is shown; one that the enum does not have any more, as itself."""
    looks = REGISTRY[kind]
    return looks.get(value) or looks.get(ANY_OTHER) or Look(value)
