"""Reviews: the queue, and a reviewer's way through it: claim, heartbeat, decide or release."""

from functools import partial
from uuid import UUID

from pydantic import Field

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.reading import Answer
from reflection_app.api.view import DeskView, Nothing, get_row, get_run_for
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value
from reflection_app.queues.eligibility import live_queues, refuse_other_queue
from reflection_app.reviews.answers import (
    ClaimAnswer,
    HeartbeatAnswer,
    ReviewAnswer,
    ReviewPage,
    review_answer,
    review_answers,
    reviews_to_show,
)
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.assigning import AssignInput, assign_review
from reflection_app.reviews.claiming import (
    claim_next,
    claim_review,
    keep_review,
    release_review,
    skip_review,
    unskip_review,
)
from reflection_app.reviews.deciding import decide_review, undo_decision
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.reviews.queue import QueueFilter
from reflection_app.runs.models import Run

DECISIONS = {
    "Approve": {"lease_token": "7f9c24e5-1d0b-4a0c-9f3e-2f1f0a4b6c8d", "decision": "approve"},
    "Overrule": {
        "lease_token": "7f9c24e5-1d0b-4a0c-9f3e-2f1f0a4b6c8d",
        "decision": "overrule",
        "verdict": "REVISE",
        "issues": [{"category": "correctness", "severity": "high", "description": "The total is wrong."}],
        "reason": "Add up the second column again.",
    },
    "Redo with instructions (of a REJECT)": {
        "lease_token": "7f9c24e5-1d0b-4a0c-9f3e-2f1f0a4b6c8d",
        "decision": "redo",
        "instructions": "Search in cs.LG as well, and find five papers at least.",
    },
}


class ReviewFilters(PageQuery, QueueFilter):
    state: ReviewState | None = None
    run: UUID | None = Field(default=None, description="the id of a run")


class ClaimInput(Value):
    """Which review to claim; without one, the next in the queue, which `among` narrows."""

    review_id: UUID | None = None
    queue: UUID | None = Field(default=None, description="the id of a named queue")
    among: QueueFilter | None = Field(default=None, description="filters as of the list of reviews")


class LeaseInput(Value):
    """The token that came with the claim."""

    lease_token: UUID


class SkipInput(Value):
    """The token, where you hold the review: it is given back. With `undo`, the review comes to you again."""

    lease_token: UUID | None = None
    undo: bool = False


class Reviews(DeskView):
    def get_object(self, review_id: UUID) -> Review:
        return get_row(reviews_to_show(Review.objects.filter(project=self.project, pk=review_id)), "review")

    @read("list_reviews", "Reviews, newest first", may=Permission.READ_QUEUE, problems=(404,))
    def list(self, query: ReviewFilters) -> ReviewPage:
        self._refuse_unknown(query.queue)
        wanted = query.model_dump(exclude_none=True, include={"state", "run"})
        reviews = reviews_to_show(
            Review.objects.filter(query.where(self.actor, project=self.project), project=self.project, **wanted)
        )
        return self.page(ReviewPage, reviews, query, answers=partial(review_answers, reader=self.actor))

    def _refuse_unknown(self, queue: UUID | None) -> None:
        """Raises NotFound for a queue that the project does not have."""
        if queue is not None:
            get_row(live_queues(self.project.pk).filter(pk=queue), "queue")

    @read("get_review", "One review", may=Permission.READ_QUEUE)
    def retrieve(self, review: Review) -> ReviewAnswer:
        return review_answer(review, reader=self.actor)

    @change(
        "claim_review",
        "Hold the next review, or a certain one",
        may=Permission.REVIEW,
        what="claim",
        answers={200: ClaimAnswer, 204: None},
        problems=(404, 409),
        examples={
            "The next": {},
            "The next of some": {"among": {"reason": "audit"}},
            "The next of a queue": {"queue": "01890a5d-ac96-774b-bcce-b302099a8059"},
            "A certain one": {"review_id": "01890a5d-ac96-774b-bcce-b302099a8057"},
        },
    )
    def claim(self, body: ClaimInput) -> ClaimAnswer | None:
        """What is in a queue for others is passed over. Asked for it by name, or for one such review, it is refused:
        a key is the person who made it. Keys with the scope admin may.
        """
        if body.review_id is not None:
            review: Review | None = claim_review(self.get_object(body.review_id), actor=self.actor)
        else:
            queue = body.queue or (body.among.queue if body.among else None)
            self._refuse_unknown(queue)
            among = body.among.where(self.actor, project=self.project) if body.among else None
            review = claim_next(self.project, actor=self.actor, among=among, queue=queue)
            if review is None:
                refuse_other_queue(queue, project_id=self.project.pk, actor=self.actor)
        return ClaimAnswer.from_row(review, review=review_answer(review, reader=self.actor)) if review else None


