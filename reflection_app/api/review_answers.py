"""Reviews as REST tells them: the attempt, the verdict on it, who holds it and what was decided."""

from uuid import UUID

from django.db.models import QuerySet
from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer, PageAnswer
from reflection_app.api.journal_answers import VerdictAnswer, verdict_answer
from reflection_app.loops.effects import Decision, ReviewReason
from reflection_app.models import Review, ReviewState


class ReviewedAttempt(Answer):
    number: int
    content: str


class DecisionAnswer(Answer):
    """What a person decided, and the verdict that has held since."""

    decision: Decision
    verdict: VerdictAnswer | None
    reason: str
    decided_by: str
    decided_at: AwareDatetime


class ReviewAnswer(Answer):
    """A verdict that is put before a person."""

    id: UUID
    run_id: UUID
    attempt: ReviewedAttempt
    verdict: VerdictAnswer = Field(description="the verdict to be approved or overruled")
    reason: ReviewReason = Field(description="why a person is asked")
    state: ReviewState
    holder: str | None
    lease_until: AwareDatetime | None = Field(description="a claimed review whose lease ran out can be claimed again")
    created_at: AwareDatetime
    decision: DecisionAnswer | None


class ReviewPage(PageAnswer):
    results: list[ReviewAnswer]


class ClaimAnswer(Answer):
    """The review that is yours now. The token goes with the heartbeat, the decision and the release."""

    review: ReviewAnswer
    lease_token: UUID


class HeartbeatAnswer(Answer):
    lease_until: AwareDatetime


def reviews_to_show(reviews: QuerySet[Review]) -> QuerySet[Review]:
    """`reviews` with all that an answer needs of other tables."""
    return reviews.select_related("attempt", "verdict__given_by", "decided_verdict__given_by")


def review_answer(review: Review) -> ReviewAnswer:
    return ReviewAnswer(
        id=review.pk,
        run_id=review.run_id,
        attempt=ReviewedAttempt(number=review.attempt.number, content=review.attempt.content),
        verdict=verdict_answer(review.verdict),
        reason=ReviewReason(review.reason),
        state=ReviewState(review.state),
        holder=review.holder_label or None,
        lease_until=review.lease_until,
        created_at=review.created_at,
        decision=_decision_answer(review),
    )


def _decision_answer(review: Review) -> DecisionAnswer | None:
    if review.decision is None or review.decided_at is None:
        return None
    return DecisionAnswer(
        decision=Decision(review.decision),
        verdict=verdict_answer(review.decided_verdict) if review.decided_verdict else None,
        reason=review.decision_reason,
        decided_by=review.decided_by_label,
        decided_at=review.decided_at,
    )
