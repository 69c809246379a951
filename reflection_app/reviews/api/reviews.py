"""Reviews: the queue, and a reviewer's way through it: claim, heartbeat, decide or release."""

from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import Answer, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters, Nothing, get_review_for, get_run_for
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value
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
from reflection_app.reviews.assigning import AssignInput, HandOverInput, assign_review, hand_over
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
    "Accept anyway (of a REJECT)": {
        "lease_token": "7f9c24e5-1d0b-4a0c-9f3e-2f1f0a4b6c8d",
        "decision": "accept",
        "reason": "Three papers are enough for the first draft.",
    },
    "Close (of a REJECT)": {"lease_token": "7f9c24e5-1d0b-4a0c-9f3e-2f1f0a4b6c8d", "decision": "close"},
    "Keep another attempt (of an unsettled pick)": {
        "lease_token": "7f9c24e5-1d0b-4a0c-9f3e-2f1f0a4b6c8d",
        "decision": "overrule",
        "verdict": "PASS",
        "attempt": 2,
    },
}


class ReviewFilters(PageQuery, QueueFilter):
    state: ReviewState | None = None
    run: UUID | None = Field(default=None, description="the id of a run")


class ClaimInput(Value):
    """Which review to claim; without one, the next in the queue, which `among` narrows."""

    review_id: UUID | None = None
    among: QueueFilter | None = Field(default=None, description="filters as of the list of reviews")


class LeaseInput(Value):
    """The token that came with the claim."""

    lease_token: UUID


class ReviewList(DeskView):
    permissions = needs(get=Permission.READ_QUEUE)

    @described_get("list_reviews", summary="Reviews, newest first", query=ReviewFilters, answer=ReviewPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, ReviewFilters)
        wanted = query.model_dump(exclude_none=True, include={"state", "run"})
        reviews = reviews_to_show(Review.objects.filter(query.where(self.actor), project=self.project, **wanted))
        page = get_page(reviews, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results(review_answers(page.rows, reader=self.actor)))


class ReviewDetail(DeskView):
    permissions = needs(get=Permission.READ_QUEUE)

    @described_get("get_review", summary="One review", answer=ReviewAnswer, problems=(404,))
    def get(self, request: Request, review_id: UUID) -> Response:
        read_query(request, NoParameters)
        return Response(
            review_answer(get_review_for(self.project, review_id), reader=self.actor).model_dump(mode="json")
        )


class ClaimReview(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "claim_review",
        summary="Hold the next review, or a certain one",
        body=ClaimInput,
        answers={200: ClaimAnswer, 204: None},
        problems=(404, 409),
        examples={
            "The next": {},
            "The next of some": {"among": {"reason": "audit"}},
            "A certain one": {"review_id": "01890a5d-ac96-774b-bcce-b302099a8057"},
        },
    )
    @idempotent
    def post(self, request: Request) -> Response:
        review = self.claim(read_input(request, ClaimInput, what="claim"))
        if review is None:
            return Response(status=204)
        assert review.lease_token is not None
        claimed = ClaimAnswer(review=review_answer(review, reader=self.actor), lease_token=review.lease_token)
        return Response(claimed.model_dump(mode="json"))

    def claim(self, wanted: ClaimInput) -> Review | None:
        if wanted.review_id is not None:
            return claim_review(get_review_for(self.project, wanted.review_id), actor=self.actor)
        among = wanted.among.where(self.actor) if wanted.among else None
        return claim_next(self.project, actor=self.actor, among=among)


