"""Reviews as REST tells them: the attempt, the verdict on it, who holds it and what was decided."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from pydantic import AwareDatetime, Field

from reflection_app.api.reading import Answer, PageAnswer, TextOrNull, Username
from reflection_app.core.audit import Actor
from reflection_app.loops.attempt_effects import Decision, DirectorsDecision, ReviewReason
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.goals import review_due
from reflection_app.reviews.models import About, PanelState, Review, ReviewState, is_hidden
from reflection_app.runs.answers import VerdictAnswer, decisive_scores
from reflection_app.runs.models import Attempt

# Panels as REST tells them: how many have spoken, and what they said once all have.


class OpinionAnswer(Answer):
    """Opinion of one of several blind reviewers."""

    review_id: UUID
    by: str
    decision: Decision
    verdict: VerdictName
    score: float
    issues: list[Issue]
    reason: str
    given_at: AwareDatetime


class PanelAnswer(Answer):
    """Panel of reviewers who judge the same verdict without seeing each other's opinions, each in a separate review."""

    id: UUID
    state: PanelState
    wanted: int = Field(description="number of opinions required")
    given: int = Field(description="number of opinions given")
    agreed: bool | None = Field(description="null until the last opinion is in")
    opinions: list[OpinionAnswer] = Field(
        description="all opinions once the last one is in; until then, only the caller's own"
    )


def panel_answers(reviews: Iterable[Review], *, reader: Actor | None) -> dict[UUID, PanelAnswer]:
    """By id, the panels of `reviews` as `reader` may know them; with one query for all of them."""
    panels = {review.panel.pk: review.panel for review in reviews if review.panel is not None}
    if not panels:
        return {}
    spoken: dict[UUID, list[Review]] = defaultdict(list)
    seats = Review.objects.filter(panel__in=panels, state=ReviewState.DECIDED, opinion__isnull=False)
    for seat in seats.select_related("panel").order_by("decided_at", "id"):
        if seat.panel is not None:
            spoken[seat.panel.pk].append(seat)
    return {
        panel.pk: PanelAnswer.from_row(
            panel,
            given=len(spoken[panel.pk]),
            opinions=[
                OpinionAnswer.from_row(said, review_id=seat.pk, by=seat.decided_by_label, given_at=seat.decided_at)
                for seat in spoken[panel.pk]
                if (said := seat.get_opinion()) and seat.decided_at and not is_hidden(seat, reader=reader)
            ],
        )
        for panel in panels.values()
    }


class ReviewedAttempt(Answer):
    number: int
    content: str


class CandidateAnswer(ReviewedAttempt):
    """An attempt that a reviewer can pick, with its score from the highest-ranked evaluator that judged it."""

    score: float | None
    referee: str | None = Field(description="evaluator that gave the score", examples=["generated_tests"])


class DecisionAnswer(Answer):
    """The decision and the resulting verdict."""

    decision: Decision
    directors_decision: DirectorsDecision | None = Field(
        description="the Director's decision on a REJECT that the run waited for"
    )
    attempt: int | None = Field(
        description="the attempt that the verdict is about; for an unsettled pick, the one picked"
    )
    verdict: VerdictAnswer | None = Field(validation_alias="decided_verdict")
    edited: bool = Field(
        validation_alias="is_edited", description="whether the reviewer replaced the attempt with their own text"
    )
    edited_answer: str | None = Field(description="the reviewer's text, which is the run's answer; null if not edited")
    reason: str = Field(validation_alias="decision_reason")
    decided_by: str = Field(validation_alias="decided_by_label")
    decided_by_key: UUID | None = Field(
        validation_alias="decided_by_key_id", description="API key that made the decision; null if a person did"
    )
    decided_at: AwareDatetime


