"""Asking for a review of an attempt, whatever the policy says."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_run_for
from reflection_app.api.answer import Answer
from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input
from reflection_app.api.schema import described_post
from reflection_app.core.permissions import Permission
from reflection_app.reviews.answers.review_answers import ReviewAnswer, review_answers, reviews_to_show
from reflection_app.reviews.ask_for_review import AskInput, ask_for_review
from reflection_app.reviews.models.review import Review

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
