"""Effects that make attempts and find out what they are worth: model calls, tests, tools, the outside agent."""

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
    """What a model sent. `refusal` is in its own words, and `tool_calls` name the tools that it called.

    `reasoning` is what it thought, where its provider tells that beside the answer; no prompt ever has it again.

    `fault` is kept with the rest and never read out of it again: a run goes on from its journal as it once went.
    """

    text: str
    model: str
    finish_reason: str = ""
    refusal: Text = ""
    reasoning: Text = ""
    tool_calls: tuple[Text, ...] = ()
    fault: AnswerFault = AnswerFault.NONE


# What providers say of an answer in which the most tokens were reached, that their filter stopped, or that they call a
# refusal without a text of its own.
LENGTH, CONTENT_FILTER, REFUSAL = "length", "content_filter", "refusal"
STOP = "stop"
# The words by which providers say that an answer is whole. Any other word says that something broke it off.
WHOLE = frozenset(
    {STOP, "stop_sequence", "end_turn", "eos", "eos_token", "complete", "finish", "finished", "endoftext"}
    | {"tool_calls", "tool_use", "function_call"}
)


def means_whole(finish_reason: str) -> bool:
    """Return True if the provider's word says that the answer came to its end."""
    return finish_reason.strip().lower() in WHOLE


def fault_of(text: str, *, finish_reason: str = STOP, refusal: str = "", tool_calls: Sequence[str] = ()) -> AnswerFault:
    """What keeps the answer from being a whole one. Text beside a call of a tool is an answer."""
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
    """Ask the model of `role`. With `attempt`, the answer is that attempt's content, if it is a whole one.

    `room` is how many times the longest usual answer it may take, within `max_tokens`.
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

    `wanted` are names that a script uses and nobody defines, where it is for the code to define them.
    """

    kind = "run_tests"

    attempt: int
    code: str
    tests: CodeTests
    timeout_s: float = Field(gt=0)
    wanted: tuple[str, ...] | None = None


class InspectFiles(Effect[FilesInspected]):
    """Open the files that the work has produced so far, and hold them against what is required of them.

    With `attempt`, those that came with that attempt or stand in its text are among them. Their bytes are read when
    this is performed, and are no part of the journal.
    """

    kind = "inspect_files"

    attempt: int | None = None
    requirements: tuple[FileRequirement, ...] = ()
    is_written: bool = False
    timeout_s: float = Field(gt=0)


class CallTool(Effect[ToolResult]):
    """Call a tool of the project. A tool that fails is a result, not a failed effect.

    A call in flight at a crash is made again; tools are told the same idempotency key both times. So they are where a
    call `repeats` an earlier one, named by its step's key, that may have been carried out though nothing came back.

    `ground` says why it may be called. Only runs that began before calls were gated have calls without one.
    """

    kind = "call_tool"

    tool: str
    arguments: dict[str, JsonValue]
    timeout_s: float = Field(gt=0)
    attempt: int | None = None
    repeats: str = ""
    ground: Ground | None = Field(default=None, exclude_if=lambda ground: ground is None)


class RecordPermission(Effect[Permission]):
    """Record whether a call may be made, and why, before it is made or a reviewer is asked."""

    kind = "record_permission"

    permission: Permission


class KeepAttempt(Effect[None]):
    """Keep an attempt that no single model call made: arguments that came with the task, the outcome of a plan.

    One that is `cut_off` is the beginning of an answer and no whole attempt. With `edited_from`, a person, `edited_by`,
    wrote it out of the attempt of that number.
    """

    kind = "keep_attempt"

    attempt: int = Field(ge=1)
    content: str
    cut_off: bool = False
    edited_from: int | None = Field(default=None, ge=1)
    edited_by: str = ""


class HandedInRepair(Value):
    """The agent's result for step `step` (from 1) of the repair plan that it received."""

    step: int = Field(ge=1)
    status: RepairStatus
    output: Text = ""