class Heartbeat(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "keep_review",
        summary="Hold a claimed review longer",
        body=LeaseInput,
        answers={200: HeartbeatAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, review_id: UUID) -> Response:
        review = get_review_for(self.project, review_id)
        token = read_input(request, LeaseInput, what="heartbeat").lease_token
        return Response(HeartbeatAnswer(lease_until=keep_review(review, lease_token=token)).model_dump(mode="json"))


class Decide(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "decide_review",
        summary="Approve or overrule the verdict, or decide what becomes of a REJECT; the run goes on",
        body=DecisionInput,
        answers={200: ReviewAnswer},
        problems=(404, 409),
        examples=DECISIONS,
    )
    @idempotent
    def post(self, request: Request, review_id: UUID) -> Response:
        review = get_review_for(self.project, review_id)
        decided = decide_review(review, read_input(request, DecisionInput, what="decision"), actor=self.actor)
        return Response(review_answer(decided, reader=self.actor).model_dump(mode="json"))


class Release(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "release_review",
        summary="Give a claimed review back to the queue",
        body=LeaseInput,
        answers={200: ReviewAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, review_id: UUID) -> Response:
        review = get_review_for(self.project, review_id)
        token = read_input(request, LeaseInput, what="release").lease_token
        release_review(review, lease_token=token, actor=self.actor)
        return Response(
            review_answer(get_review_for(self.project, review_id), reader=self.actor).model_dump(mode="json")
        )


# Assigning reviews to people, and handing over one that is held.


class AssignReview(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "assign_review",
        summary="Keep a review for a member, or for nobody",
        body=AssignInput,
        answers={200: ReviewAnswer},
        problems=(404, 409),
        examples={"To a member": {"to": "anna", "note": "You know this agent."}, "To nobody": {"to": None}},
    )
    @idempotent
    def post(self, request: Request, review_id: UUID) -> Response:
        review = get_review_for(self.project, review_id)
        assign_review(review, read_input(request, AssignInput, what="assignment"), actor=self.actor)
        return Response(review_answer(get_review_for(self.project, review_id)).model_dump(mode="json"))


class HandOver(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "hand_over_review",
        summary="Give a review that you hold to a member",
        body=HandOverInput,
        answers={200: ReviewAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, review_id: UUID) -> Response:
        review = get_review_for(self.project, review_id)
        hand_over(review, read_input(request, HandOverInput, what="handing over"), actor=self.actor)
        return Response(review_answer(get_review_for(self.project, review_id)).model_dump(mode="json"))


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
    # To ask is to decide nothing: a pipeline that hands tasks in may.
    permissions = needs(post=Permission.ASK_FOR_REVIEW)

    @described_post(
        "ask_for_review",
        summary="Ask for a review of an attempt that has a verdict; the run does not wait for it",
        body=AskInput,
        answers={201: AskedAnswer},
        problems=(404, 409),
        examples=ASKED,
    )
    @idempotent
    def post(self, request: Request, run_id: UUID) -> Response:
        run = get_run_for(self.project, run_id)
        opened = ask_for_review(run, read_input(request, AskInput, what="request"), actor=self.actor)
        found = reviews_to_show(Review.objects.filter(pk__in=[review.pk for review in opened]))
        rows = list(found.order_by("created_at", "id"))
        answer = AskedAnswer(reviews=review_answers(rows, reader=self.actor))
        return Response(answer.model_dump(mode="json"), 201)


# Skipping a review over REST, and taking that back.


class SkipInput(Value):
    """The token, where you hold the review: it is given back. With `undo`, the review comes to you again."""

    lease_token: UUID | None = None
    undo: bool = False


class Skip(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "skip_review",
        summary="Pass a review over: it is not given to you as the next one again, and others still get it",
        body=SkipInput,
        answers={200: ReviewAnswer},
        problems=(404, 409),
        examples={"Skip": {}, "Take it back": {"undo": True}},
    )
    @idempotent
    def post(self, request: Request, review_id: UUID) -> Response:
        review = get_review_for(self.project, review_id)
        told = read_input(request, SkipInput, what="skip")
        if told.undo:
            unskip_review(review, actor=self.actor)
        else:
            skip_review(review, actor=self.actor, lease_token=told.lease_token)
        return Response(review_answer(get_review_for(self.project, review_id)).model_dump(mode="json"))


# Taking a decision back over REST.


class Undo(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "undo_decision",
        summary="Take a decision back with everything that followed from it; the review is yours again",
        body=Nothing,
        answers={200: ClaimAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, review_id: UUID) -> Response:
        """The run waits as before the decision: its ticket, later attempts and proposals go. What they had cost stays
        on the run's totals. Refused with the reason once the agent or a pipeline has been told, a tool outside of the
        desk was called, or somebody has built on it: then fork the run from the step of the review. Only the key that
        decided, and keys with the scope admin, take a decision back.
        """
        read_input(request, Nothing, what="body")
        undone = undo_decision(get_review_for(self.project, review_id), actor=self.actor)
        assert undone.lease_token is not None
        review = review_answer(get_review_for(self.project, review_id))
        return Response(ClaimAnswer(review=review, lease_token=undone.lease_token).model_dump(mode="json"))
