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
    Outcome.EXHAUSTED: Look(_("Attempts used up"), "repeat", "warn"),
    Outcome.OVER_BUDGET: Look(_("Over budget"), "coin", "warn"),
    Outcome.TIMED_OUT: Look(_("Out of time"), "clock", "warn"),
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
    "occurrence_process": Look(_("How it came about")),
    "questions": Look(_("Questions")),
    "description": Look(_("Description")),
    "path": Look(_("Path")),
    "repair_steps": Look(_("Repair steps")),
    "resources_needed": Look(_("Resources")),
    "remediation": Look(_("Remedy")),
    "instruction": Look(_("Instruction for the agent")),
    "hint": Look(_("Hint for the next start")),
    "expected_score": Look(_("Score expected")),
    "lowered": Look(_("Expected of it")),
    "anti_pattern": Look(_("Anti-pattern")),
    "learning_notes": Look(_("Learned")),
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
    "rejected self": Look(_("The model rejected its own work")),
    "rejected critic": Look(_("The critic rejected it")),
    ReviewReason.REJECTED: Look(_("It was rejected")),
    "low_confidence self": Look(_("The model is not sure of its own verdict")),
    "low_confidence critic": Look(_("The critic is not sure")),
    ReviewReason.LOW_CONFIDENCE: Look(_("The verdict is not sure")),
    ReviewReason.UNSETTLED_PICK: Look(_("The evidence does not settle which attempt to keep")),
    ReviewReason.BROKEN_TESTS: Look(_("Tests of the task are broken: they say nothing of the work")),
    ReviewReason.CHECKPOINT: Look(_("A checkpoint for a person")),
    ReviewReason.POLICY: Look(_("A rule of the policy asks for it")),
    ReviewReason.ASKED_FOR: Look(_("Somebody asked for it")),
    ReviewReason.ADJUDICATION: Look(_("The reviewers do not agree")),
    ReviewReason.REQUIRED: Look(_("The task requires a review")),
    ReviewReason.AUDIT: Look(_("Random check of a verdict")),
}
REGISTRY: dict[str, Looks] = {
    "outcome": OUTCOMES,
    # What became of a run that was not accepted, in a sentence.
    "outcome_sentence": {
        Outcome.UNVERIFIED: Look(_("There is an answer, but nothing could check it.")),
        Outcome.EXHAUSTED: Look(_("All attempts were used and none was accepted.")),
        Outcome.TIMED_OUT: Look(_("The run stopped because its time was up.")),
        Outcome.OVER_CORRECTED: Look(_("Further attempts made it worse, so the run stopped.")),
        Outcome.REJECTED: Look(_("The work was rejected.")),
        Outcome.CANCELLED: Look(_("Somebody cancelled the run.")),
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
    },
    # By the label of a Referee; "requirements" are those of its tests that code checks.
    "referee": {
        "self": Look(_("The model itself")),
        "critic": Look(_("Critic")),
        "generated_tests": Look(_("Tests by a model")),
        "tool": Look(_("Check")),
        "tests": Look(_("Tests")),
        "requirements": Look(_("Minimum requirements")),
        "person": Look(_("Person")),
        "unjudged": Look(_("Not judged")),
    },
    "reason": {
        ReviewReason.REJECTED: Look(_("Rejected")),
        ReviewReason.LOW_CONFIDENCE: Look(_("Low confidence")),
        ReviewReason.UNSETTLED_PICK: Look(_("Unsettled pick")),
        ReviewReason.BROKEN_TESTS: Look(_("Broken tests")),
        ReviewReason.AUDIT: Look(_("Audit sample")),
        ReviewReason.CHECKPOINT: Look(_("Checkpoint")),
        ReviewReason.POLICY: Look(_("Policy")),
        ReviewReason.ASKED_FOR: Look(_("Asked for")),
        ReviewReason.ADJUDICATION: Look(_("Adjudication")),
        ReviewReason.REQUIRED: Look(_("Required")),
    },
    "bulk": {
        "running": Look(_("Under way")),
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
        Trigger.CRITIC_EVALUATION: Look(_("The critic's verdict")),
        Trigger.FAILED_REQUIREMENT: Look(_("A minimum requirement that does not hold")),
        Trigger.FAILED_CHECK: Look(_("A check that failed")),
        Trigger.SELF_CHECK: Look(_("The agent's own check")),
        Trigger.PERSONS_REVIEW: Look(_("A person's review")),
        Trigger.PERSONS_ORDER: Look(_("A person's order")),
        Trigger.INTERRUPTION: Look(_("An interruption")),
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
        ErrorType.EXTERNAL_SERVICE_ERROR: Look(_("service failed")),
    },
    "check": {
        CheckState.COMPLETE: Look(_("nothing missing"), "check", "mark-good"),
        CheckState.INCOMPLETE: Look(_("something missing"), "warning", "mark-warn"),
        CheckState.SUPPLEMENTED: Look(_("completed by supplement"), "check", "mark-good"),
        CheckState.UNCHECKED: Look(_("not checked"), "question", "muted"),
    },
    "settings_from": {
        SettingsFrom.TASK: Look(_("Checked as the task itself says.")),
        SettingsFrom.PROJECT: Look(_("Checked as the project has it.")),
        SettingsFrom.DESK: Look(_("Checked as the desk has it.")),
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
        FileKind.IMAGE: Look(_("picture")),
        FileKind.SOUND: Look(_("sound")),
        FileKind.ARCHIVE: Look(_("archive")),
        FileKind.SOURCE: Look(_("source code")),
        FileKind.TEXT: Look(_("text")),
        FileKind.OTHER: Look(_("of another kind")),
    },
    "file_fault": {
        FaultCode.NOT_THERE: Look(_("There is no such file.")),
        FaultCode.TOO_FEW: Look(_("There are too few such files.")),
        FaultCode.EMPTY: Look(_("It is empty.")),
        FaultCode.OTHER_KIND: Look(_("It is of another kind than required.")),
        FaultCode.OTHER_ENDING: Look(_("Its content is not what its name says.")),
        FaultCode.TRUNCATED: Look(_("It breaks off before its end.")),
        FaultCode.UNREADABLE: Look(_("It cannot be opened.")),
        FaultCode.ENCRYPTED: Look(_("It is encrypted.")),
        FaultCode.ENCODING: Look(_("Its encoding is broken.")),
        FaultCode.SYNTAX: Look(_("It cannot be parsed.")),
        FaultCode.TORN_ROW: Look(_("A row has another number of fields than the others.")),
        FaultCode.BAD_LINE: Look(_("A line cannot be parsed.")),
        FaultCode.NO_TEXT: Look(_("It has no text.")),
        FaultCode.SCHEMA: Look(_("Its data does not fit the schema.")),
        FaultCode.MISSING_COLUMN: Look(_("A column is missing.")),
        FaultCode.MISSING_SHEET: Look(_("A sheet is missing.")),
        FaultCode.MISSING_SECTION: Look(_("A section is missing.")),
        FaultCode.MISSING_ENTRY: Look(_("An entry is missing.")),
        FaultCode.TOO_FEW_ROWS: Look(_("It has too few rows.")),
        FaultCode.TOO_FEW_PAGES: Look(_("It has too few pages.")),
        FaultCode.TOO_FEW_WORDS: Look(_("It has too few words.")),
        FaultCode.TOO_SMALL: Look(_("It is too small.")),
        FaultCode.BROKEN_LINK: Look(_("A link in it leads nowhere.")),
        FaultCode.FORMULA_ERROR: Look(_("A formula in it comes to an error.")),
        FaultCode.UNFOLDS: Look(_("It unfolds to far more than it says.")),
        FaultCode.UNSAFE_ENTRY: Look(_("An entry in it would be written outside of its folder.")),
        FaultCode.TOO_LARGE: Look(_("It is too large to be looked at.")),
        FaultCode.TOO_SLOW: Look(_("Looking at it took too long.")),
    },
    # Whether a produced file shows what it must, by a model that looked at it. That nobody looked is never good.
    "holds": {
        Holds.YES: Look(_("seen"), "check", "mark-good"),
        Holds.NO: Look(_("not there"), "warning", "mark-warn"),
        Holds.CANNOT_TELL: Look(_("cannot be told"), "question", "muted"),
        Holds.NOT_LOOKED_AT: Look(_("nobody looked"), "question", "muted"),
    },
    "why_not_seen": {
        WhyNotLooked.NO_MODEL: Look(_("Nobody looked: no model that sees is configured (LLM_VISION_MODEL).")),
        WhyNotLooked.NO_PAGES: Look(_("Nobody looked: files of this kind have no pages that could be shown.")),
        WhyNotLooked.NOT_RENDERED: Look(_("Nobody looked: no picture could be made of its pages.")),
        WhyNotLooked.TOO_MANY: Look(_("Nobody looked: so many files are not looked at in one check.")),
        WhyNotLooked.LIMIT: Look(_("Nobody looked: a limit of the run was reached.")),
        WhyNotLooked.MODEL_FAILED: Look(_("Nobody looked: the model could not be asked.")),
        WhyNotLooked.NO_ANSWER: Look(_("The model that looked gave no answer that can be used.")),
    },
    "why_not_looked": {
        WhyNot.NO_SANDBOX: Look(_("There is no sandbox here to open it in.")),
        WhyNot.NO_LIBRARY: Look(_("The library that reads it is not installed here.")),
        WhyNot.NO_READER: Look(_("Nothing here reads this format.")),
        WhyNot.NO_TIME: Look(_("The time for all files was up.")),
    },
    # The tone is the state of a plan's step that it looks like.
    "supplement": {
        "done": Look(_("done"), "check", "done"),
        "done_already": Look(_("done before, so not done again"), "check", "done"),
        "failed": Look(_("failed"), "warning", "failed"),
        "under_way": Look(_("under way"), "running", "running"),
        "not_tried": Look(_("not tried"), "cross", "waiting"),
        "not_reached": Look(_("not reached"), "cross", "waiting"),
        "left_out": Look(_("left out"), "coin", "waiting"),
        "advice": Look(_("suggested"), "info", "waiting"),
    },
    # Why a check left something out. What stands in brackets is a parameter.
    "dropped": {
        DropCode.NAMES_NOTHING: Look(_("It names no operation.")),
        DropCode.TWICE: Look(_("It was suggested twice.")),
        DropCode.DONE_ALREADY: Look(_("It is done already, and the task does not ask for it to be done again.")),
        DropCode.UNRELATED: Look(_("It has nothing to do with what the task says.")),
        DropCode.NO_TOOL: Look(_("None of the tools that it names is for it.")),
        DropCode.NOT_MISSING: Look(_("The check says that nothing is missing.")),
        DropCode.CHECK_ONLY: Look(_("This check only looks: no supplements are carried out.")),
        DropCode.TOO_MANY: Look(_("Only the best %(most)s are carried out.")),
        DropCode.UNKNOWN_TOOL: Look(_("There is no tool “%(name)s” on the list.")),
        DropCode.UNFIT_TOOL: Look(_("The tool “%(name)s” is not for it.")),
        DropCode.PRICE_UNKNOWN: Look(_("The model has no known price, so a limit of money could not be kept.")),
        DropCode.MONEY_SPENT: Look(_("The check's money was spent before it was begun.")),
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
        "failed": Look(_("not all worked"), "warning"),
        "stopped": Look(_("the run ended here"), "warning"),
        "again": Look(_("needs another iteration"), "repeat"),
        "now": Look(_("now"), "running"),
        "to_come": Look(_("to come"), "clock"),
        "not_reached": Look(_("not reached"), "cross"),
    },
    "stage_repair": {
        RepairStatus.COMPLETED: Look("completed", "check"),
        RepairStatus.WRITTEN: Look(_("written, not verified"), "question"),
        RepairStatus.FAILED: Look("failed", "warning"),
        RepairStatus.SKIPPED: Look("skipped", "cross"),
        RepairStatus.PENDING: Look(_("the agent said nothing of it"), "clock"),
        "now": Look("now", "running"),
        "to_come": Look(_("to come"), "clock"),
        "not_reached": Look(_("not reached"), "cross"),
    },
    "step": STEP_STATES,
    "entry": {
        "proposed": Look(_("proposed, not accepted yet")),
        "screened": Look(_("screened, not accepted yet")),
        "approved": Look(_("accepted")),
    },
    # What was decided of a REJECT, by the decision or by the verdict that it comes down to.
    "directed": {
        DirectorsDecision.REDO: Look(_("ordered it to be done again")),
        DirectorsDecision.ACCEPT: Look(_("accepted it all the same")),
        DirectorsDecision.CLOSE: Look(_("closed it as rejected")),
        Verdict.REVISE: Look(_("ordered it to be done again")),
        Verdict.PASS: Look(_("accepted it all the same")),
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
        FailureReason.TIMEOUT: Look(_("took too long")),
        FailureReason.MEMORY: Look(_("used too much memory")),
        FailureReason.OUTPUT_LIMIT: Look(_("printed too much")),
        FailureReason.EXITED: Look(_("ended the program")),
        FailureReason.CRASHED: Look(_("crashed")),
        FailureReason.NOT_RUN: Look(_("was not run")),
        FailureReason.FORGED: Look(_("tried to fake its result")),
        FailureReason.BROKEN_TEST: Look(_("the test itself is broken")),
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
        Remedy.ASK_PERSON: Look(_("ask a person")),
        Remedy.SKIP: Look(_("skip it")),
    },
    "question": {
        QuestionKind.PERMISSION: Look(_("A permission is needed")),
        QuestionKind.KNOWLEDGE: Look(_("Knowledge is missing")),
        QuestionKind.REPAIR: Look(_("A repair needs a person")),
        QuestionKind.TOOL_CALL: Look(_("Allow a tool call")),
        ANY_OTHER: Look(_("A question")),
    },
    "choice": {
        Choice.TRY_AGAIN: Look(_("it is allowed now")),
        Choice.SKIP: Look(_("go on without it")),
        Choice.GIVE_UP: Look(_("give up")),
        Choice.ANSWER: Look(_("answered")),
        Choice.ALLOW: Look(_("allowed the call")),
        Choice.REFUSE: Look(_("refused the call")),
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
        "builtin": Look(_("built in")),
    },
    "tool_effect": {
        ToolEffect.READ: Look(_("reads")),
        ToolEffect.WRITE: Look(_("writes")),
        ToolEffect.EXTERNAL: Look(_("acts outside")),
        "auto": Look(_("automatic")),
    },
    # Why a call of a tool was made.
    "ground": {
        Ground.READS: Look(_("it only reads")),
        Ground.SUBMITTED: Look(_("the task names this call")),
        Ground.SETTING: Look(_("an admin allowed the tool")),
        Ground.SAVES_RESULT: Look(_("it saves a result of this run")),
        Ground.TASK_WORDS: Look(_("the task asks for it")),
        Ground.REVIEWER: Look(_("a reviewer allowed it")),
    },
    # The decision on such a call: runs/permissions.py.
    "decided": {
        "allowed": Look(_("Allowed")),
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
        ProposalKind.SUPPLEMENT: Look(_("supplement")),
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
        ProposalKind.ERROR_NOTE: Look(_("What went wrong, its cause, and what to do instead")),
        ProposalKind.ANTI_PATTERN: Look(_("A way of working that fails, how it shows, and how to prevent it")),
        ProposalKind.LESSON: Look(_("When something applies, and the advice")),
        ProposalKind.FIX_PAIR: Look(_("How a tool fails, and the fix that worked")),
        ProposalKind.RULE: Look(_("What always holds in this project")),
        ProposalKind.FACT: Look(_("Something true of this project that an agent cannot guess")),
        ProposalKind.PREFERENCE: Look(_("How somebody wants things done")),
        ProposalKind.SUPPLEMENT: Look(_("What an operation lacks, and the tools that supply it")),
    },
    "channel": {
        "on": Look(_("on"), "check", "good"),
        "failing": Look(_("nothing arrives"), "warning", "bad"),
        "off": Look(_("off"), "stop"),
    },
    "channel_message": {
        "waiting": Look(_("pending"), "clock"),
        "delivered": Look(_("delivered"), "check", "good"),
        "given_up": Look(_("failed"), "cross", "bad"),
        "obsolete": Look(_("not needed any more"), "check"),
    },
}


def look_of(value: str, kind: str) -> Look:
    """How `value` of the enum `kind` is shown; one that the enum does not have any more, as itself."""
    looks = REGISTRY[kind]
    return looks.get(value) or looks.get(ANY_OTHER) or Look(value)
