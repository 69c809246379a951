"""Effects that make and evaluate attempts: model calls, tests, tools, the external agent."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue

from desk_sandbox.code_tests import CodeTests, TestReport
from reflection_app.loops.completeness.files import FileRequirement, FilesInspected
from reflection_app.loops.effect import Effect
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.questions import PersonsAnswer, Question
from reflection_app.loops.requirements import Lowered, RequirementsReport
from reflection_app.loops.rubrics import Ratings, shortcomings
from reflection_app.loops.storable import Text
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.loops.tool_permission import Ground, Permission
from reflection_app.loops.values import Message, Value
from reflection_app.loops.verdicts import Confidence, Feedback, Issue, Judgement, Referee, Score, Verdict


class AnswerFault(StrEnum):
    """Reason a model's output is not a complete answer; empty if it is complete."""

    NONE = ""
    EMPTY = "empty"
    REFUSED = "refused"
    FILTERED = "filtered"
    TOOL_CALL = "tool_call"
    CUT_OFF = "cut_off"


class Generation(Value):
    """Model output. `refusal` is the model's own text; `tool_calls` names the tools it called.

    `reasoning` is the model's reasoning, if its provider returns it separately. No prompt ever contains it.

    `fault` is stored and never recomputed: a replayed run must repeat what its journal recorded.
    """

    text: str
    model: str
    finish_reason: str = ""
    refusal: Text = ""
    reasoning: Text = ""
    tool_calls: tuple[Text, ...] = ()
    fault: AnswerFault = AnswerFault.NONE


# Finish reasons for: token limit reached, stopped by the provider's filter, refused without a refusal text.
LENGTH, CONTENT_FILTER, REFUSAL = "length", "content_filter", "refusal"
STOP = "stop"
# Finish reasons that mean a complete answer. Any other one means that the output was interrupted.
WHOLE = frozenset(
    {STOP, "stop_sequence", "end_turn", "eos", "eos_token", "complete", "finish", "finished", "endoftext"}
    | {"tool_calls", "tool_use", "function_call"}
)


def means_whole(finish_reason: str) -> bool:
    """Return True if the finish reason says that the answer is complete."""
    return finish_reason.strip().lower() in WHOLE


def fault_of(text: str, *, finish_reason: str = STOP, refusal: str = "", tool_calls: Sequence[str] = ()) -> AnswerFault:
    """Return why the answer is not complete. Text next to a tool call is an answer."""
    if refusal.strip() or finish_reason == REFUSAL:
        return AnswerFault.REFUSED
    if finish_reason == CONTENT_FILTER:
        return AnswerFault.FILTERED
    if not means_whole(finish_reason):
        return AnswerFault.CUT_OFF
    if text.strip():
        return AnswerFault.NONE
    return AnswerFault.TOOL_CALL if tool_calls else AnswerFault.EMPTY


USUAL_TEMPERATURE = 0.7


class Generate(Effect[Generation]):
    """Call the model of `role`. With `attempt`, a complete answer becomes that attempt's content.

    `room` multiplies the usual maximum answer length, within `max_tokens`.
    """

    kind = "generate"

    role: str
    messages: tuple[Message, ...]
    temperature: float = USUAL_TEMPERATURE
    top_p: float | None = None
    max_tokens: int = Field(ge=1)
    timeout_s: float = Field(gt=0)
    json_schema: dict[str, Any] | None = None
    attempt: int | None = None
    room: int = Field(default=1, ge=1)


class RunTests(Effect[TestReport]):
    """Run `code` against `tests` in the sandbox.

    `wanted` lists undefined names that a test script uses and that the code must define.
    """

    kind = "run_tests"

    attempt: int
    code: str
    tests: CodeTests
    timeout_s: float = Field(gt=0)
    wanted: tuple[str, ...] | None = None


