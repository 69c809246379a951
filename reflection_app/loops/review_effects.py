"""Effects that bring in a person on a verdict, and the chance by which some are looked at."""

from enum import StrEnum

from pydantic import Field, TypeAdapter

from reflection_app.loops.effect import Effect
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Feedback, Issue, Judgement, Referee, Score, Verdict


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
    BROKEN_TESTS = "broken_tests"
    AUDIT = "audit"
    CHECKPOINT = "checkpoint"
    POLICY = "policy"
    ASKED_FOR = "asked_for"
    ADJUDICATION = "adjudication"


class Decision(StrEnum):
    APPROVE = "approve"
    OVERRULE = "overrule"


class DirectorsDecision(StrEnum):
    """What a person can do about a REJECT. REDO overrules it with REVISE, ACCEPT with PASS, CLOSE approves it."""

    REDO = "redo"
    ACCEPT = "accept"
    CLOSE = "close"


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
    """Wait for a person's decision on a judgement; nothing is held meanwhile. `why` is shown to that person.

    `rule` is the number of the policy's rule that asks, from 1. Several `reviewers` judge without seeing each other's
    decisions; the result is what they agree on, or what one more person says where they do not.
    """

    kind = "ask_reviewer"
    results = TypeAdapter(ReviewDecision)

    judgement: Judgement
    reason: ReviewReason
    why: tuple[str, ...] = ()
    rule: int | None = Field(default=None, ge=1)
    reviewers: int = Field(default=1, ge=1)


class RequestAudit(Effect[None]):
    """Put a judgement before one or several people without waiting for the answer."""

    kind = "request_audit"
    results = TypeAdapter(None)

    judgement: Judgement
    reviewers: int = Field(default=1, ge=1)
