"""Taking a decision back over REST."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_review_for
from reflection_app.api.desk_view import DeskView, Nothing
from reflection_app.api.idempotency import idempotent
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input
from reflection_app.api.schema import described_post
from reflection_app.core.permissions import Permission
from reflection_app.reviews.answers.review_answers import ClaimAnswer, review_answer
from reflection_app.reviews.undo_decision import undo_decision


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