class InspectFiles(Effect[FilesInspected]):
    """Open the files produced so far and check them against the requirements.

    With `attempt`, files submitted with that attempt or written in its text are included. File content is read when the
    effect runs, and is not stored in the journal.
    """

    kind = "inspect_files"

    attempt: int | None = None
    requirements: tuple[FileRequirement, ...] = ()
    is_written: bool = False
    timeout_s: float = Field(gt=0)


class CallTool(Effect[ToolResult]):
    """Call a tool of the project. A failing tool is a result, not a failed effect.

    A call in flight at a crash is made again with the same idempotency key. A call that `repeats` an earlier one also
    uses that call's key, because the earlier one may have been executed without a reply. `repeats` is its effect key.

    `ground` is the reason why the call is permitted. Only runs started before calls were gated lack one.
    """

    kind = "call_tool"

    tool: str
    arguments: dict[str, JsonValue]
    timeout_s: float = Field(gt=0)
    attempt: int | None = None
    repeats: str = ""
    ground: Ground | None = Field(default=None, exclude_if=lambda ground: ground is None)


class RecordPermission(Effect[Permission]):
    """Record a permission decision and its reason, before the call or the review request."""

    kind = "record_permission"

    permission: Permission


class KeepAttempt(Effect[None]):
    """Store an attempt that did not come from one model call, such as given arguments or a plan's outcome.

    With `cut_off`, the content is the start of a truncated answer. With `edited_from`, the person `edited_by` wrote it
    by editing the attempt of that number.
    """

    kind = "keep_attempt"

    attempt: int = Field(ge=1)
    content: str
    cut_off: bool = False
    edited_from: int | None = Field(default=None, ge=1)
    edited_by: str = ""


class HandedInRepair(Value):
    """The agent's result for step `step` (from 1) of the repair plan it received."""

    step: int = Field(ge=1)
    status: RepairStatus
    output: Text = ""


class HandedIn(Value):
    """An attempt submitted by the external agent. `files` are the names of the submitted files."""

    content: Text
    artifacts: tuple[dict[str, JsonValue], ...] = ()
    self_check: dict[str, JsonValue] | None = None
    repairs: tuple[HandedInRepair, ...] = ()
    # Excluded when empty, so records from before file inspection read and serialize unchanged.
    files: tuple[Text, ...] = Field(default=(), exclude_if=lambda files: not files)


class AwaitAttempt(Effect[HandedIn]):
    """Wait for the external agent's attempt; `messages` are sent to it as to a model.

    No worker or lock is held while waiting.
    """

    kind = "await_attempt"

    attempt: int = Field(ge=1)
    messages: tuple[Message, ...]


class RecordVerdict(Effect[Judgement]):
    """Store a judgement computed from results that are already recorded."""

    kind = "record_verdict"

    judgement: Judgement


class Pick(Value):
    """The attempt to retain, chosen by evidence beyond scores, with confidence and reasons.

    `try_again`: another attempt may change the choice. `against`: tests that the attempt fails and that nothing shows
    to be wrong. A run that ends on such a pick is unverified, even if it is settled.
    """

    attempt: int = Field(ge=1)
    settled: bool
    try_again: bool = False
    confidence: Confidence
    reasons: tuple[str, ...] = ()
    against: tuple[str, ...] = ()


class RecordPick(Effect[Pick]):
    """Store which attempt is currently the best."""

    kind = "record_pick"

    pick: Pick


# Effects that request a review of a verdict, and the random draws for samples.


class Drawn(Value):
    """A random draw, stored with its share so that the sample stays reproducible."""

    value: float
    share: float

    @property
    def hit(self) -> bool:
        return self.value < self.share


class Draw(Effect[Drawn]):
    """Draw a number in [0, 1) to decide an event of probability `share`."""

    kind = "draw"

    share: float


class ReviewReason(StrEnum):
    """Reason for the review request."""

    REJECTED = "rejected"
    LOW_CONFIDENCE = "low_confidence"
    UNSETTLED_PICK = "unsettled_pick"
    BROKEN_TESTS = "broken_tests"
    AUDIT = "audit"
    CHECKPOINT = "checkpoint"
    POLICY = "policy"
    ASKED_FOR = "asked_for"
    ADJUDICATION = "adjudication"
    REQUIRED = "required"


