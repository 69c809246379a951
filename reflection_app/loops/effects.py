"""Effects: everything that a loop wants from the world, as frozen values that it awaits.

Awaiting an effect hands it to whoever drives the loop (see runner/advance.py) and gives back what was performed, fresh
or from the journal. `key` names the effect within its run and must not depend on anything but the loop's own path.
"""

from collections.abc import Generator
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import Field, TypeAdapter

from reflection_app.loops.code_tests import CodeTests, TestReport
from reflection_app.loops.messages import Message
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Feedback, Issue, Judgement, Referee, Score, Verdict


class Spent(Value):
    """What one effect used up. Where the model has no known price, `cost_usd` is 0 and `cost_known` says so."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    cost_known: bool = True
    duration_s: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class Performed[R](Value):
    """An effect's result and what it cost."""

    value: R
    spent: Spent = Spent()


class EffectFailed(Exception):
    """The effect failed for good; trying it again would not help."""

    def __init__(self, message: str, *, spent: Spent | None = None) -> None:
        super().__init__(message)
        self.spent = spent or Spent()


class EffectTimedOut(EffectFailed):
    """The effect was cut off because the run's own time was up."""


class Effect[R](Value):
    """Base of all effects. `results` reads and writes this effect's result as JSON, for the journal."""

    kind: ClassVar[str]
    results: ClassVar[TypeAdapter[Any]]

    key: str = Field(max_length=200)

    def __await__(self) -> Generator["Effect[R]", Performed[R], Performed[R]]:
        return (yield self)


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
    AUDIT = "audit"


class Decision(StrEnum):
    APPROVE = "approve"
    OVERRULE = "overrule"


class ReviewDecision(Value):
    """What a person decided: the verdict that holds from now on, with score, issues and reason."""

    decision: Decision
    verdict: Verdict
    score: Score
    issues: tuple[Issue, ...] = ()
    reason: str = ""
    reviewer: str = ""

    def judgement_of(self, attempt: int) -> Judgement:
        """The decision as that person's judgement of an attempt."""
        return Judgement(
            attempt=attempt,
            referee=Referee.PERSON,
            verdict=self.verdict,
            score=self.score,
            issues=self.issues,
            feedback=Feedback(suggestions=(self.reason,) if self.reason.strip() else ()),
        )


class AskReviewer(Effect[ReviewDecision]):
    """Wait for a person's decision on a judgement; nothing is held meanwhile."""

    kind = "ask_reviewer"
    results = TypeAdapter(ReviewDecision)

    judgement: Judgement
    reason: ReviewReason


class RequestAudit(Effect[None]):
    """Put a judgement before a person without waiting for the answer."""

    kind = "request_audit"
    results = TypeAdapter(None)

    judgement: Judgement


AnyEffect = Generate | RunTests | RecordVerdict | Draw | AskReviewer | RequestAudit
