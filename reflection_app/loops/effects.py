"""Effects: everything that a loop wants from the world."""

from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue, TypeAdapter

from reflection_app.loops.code_tests import CodeTests, TestReport
from reflection_app.loops.effect import Effect, EffectFailed, EffectTimedOut, Performed, Spent
from reflection_app.loops.messages import Message
from reflection_app.loops.plans import CheckedPlan, PlanStepOutcome
from reflection_app.loops.session_reflections import KeptReflection
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Confidence, Feedback, Issue, Judgement, Referee, Score, Text, Verdict

__all__ = [
    "AnyEffect",
    "AskReviewer",
    "AwaitAttempt",
    "AwaitTurns",
    "CallTool",
    "ChooseLoop",
    "Decision",
    "Draw",
    "Drawn",
    "Effect",
    "EffectFailed",
    "EffectTimedOut",
    "Generate",
    "Generation",
    "HandedIn",
    "KeepAttempt",
    "Performed",
    "Pick",
    "RecordPick",
    "RecordPlan",
    "RecordPlanStep",
    "RecordReflection",
    "RecordVerdict",
    "RequestAudit",
    "ReviewDecision",
    "ReviewReason",
    "Route",
    "RunTests",
    "Spent",
    "Turn",
    "Turns",
]


class Generation(Value):
    text: str
    model: str
    finish_reason: str = ""


class Generate(Effect[Generation]):
    """Ask the model of `role`. With `attempt`, the answer is that attempt's content."""

    kind = "generate"
    results = TypeAdapter(Generation)

    role: str
    messages: tuple[Message, ...]
    temperature: float = 0.7
    max_tokens: int = Field(ge=1)
    timeout_s: float = Field(gt=0)
    json_schema: dict[str, Any] | None = None
    attempt: int | None = None


class RunTests(Effect[TestReport]):
    """Run `code` against `tests` in the sandbox."""

    kind = "run_tests"
    results = TypeAdapter(TestReport)

    attempt: int
    code: str
    tests: CodeTests
    timeout_s: float = Field(gt=0)


class RecordVerdict(Effect[Judgement]):
    """Keep a judgement that was computed from results already recorded."""

    kind = "record_verdict"
    results = TypeAdapter(Judgement)

    judgement: Judgement


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
    results = TypeAdapter(Drawn)

    share: float


class ReviewReason(StrEnum):
    """Why a person is asked."""

    REJECTED = "rejected"
    LOW_CONFIDENCE = "low_confidence"
    UNSETTLED_PICK = "unsettled_pick"
    AUDIT = "audit"


class Decision(StrEnum):
    APPROVE = "approve"
    OVERRULE = "overrule"


class ReviewDecision(Value):
    """What a person decided: the verdict that holds from now on, with score, issues and reason.

    `picked` names another attempt than the one that was asked about, where the person prefers that one.
    """

    decision: Decision
    verdict: Verdict
    score: Score
    issues: tuple[Issue, ...] = ()
    reason: str = ""
    reviewer: str = ""
    picked: int | None = Field(default=None, ge=1)

    def judgement_of(self, attempt: int) -> Judgement:
        """The decision as that person's judgement of `attempt`, or of the one that was picked instead."""
        return Judgement(
            attempt=self.picked or attempt,
            referee=Referee.PERSON,
            verdict=self.verdict,
            score=self.score,
            issues=self.issues,
            feedback=Feedback(suggestions=(self.reason,) if self.reason.strip() else ()),
        )


class AskReviewer(Effect[ReviewDecision]):
    """Wait for a person's decision on a judgement; nothing is held meanwhile. `why` is shown to that person."""

    kind = "ask_reviewer"
    results = TypeAdapter(ReviewDecision)

    judgement: Judgement
    reason: ReviewReason
    why: tuple[str, ...] = ()


class RequestAudit(Effect[None]):
    """Put a judgement before a person without waiting for the answer."""

    kind = "request_audit"
    results = TypeAdapter(None)

    judgement: Judgement


class CallTool(Effect[ToolResult]):
    """Call a tool of the project. A tool that fails is a result, not a failed effect.

    A call in flight at a crash is made again; tools are told the same idempotency key both times.
    """

    kind = "call_tool"
    results = TypeAdapter(ToolResult)

    tool: str
    arguments: dict[str, JsonValue]
    timeout_s: float = Field(gt=0)
    attempt: int | None = None


class KeepAttempt(Effect[None]):
    """Keep an attempt that no single model call made: arguments that came with the task, the outcome of a plan."""

    kind = "keep_attempt"
    results = TypeAdapter(None)

    attempt: int = Field(ge=1)
    content: str


class HandedIn(Value):
    """An attempt as the outside agent handed it in."""

    content: Text
    artifacts: tuple[dict[str, JsonValue], ...] = ()
    self_check: dict[str, JsonValue] | None = None


class AwaitAttempt(Effect[HandedIn]):
    """Wait for the outside agent's attempt; it is told `messages`, as a model would be. Nothing is held meanwhile."""

    kind = "await_attempt"
    results = TypeAdapter(HandedIn)

    attempt: int = Field(ge=1)
    messages: tuple[Message, ...]


class Turn(Value):
    """One message of a recorded session, in the form of OpenAI's chat messages, as plain text."""

    seq: int = Field(ge=1)
    role: str
    content: Text = ""
    tool_name: Text = ""
    is_tool_failure: bool = False


class Turns(Value):
    turns: tuple[Turn, ...] = ()
    is_end: bool = False


class AwaitTurns(Effect[Turns]):
    """Wait until the session has `count` turns after number `after`, or ends, or (if asked) a tool fails in it."""

    kind = "await_turns"
    results = TypeAdapter(Turns)

    after: int = Field(ge=0)
    count: int = Field(ge=1)
    or_tool_failure: bool = False


class RecordReflection(Effect[KeptReflection]):
    """Keep a reflection on a session, or that there is none because the reflector failed."""

    kind = "record_reflection"
    results = TypeAdapter(KeptReflection)

    kept: KeptReflection


class Route(Value):
    """Which loop a task got, and why."""

    mode: Mode
    task_kind: str
    why: str = ""


class Pick(Value):
    """Which attempt to keep by evidence that a score alone does not tell, how sure that is, and why.

    `try_again`: another attempt may change it.
    """

    attempt: int = Field(ge=1)
    settled: bool
    try_again: bool = False
    confidence: Confidence
    reasons: tuple[str, ...] = ()


class RecordPick(Effect[Pick]):
    """Keep which attempt stands so far."""

    kind = "record_pick"
    results = TypeAdapter(Pick)

    pick: Pick


class RecordPlan(Effect[CheckedPlan]):
    """Keep a version of a plan with what is wrong with it."""

    kind = "record_plan"
    results = TypeAdapter(CheckedPlan)

    plan: CheckedPlan


class RecordPlanStep(Effect[PlanStepOutcome]):
    """Keep how a step of a plan ended."""

    kind = "record_plan_step"
    results = TypeAdapter(PlanStepOutcome)

    outcome: PlanStepOutcome


class ChooseLoop(Effect[Route]):
    """Keep which loop the task goes on with."""

    kind = "choose_loop"
    results = TypeAdapter(Route)

    route: Route


AnyEffect = (
    Generate
    | RunTests
    | CallTool
    | RecordVerdict
    | KeepAttempt
    | Draw
    | AskReviewer
    | RequestAudit
    | AwaitAttempt
    | AwaitTurns
    | RecordReflection
    | ChooseLoop
    | RecordPlan
    | RecordPlanStep
    | RecordPick
)