# What becomes of one review, mostly by whoever holds it.


class HeldReview(Reviews):
    @change("keep_review", "Hold a claimed review longer", may=Permission.REVIEW, what="heartbeat", problems=(409,))
    def keep(self, review: Review, body: LeaseInput) -> HeartbeatAnswer:
        return HeartbeatAnswer(lease_until=keep_review(review, lease_token=body.lease_token))

    @change(
        "decide_review",
        "Approve or overrule the verdict, or decide what becomes of a REJECT; the run goes on",
        may=Permission.REVIEW,
        what="decision",
        problems=(409,),
        examples=DECISIONS,
    )
    def decide(self, review: Review, body: DecisionInput) -> ReviewAnswer:
        return review_answer(decide_review(review, body, actor=self.actor), reader=self.actor)

    @change(
        "release_review",
        "Give a claimed review back to the queue",
        may=Permission.REVIEW,
        what="release",
        problems=(409,),
    )
    def release(self, review: Review, body: LeaseInput) -> ReviewAnswer:
        release_review(review, lease_token=body.lease_token, actor=self.actor)
        return review_answer(self.get_object(review.pk), reader=self.actor)

    @change(
        "assign_review",
        "Keep a review for a member, or for nobody; who holds it gives it back by that",
        may=Permission.REVIEW,
        what="assignment",
        problems=(409,),
        examples={"To a member": {"to": "anna", "note": "You know this agent."}, "To nobody": {"to": None}},
    )
    def assign(self, review: Review, body: AssignInput) -> ReviewAnswer:
        assign_review(review, body, actor=self.actor)
        return review_answer(self.get_object(review.pk))

    @change(
        "skip_review",
        "Pass a review over: it is not given to you as the next one again, and others still get it",
        may=Permission.REVIEW,
        what="skip",
        problems=(409,),
        examples={"Skip": {}, "Take it back": {"undo": True}},
    )
    def skip(self, review: Review, body: SkipInput) -> ReviewAnswer:
        if body.undo:
            unskip_review(review, actor=self.actor)
        else:
            skip_review(review, actor=self.actor, lease_token=body.lease_token)
        return review_answer(self.get_object(review.pk))

    @change(
        "undo_decision",
        "Take a decision back with everything that followed from it; the review is yours again",
        may=Permission.REVIEW,
        problems=(409,),
    )
    def undo(self, review: Review, body: Nothing) -> ClaimAnswer:
        """The run waits as before the decision: its ticket, later attempts and proposals go. What they had cost stays
        on the run's totals. Refused with the reason once the agent or a pipeline has been told, a tool outside of the
        desk was called, or somebody has built on it: then fork the run from the step of the review. Only the key that
        decided, and keys with the scope admin, take a decision back.
        """
        undone = undo_decision(review, actor=self.actor)
        return ClaimAnswer.from_row(undone, review=review_answer(self.get_object(review.pk)))


# Asking for a review of an attempt, whatever the policy says.

ASKED = {
    "The kept attempt": {"note": "Are the figures those of 2025?"},
    "A certain attempt, by three people": {"attempt": 2, "note": "Is the tone right?", "reviewers": 3},
    "For one person": {"note": "You know this client.", "assignee": "anna"},
}


class AskedAnswer(Answer):
    """The reviews that are open now: one, or one for each of several blind reviewers."""

    reviews: list[ReviewAnswer]


class AskForReview(DeskView):
    def get_object(self, run_id: UUID) -> Run:
        return get_run_for(self.project, run_id)

    # To ask is to decide nothing: a pipeline that hands tasks in may.
    @change(
        "ask_for_review",
        "Ask for a review of an attempt that has a verdict; the run does not wait for it",
        may=Permission.ASK_FOR_REVIEW,
        what="request",
        status=201,
        problems=(409,),
        examples=ASKED,
    )
    def ask(self, run: Run, body: AskInput) -> AskedAnswer:
        opened = [review.pk for review in ask_for_review(run, body, actor=self.actor)]
        found = reviews_to_show(Review.objects.filter(pk__in=opened)).order_by("created_at", "id")
        return AskedAnswer(reviews=review_answers([*found], reader=self.actor))