class HandedIn(Value):
    """An attempt as the outside agent handed it in. `files` are the names of those that came with it."""

    content: Text
    artifacts: tuple[dict[str, JsonValue], ...] = ()
    self_check: dict[str, JsonValue] | None = None
    repairs: tuple[HandedInRepair, ...] = ()
    # Left out where there are none: what was recorded before files were looked at reads and is written as ever.
    files: tuple[Text, ...] = Field(default=(), exclude_if=lambda files: not files)


class AwaitAttempt(Effect[HandedIn]):
    """Wait for the outside agent's attempt; it is told `messages`, as a model would be. Nothing is held meanwhile."""

    kind = "await_attempt"

    attempt: int = Field(ge=1)
    messages: tuple[Message, ...]


class RecordVerdict(Effect[Judgement]):
    """Keep a judgement that was computed from results already recorded."""

    kind = "record_verdict"

    judgement: Judgement


class Pick(Value):
    """Which attempt to keep by evidence that a score alone does not tell, how sure that is, and why.

    `try_again`: another attempt may change it. `against`: tests that it does not pass and that nothing shows to be
    wrong; a run that ends on such a pick is unverified, however settled.
    """

    attempt: int = Field(ge=1)
    settled: bool
    try_again: bool = False
    confidence: Confidence
    reasons: tuple[str, ...] = ()
    against: tuple[str, ...] = ()


class RecordPick(Effect[Pick]):
    """Keep which attempt stands so far."""

    kind = "record_pick"

    pick: Pick


# Effects that bring in a person on a verdict, and the chance by which some are looked at.


class Drawn(Value):
    """A random draw, kept with its share so that a sample stays a sample."""

    value: float
    share: float

    @property
    def hit(self) -> bool:
        return self.value < self.share


class Draw(Effect[Drawn]):
    """Draw a number in [0, 1) to decide something that happens with probability `share`."""

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
    """That a person puts their own text in the attempt's place."""

    EDIT = "edit"


class DirectorsDecision(StrEnum):
    """Human decision on a REJECT. REDO overrules it with REVISE, ACCEPT with PASS; CLOSE approves it."""

    REDO = "redo"
    ACCEPT = "accept"
    CLOSE = "close"


class EditedAnswer(Value):
    """A person's own text in the place of the attempt's. It passes by that person's word, with what code found of it.

    `lowered` is what was expected of it, where that is less than the task has.
    """

    content: Text
    score: Score
    tests: TestReport | None = None
    requirements: RequirementsReport | None = None
    lowered: Lowered | None = None

    def judgement_of(self, attempt: int) -> Judgement:
        """The PASS of the attempt that it was kept as."""
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
    """What a person decided: the verdict that holds from now on, with score, issues and reason.

    `picked` names another attempt than the one that was asked about, where the person prefers that one. With `edited`,
    the verdict is on the attempt as it was, and the person's own text ends the run as its answer.
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
        """The decision as that person's judgement of `attempt`, or of the one that was picked instead."""
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
    """Wait for a person's decision on a judgement; nothing is held meanwhile. `why` is shown to that person.

    `rule` is the number of the policy's rule that asks, from 1. Several `reviewers` judge without seeing each other's
    decisions; the result is what they agree on, or what one more person says where they do not.
    """

    kind = "ask_reviewer"

    judgement: Judgement
    reason: ReviewReason
    why: tuple[str, ...] = ()
    rule: int | None = Field(default=None, ge=1)
    reviewers: int = Field(default=1, ge=1)


class RequestAudit(Effect[None]):
    """Put a judgement before one or several people without waiting for the answer."""

    kind = "request_audit"

    judgement: Judgement
    reviewers: int = Field(default=1, ge=1)


# Effects that wait: for a person's answer, or for time to pass. Nothing is held meanwhile.

LONGEST_WAIT_S = 86_400.0


class AskPerson(Effect[PersonsAnswer]):
    """Wait for a person's answer to a question. The run waits as `waiting_review`."""

    kind = "ask_person"

    question: Question
    attempt: int | None = None


class Wait(Effect[None]):
    """Wait until `delay_s` have passed since this was first asked for; `why` is shown."""

    kind = "wait"

    delay_s: float = Field(gt=0, le=LONGEST_WAIT_S)
    why: str = ""
    attempt: int | None = None
