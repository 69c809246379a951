"""Reviewers who put their own text in an attempt's place."""

from reflection_app.core.audit import Actor
from reflection_app.loops.attempt_effects import EditDecision
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from tests import given

BETTER = "A text on tariffs.\n\nIt names seven of them, each with its source.\n\nThe end."


def reviewer(review: Review) -> Actor:
    return Actor(user=given.member(review.project))


def edit(review: Review, text: str | None = BETTER, **more: object) -> DecisionInput:
    return DecisionInput(lease_token=review.lease_token, decision=EditDecision.EDIT, edited_answer=text, **more)


def edited(review: Review, text: str | None = BETTER, *, actor: Actor | None = None, **more: object) -> Review:
    """The review, claimed by `actor` or somebody new and decided with this text."""
    actor = actor or reviewer(review)
    claimed = claim_review(review, actor=actor)
    return decide_review(claimed, edit(claimed, text, **more), actor=actor)
