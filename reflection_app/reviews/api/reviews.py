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
    "Redo a REJECT with instructions": {
        "lease_token": "7f9c24e5-1d0b-4a0c-9f3e-2f1f0a4b6c8d",
        "decision": "redo",
        "instructions": "Search in cs.LG as well, and find five papers at least.",
    },
}


class ReviewFilters(PageQuery, QueueFilter):
    state: ReviewState | None = None
    run: UUID | None = Field(default=None, description="the id of a run")


class ClaimInput(Value):
    """The review to claim. Default: the next in the queue, filtered by `among`."""

    review_id: UUID | None = None
    queue: UUID | None = Field(default=None, description="the id of a named queue")
    among: QueueFilter | None = Field(default=None, description="filters, as for the list of reviews")


class LeaseInput(Value):
    """The token returned by the claim."""

    lease_token: UUID


class SkipInput(Value):
    """The token of a review that you hold, which is then released. With `undo`, the review can come to you again."""

    lease_token: UUID | None = None
    undo: bool = False


class Reviews(DeskView):
    def get_object(self, review_id: UUID) -> Review:
        return get_row(reviews_to_show(Review.objects.filter(project=self.project, pk=review_id)), "review")

    @read("list_reviews", "List reviews, newest first", may=Permission.READ_QUEUE, problems=(404,))
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

    @read("get_review", "Get a review", may=Permission.READ_QUEUE)
    def retrieve(self, review: Review) -> ReviewAnswer:
        return review_answer(review, reader=self.actor)

    @change(
        "claim_review",
        "Claim the next review or a specific one",
        may=Permission.REVIEW,
        what="claim",
        answers={200: ClaimAnswer, 204: None},
        problems=(404, 409),
        examples={
            "Next review": {},
            "Next review that matches a filter": {"among": {"reason": "audit"}},
            "Next review of a queue": {"queue": "01890a5d-ac96-774b-bcce-b302099a8059"},
            "Specific review": {"review_id": "01890a5d-ac96-774b-bcce-b302099a8057"},
        },
    )
    def claim(self, body: ClaimInput) -> ClaimAnswer | None:
        """Reviews in queues for others are skipped. Naming such a queue, or a review in it, is refused: a key acts as
        the person who created it. Keys with the scope admin are allowed.
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
    @change(
        "keep_review", "Extend the lease of a claimed review", may=Permission.REVIEW, what="heartbeat", problems=(409,)
    )
    def keep(self, review: Review, body: LeaseInput) -> HeartbeatAnswer:
        return HeartbeatAnswer(lease_until=keep_review(review, lease_token=body.lease_token))

    @change(
        "decide_review",
        "Decide a review and resume its run",
        may=Permission.REVIEW,
        what="decision",
        problems=(409,),
        examples=DECISIONS,
    )
    def decide(self, review: Review, body: DecisionInput) -> ReviewAnswer:
        return review_answer(decide_review(review, body, actor=self.actor), reader=self.actor)

    @change(
        "release_review",
        "Release a claimed review to the queue",
        may=Permission.REVIEW,
        what="release",
        problems=(409,),
    )
    def release(self, review: Review, body: LeaseInput) -> ReviewAnswer:
        release_review(review, lease_token=body.lease_token, actor=self.actor)
        return review_answer(self.get_object(review.pk), reader=self.actor)

    @change(
        "assign_review",
        "Assign or unassign a review, releasing its claim",
        may=Permission.REVIEW,
        what="assignment",
        problems=(409,),
        examples={"To a member": {"to": "anna", "note": "You know this agent."}, "Unassign": {"to": None}},
    )
    def assign(self, review: Review, body: AssignInput) -> ReviewAnswer:
        """Only the holder can assign a claimed review. Assigning it to another member releases the claim."""
        assign_review(review, body, actor=self.actor)
        return review_answer(self.get_object(review.pk))

    @change(
        "skip_review",
        "Skip a review for yourself only",
        may=Permission.REVIEW,
        what="skip",
        problems=(409,),
        examples={"Skip": {}, "Undo": {"undo": True}},
    )
    def skip(self, review: Review, body: SkipInput) -> ReviewAnswer:
        if body.undo:
            unskip_review(review, actor=self.actor)
        else:
            skip_review(review, actor=self.actor, lease_token=body.lease_token)
        return review_answer(self.get_object(review.pk))

    @change(
        "undo_decision",
        "Undo a decision and its consequences",
        may=Permission.REVIEW,
        problems=(409,),
    )
    def undo(self, review: Review, body: Nothing) -> ClaimAnswer:
        """The review is yours again, and the run waits as before the decision. Its ticket, later attempts and proposals
        are removed; their cost stays in the run's totals. Refused, with the reason, once the agent or a pipeline was
        notified, an external tool was called, or someone has built on the decision. In that case, fork the run from
        the step of the review. Only the key that decided and keys with the scope admin can undo a decision.
        """
        undone = undo_decision(review, actor=self.actor)
        return ClaimAnswer.from_row(undone, review=review_answer(self.get_object(review.pk)))


# Asking for a review of an attempt, whatever the policy says.

ASKED = {
    "Selected attempt": {"note": "Are the figures those of 2025?"},
    "Specific attempt, three reviewers": {"attempt": 2, "note": "Is the tone right?", "reviewers": 3},
    "One assigned reviewer": {"note": "You know this client.", "assignee": "anna"},
}


class AskedAnswer(Answer):
    """The open reviews: one, or one for each of several blind reviewers."""

    reviews: list[ReviewAnswer]


class AskForReview(DeskView):
    def get_object(self, run_id: UUID) -> Run:
        return get_run_for(self.project, run_id)

    # To ask is to decide nothing: a pipeline that hands tasks in may.
    @change(
        "ask_for_review",
        "Request a non-blocking review of a judged attempt",
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
