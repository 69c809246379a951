"""Skipping a review over REST, and taking that back."""

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
from reflection_app.loops.values import Value
from reflection_app.reviews.answers.review_answers import ReviewAnswer, review_answer
from reflection_app.reviews.skip_review import skip_review, unskip_review


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