class ReviewAnswer(Answer):
    """A review of a verdict by a person."""

    id: UUID
    run_id: UUID
    attempt: ReviewedAttempt
    verdict: VerdictAnswer = Field(description="the verdict to approve or overrule")
    reason: ReviewReason = Field(description="reason for the review")
    why: list[str] = Field(description="the evidence, in sentences, if the loop provides it")
    candidates: list[CandidateAnswer] = Field(
        description="for an unsettled pick, all attempts made so far; `attempt` is the one that the run would select"
    )
    state: ReviewState
    holder: TextOrNull = Field(validation_alias="holder_label")
    lease_until: AwareDatetime | None = Field(
        description="end of the lease; a claimed review can be claimed again after that"
    )
    assignee: Username = Field(
        description="reviewer that the review is assigned to; no one else gets it as their next review"
    )
    queue: UUID | None = Field(validation_alias="queue_id", description="the named queue that contains the review")
    note: str = Field(description="note from the person or pipeline that requested or assigned the review")
    note_by: TextOrNull = Field(validation_alias="note_by_label")
    created_at: AwareDatetime
    due_at: AwareDatetime | None = Field(
        description="due time by the SLA target of the queue, else of the project; null without a target or once "
        "the review is closed"
    )
    panel: PanelAnswer | None = Field(description="the panel, if the review is one of several or settles their dispute")
    decision: DecisionAnswer | None = Field(
        description="the decision; for a blind reviewer, null to everyone else until the last one has decided"
    )


class ReviewPage(PageAnswer):
    results: list[ReviewAnswer]


class ClaimAnswer(Answer):
    """The review that you claimed. Send the token with the heartbeat, the decision and the release."""

    review: ReviewAnswer
    lease_token: UUID


class HeartbeatAnswer(Answer):
    lease_until: AwareDatetime


def reviews_to_show(reviews: QuerySet[Review]) -> QuerySet[Review]:
    """`reviews` with all that an answer needs of other tables."""
    return reviews.select_related(
        "project",
        "attempt",
        "step",
        "panel",
        "queue",
        "assignee",
        "verdict__given_by",
        "decided_verdict__given_by",
        "decided_verdict__attempt",
    )


def review_answer(review: Review, *, reader: Actor | None = None) -> ReviewAnswer:
    return review_answers([review], reader=reader)[0]


def review_answers(reviews: Sequence[Review], *, reader: Actor | None = None) -> list[ReviewAnswer]:
    """The answers of `reviews` as `reader` may know them; without a reader, as anybody may.

    Where there are picks among them, with two queries more for all of them together, and where panels, with one more.
    """
    # By run, what a person may pick from.
    candidates: dict[UUID, list[CandidateAnswer]] = defaultdict(list)
    if runs := {review.run_id for review in reviews if review.is_pick}:
        attempts = list(Attempt.objects.filter(run__in=runs).order_by("number"))
        decisive = decisive_scores(attempt.pk for attempt in attempts)
        for attempt in attempts:
            score, referee, _lowered = decisive.get(attempt.pk, (None, None, False))
            candidates[attempt.run_id].append(CandidateAnswer.from_row(attempt, score=score, referee=referee))
    panels = panel_answers(reviews, reader=reader)
    answers, now = [], timezone.now()
    for review in reviews:
        decision = None
        if review.decision is not None and review.decided_at is not None and not is_hidden(review, reader=reader):
            verdict = review.decided_verdict
            decision = DecisionAnswer.from_row(review, attempt=verdict.attempt.number if verdict else None)
        due = review_due(review, project=review.project, now=now)
        answers.append(
            ReviewAnswer.from_row(
                review,
                due_at=due and due.at,
                candidates=candidates[review.run_id] if review.is_pick else [],
                panel=panels.get(review.panel_id) if review.panel_id else None,
                decision=decision,
            )
        )
    return answers


# Comments as REST tells them.


class CommentAnswer(Answer):
    """A comment by a person or pipeline on a review, a run or a notebook entry."""

    id: UUID
    about: About
    about_id: UUID
    author: str = Field(validation_alias="author_label")
    text: str = Field(description="Markdown; empty once the comment was deleted")
    created_at: AwareDatetime
    edited_at: AwareDatetime | None
    taken_back_at: AwareDatetime | None = Field(validation_alias="deleted_at")


class CommentPage(PageAnswer):
    results: list[CommentAnswer]