class Decision(StrEnum):
    APPROVE = "approve"
    OVERRULE = "overrule"


class EditDecision(StrEnum):
    """The reviewer replaces the attempt with their own text."""

    EDIT = "edit"


class DirectorsDecision(StrEnum):
    """Decision on a REJECT. REDO overrules it with REVISE, ACCEPT with PASS; CLOSE confirms it."""

    REDO = "redo"
    ACCEPT = "accept"
    CLOSE = "close"


class EditedAnswer(Value):
    """A reviewer's text that replaces the attempt's. It passes by the reviewer's decision.

    `tests` and `requirements` hold what code found when it checked the text. `lowered` holds the reduced requirements,
    if the task's were reduced.
    """

    content: Text
    score: Score
    tests: TestReport | None = None
    requirements: RequirementsReport | None = None
    lowered: Lowered | None = None

    def judgement_of(self, attempt: int) -> Judgement:
        """Return the PASS for the attempt under which the text was stored."""
        return Judgement(
            attempt=attempt,
            referee=Referee.PERSON,
            verdict=Verdict.PASS,
            score=self.score,
            tests=self.tests,
            requirements=self.requirements,
            lowered=self.lowered,
        )


class ReviewDecision(Value):
    """A reviewer's decision: the verdict that now applies, with score, issues and reason.

    `picked` names another attempt that the reviewer prefers. With `edited`, the verdict concerns the original attempt,
    and the reviewer's own text becomes the run's final answer.
    """

    decision: Decision
    verdict: Verdict
    score: Score
    issues: tuple[Issue, ...] = ()
    reason: str = ""
    reviewer: str = ""
    picked: int | None = Field(default=None, ge=1)
    ratings: Ratings = ()
    edited: EditedAnswer | None = None

    def judgement_of(self, attempt: int) -> Judgement:
        """Return the decision as a judgement of `attempt`, or of the attempt picked instead."""
        return Judgement(
            attempt=self.picked or attempt,
            referee=Referee.PERSON,
            verdict=self.verdict,
            score=self.score,
            issues=self.issues,
            feedback=Feedback(
                weaknesses=shortcomings(self.ratings), suggestions=(self.reason,) if self.reason.strip() else ()
            ),
            ratings=self.ratings,
        )


class AskReviewer(Effect[ReviewDecision]):
    """Wait for a reviewer's decision on a judgement. `why` is shown to the reviewer.

    No worker or lock is held while waiting. `rule` is the number of the policy rule that applies, from 1. Several
    `reviewers` decide without seeing each other's decisions. The result is their consensus, or the decision of one more
    reviewer if they disagree.
    """

    kind = "ask_reviewer"

    judgement: Judgement
    reason: ReviewReason
    why: tuple[str, ...] = ()
    rule: int | None = Field(default=None, ge=1)
    reviewers: int = Field(default=1, ge=1)


class RequestAudit(Effect[None]):
    """Request a review by one or several reviewers without waiting for the decision."""

    kind = "request_audit"

    judgement: Judgement
    reviewers: int = Field(default=1, ge=1)


# Effects that wait for a reviewer's answer or for time to pass. No worker or lock is held meanwhile.

LONGEST_WAIT_S = 86_400.0


class AskPerson(Effect[PersonsAnswer]):
    """Wait for a reviewer's answer to a question. The run's status is `waiting_review` meanwhile."""

    kind = "ask_person"

    question: Question
    attempt: int | None = None


class Wait(Effect[None]):
    """Wait until `delay_s` seconds have passed since the first request; `why` is shown to users."""

    kind = "wait"

    delay_s: float = Field(gt=0, le=LONGEST_WAIT_S)
    why: str = ""
    attempt: int | None = None
