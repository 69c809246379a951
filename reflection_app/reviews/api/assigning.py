"""Assigning reviews to people, and handing over one that is held."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_review_for
from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input
from reflection_app.api.schema import described_post
from reflection_app.core.permissions import Permission
from reflection_app.reviews.answers.review_answers import ReviewAnswer, review_answer
from reflection_app.reviews.assign_review import AssignInput, HandOverInput, assign_review, hand_over


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
