"""Undo beside people who are at work on what came of the decision: nothing is taken from under their hands."""

from datetime import timedelta

import pytest
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.errors import NotFound, StillStands
from reflection_app.reviews.claiming import claim_review, lost, skip_review
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import About, Comment, Review
from tests.factories import make_project
from tests.reviews.test_undo_decision import BAD, person
from tests.reviews.undoing import claimed, decide, gone_on
from tests.runs.scripts import scripted_run

pytestmark = pytest.mark.django_db(transaction=True)


def two_rejected() -> tuple[Review, Actor, Review]:
    """A review that was sent back, who did, and the review of the next attempt, which is open."""
    answers = {"attempt-1/answer": "a", "attempt-1/critique": BAD, "attempt-2/answer": "b", "attempt-2/critique": BAD}
    run = gone_on(scripted_run(answers, project=make_project(review_policy={"audit_share": 0})))
    first = Review.objects.get(run=run)
    actor = person(first)
    claimed(first, actor)
    decide(first, actor, "redo", instructions="Again.")
    gone_on(run)
    return first, actor, Review.objects.get(run=run, attempt__number=2)


def test_what_somebody_is_judging_now_is_not_taken_away() -> None:
    first, actor, second = two_rejected()
    other = person(second)
    claim_review(second, actor=other)
    with pytest.raises(StillStands, match=f"{other.label} is judging attempt 2"):
        undo_decision(first, actor=actor)
    decide(second, other, "accept", reason="Enough.")


@pytest.mark.parametrize("holder", ["nobody", "oneself", "somebody whose hold ran out"])
def test_it_is_taken_back_where_nobody_else_is_at_work(holder: str) -> None:
    first, actor, second = two_rejected()
    if holder != "nobody":
        claim_review(second, actor=actor if holder == "oneself" else person(second))
    if holder == "somebody whose hold ran out":
        Review.objects.filter(pk=second.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    undo_decision(first, actor=actor)
    assert not Review.objects.filter(pk=second.pk).exists()


def test_a_review_that_somebody_has_commented_on_stays() -> None:
    first, actor, second = two_rejected()
    other = person(second)
    add_comment(second.project, About.REVIEW, second.pk, CommentInput(text="Look at the dates."), actor=other)
    with pytest.raises(StillStands, match=f"{other.label} has commented on attempt 2"):
        undo_decision(first, actor=actor)
    Comment.objects.update(text="", deleted_at=timezone.now())
    undo_decision(first, actor=actor)


def test_who_comes_a_moment_too_late_is_told_that_it_is_gone() -> None:
    first, actor, second = two_rejected()
    other = person(second)
    undo_decision(first, actor=actor)
    with pytest.raises(NotFound, match="gone"):
        claim_review(second, actor=other)
    with pytest.raises(NotFound, match="gone"):
        skip_review(second, actor=other)
    with pytest.raises(NotFound, match="gone"):
        undo_decision(second, actor=other)
    assert isinstance(lost(second), NotFound)
