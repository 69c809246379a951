"""Assigning: to whom, who is told, what a panel forbids, and what happens when people leave."""

import pytest
from django.contrib.auth.models import User

from reflection_app.config.jobs import lapse
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import AlreadyDecided, InvalidInput, ReviewHeld, ReviewLeaseLost
from reflection_app.core.models import Membership, Project, Role
from reflection_app.reviews.assigning import (
    AssignInput,
    assign_review,
    assignable,
)
from reflection_app.reviews.claiming import claim_next, claim_review, skip_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.events import Event
from reflection_app.teams.models import Notification
from tests import given
from tests.reviews.panels import another_seat, panel_of
from tests.reviews.test_reviews import approve, reviewer, together

pytestmark = pytest.mark.django_db


@pytest.fixture
def review(db: None) -> Review:
    return given.waiting_review()


@pytest.fixture
def anna(review: Review) -> User:
    return given.member(review.project, user=given.user("anna"))


@pytest.fixture
def actor(review: Review) -> Actor:
    return reviewer(review)


def give(review: Review, to: str | None, *, actor: Actor, note: str = "") -> Review:
    return assign_review(review, AssignInput(to=to, note=note), actor=actor)


def test_an_assigned_review_comes_to_its_person_first_and_to_nobody_else(project: Project) -> None:
    first, second = given.waiting_review(project), given.waiting_review(project)
    anna, boss = given.member(project, user=given.user("anna")), given.member(project)
    told = give(second, "anna", actor=Actor(user=boss), note="You know this agent.")

    assert (told.assignee, told.note, told.note_by_label) == (anna, "You know this agent.", boss.username)
    notice = Notification.objects.get()
    assert (notice.user, notice.kind, notice.facts["by"]) == (anna, "assigned", boss.username)
    trail = AuditEntry.objects.get(action="review.assigned")
    assert (trail.before["assignee"], trail.after["assignee"]) == (None, "anna")
    assert Event.objects.filter(run=second.run, type="review.assigned").count() == 1
    for _ in range(2):
        found = claim_next(project, actor=Actor(user=boss))
        assert found is None or found.pk == first.pk
    taken = claim_next(project, actor=Actor(user=anna))
    assert taken is not None
    assert taken.pk == second.pk


def test_what_somebody_skipped_is_theirs_all_the_same_once_it_is_assigned_to_them(review: Review, anna: User) -> None:
    skip_review(review, actor=Actor(user=anna))
    assert claim_next(review.project, actor=Actor(user=anna)) is None
    give(review, "anna", actor=Actor(user=given.member(review.project)))
    assert claim_next(review.project, actor=Actor(user=anna)) is not None


def test_taken_away_it_is_for_everybody_and_others_can_take_it_explicitly_before(
    review: Review, anna: User, actor: Actor
) -> None:
    give(review, anna.username, actor=actor)
    assert claim_next(review.project, actor=actor) is None
    assert claim_review(review, actor=actor).holder == actor.user
    Review.objects.filter(pk=review.pk).update(state=ReviewState.WAITING, lease_until=None, lease_token=None)
    give(review, None, actor=actor)
    assert claim_next(review.project, actor=actor) is not None


@pytest.mark.parametrize("who", ["stranger", "viewer", "inactive", "nobody", "a\x00b"])
def test_only_members_who_may_review_are_given_one_and_all_others_are_told_apart_by_nothing(
    who: str, review: Review
) -> None:
    given.member(given.project(), user=given.user("stranger"))
    given.member(review.project, Role.VIEWER, user=given.user("viewer"))
    given.member(review.project, user=given.user("inactive", is_active=False))
    with pytest.raises(InvalidInput) as refused:
        give(review, who, actor=Actor(user=given.member(review.project)))
    assert refused.value.errors == [{"field": "to", "message": "No reviewer with this name in this project."}]
    assert not Notification.objects.exists()


def test_what_is_decided_or_in_other_hands_cannot_be_assigned(review: Review, anna: User, actor: Actor) -> None:
    held = claim_review(review, actor=actor)
    with pytest.raises(ReviewHeld):
        give(review, anna.username, actor=Actor(user=anna))
    decide_review(review, approve(held), actor=actor)
    with pytest.raises(AlreadyDecided):
        give(review, anna.username, actor=actor)


def test_who_holds_it_gives_it_back_by_assigning_it_to_somebody_else(review: Review, anna: User, actor: Actor) -> None:
    held = claim_review(review, actor=actor)
    sent = give(review, actor.label, actor=actor)
    assert (sent.state, sent.assignee) == ("claimed", actor.user)
    sent = give(review, "anna", actor=actor, note="Look at the second source.")
    assert (sent.state, sent.holder, sent.lease_token, sent.assignee) == ("waiting", None, None, anna)
    with pytest.raises(ReviewLeaseLost):
        decide_review(review, approve(held), actor=actor)
    assert claim_next(review.project, actor=actor) is None
    taken = claim_next(review.project, actor=Actor(user=anna))
    assert taken is not None
    assert taken.note == "Look at the second source."


@pytest.mark.django_db(transaction=True)
def test_an_assignment_and_a_decision_at_once_are_one_of_both(review: Review, anna: User, actor: Actor) -> None:
    held = claim_review(review, actor=actor)
    together(
        lambda: give(review, anna.username, actor=actor),
        lambda: decide_review(review, approve(held), actor=actor),
    )
    review.refresh_from_db()
    assert (review.state, review.assignee) in {("decided", None), ("waiting", anna)}


@pytest.mark.django_db(transaction=True)
def test_nobody_is_given_two_seats_of_a_panel(review: Review, anna: User, actor: Actor) -> None:
    panel_of(review)
    other = another_seat(review)
    bea = given.member(review.project)
    claim_review(review, actor=Actor(user=anna))
    with pytest.raises(InvalidInput):
        give(other, "anna", actor=actor)
    assert "anna" not in [user.username for user in assignable(other, actor=actor)]
    third = another_seat(review)
    found = together(*[lambda seat=seat: give(seat, bea.username, actor=actor) for seat in (other, third)])
    assert sorted(type(one).__name__ for one in found) == ["InvalidInput", "Review"]


def test_the_note_of_who_asked_stays_below_that_of_who_assigns(review: Review, anna: User, actor: Actor) -> None:
    Review.objects.filter(pk=review.pk).update(note="Is it safe?", note_by_label="zoe")
    told = give(review, anna.username, actor=actor, note="Please.")
    assert told.note == "Please.\n\nzoe: Is it safe?"


@pytest.mark.parametrize("how", ["removed", "viewer", "inactive"])
def test_what_is_kept_for_somebody_who_may_no_longer_review_is_given_to_everybody(
    how: str, review: Review, anna: User, actor: Actor
) -> None:
    give(review, "anna", actor=actor)
    lapse()
    assert claim_next(review.project, actor=actor) is None
    membership = Membership.objects.filter(user=anna)
    if how == "removed":
        membership.delete()
    elif how == "viewer":
        membership.update(role=Role.VIEWER)
    else:
        anna.is_active = False
        anna.save()
    assert claim_next(review.project, actor=actor) is None
    lapse()
    assert claim_next(review.project, actor=actor) is not None
