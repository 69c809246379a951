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
    """What one of several blind reviewers said."""

    review_id: UUID
    by: str
    decision: Decision
    verdict: VerdictName
    score: float
    issues: list[Issue]
    reason: str
    given_at: AwareDatetime


class PanelAnswer(Answer):
    """Several people judge the same verdict without seeing each other's opinions; each has a review of their own."""

    id: UUID
    state: PanelState
    wanted: int = Field(description="how many are to judge")
    given: int = Field(description="how many have")
    agreed: bool | None = Field(description="null until the last of them has spoken")
    opinions: list[OpinionAnswer] = Field(description="all of them once the last is in; until then, the caller's own")


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
    """An attempt that a person may pick, with its score from the strongest referee that judged it."""

    score: float | None
    referee: str | None = Field(description="who gave the score", examples=["generated_tests"])


class DecisionAnswer(Answer):
    """What was decided, and the verdict that has held since."""

    decision: Decision
    directors_decision: DirectorsDecision | None = Field(
        description="of a REJECT that the run waited for: what the decision amounts to"
    )
    attempt: int | None = Field(description="the attempt that the verdict is on: of an unsettled pick, the one picked")
    verdict: VerdictAnswer | None = Field(validation_alias="decided_verdict")
    edited: bool = Field(
        validation_alias="is_edited", description="whether the reviewer put their own text in the attempt's place"
    )
    edited_answer: str | None = Field(description="that text, which the run keeps as its answer; null where none was")
    reason: str = Field(validation_alias="decision_reason")
    decided_by: str = Field(validation_alias="decided_by_label")
    decided_by_key: UUID | None = Field(
        validation_alias="decided_by_key_id", description="the key that decided; null where a person did"
    )
    decided_at: AwareDatetime


class ReviewAnswer(Answer):
    """A verdict that is put before a person."""

    id: UUID
    run_id: UUID
    attempt: ReviewedAttempt
    verdict: VerdictAnswer = Field(description="the verdict to be approved or overruled")
    reason: ReviewReason = Field(description="why a person is asked")
    why: list[str] = Field(description="what the evidence says, in sentences, where the loop tells")
    candidates: list[CandidateAnswer] = Field(
        description="of an unsettled pick, all attempts made so far; `attempt` is the one that the run would keep"
    )
    state: ReviewState
    holder: TextOrNull = Field(validation_alias="holder_label")
    lease_until: AwareDatetime | None = Field(description="a claimed review whose lease ran out can be claimed again")
    assignee: Username = Field(description="for whom it is kept: nobody else is given it as the next one")
    queue: UUID | None = Field(validation_alias="queue_id", description="the named queue that it is in")
    note: str = Field(description="what the person or pipeline that asked for it, or assigned it, said")
    note_by: TextOrNull = Field(validation_alias="note_by_label")
    created_at: AwareDatetime
    due_at: AwareDatetime | None = Field(
        description="by the goal of its queue, else the project's; null without one, or where nobody is waited for"
    )
    panel: PanelAnswer | None = Field(description="of a review that is one of several, or that settles their dispute")
    decision: DecisionAnswer | None = Field(
        description="of a blind reviewer, null to everybody else until the last of them has decided"
    )


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
    """Something that a person or a pipeline said about a review, a run or an entry of the notebook."""

    id: UUID
    about: About
    about_id: UUID
    author: str = Field(validation_alias="author_label")
    text: str = Field(description="Markdown; empty once it was taken back")
    created_at: AwareDatetime
    edited_at: AwareDatetime | None
    taken_back_at: AwareDatetime | None = Field(validation_alias="deleted_at")


class CommentPage(PageAnswer):
    results: list[CommentAnswer]
