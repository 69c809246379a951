"""An opinion that was given blindly is taken back: what followed from it goes, and its giver sits there again."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import AlreadyDecided, Conflict, ReviewLeaseLost
from reflection_app.core.models import Project, Role
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.agreement import complete_panels
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review, undo_decision, undone_by_holder
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import PanelState, Review, ReviewState, hidden_entries
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.models import RunState, Verdict
from reflection_app.teams.models import Notification
from tests import given
from tests.reviews.panels import SECRET_REASON, adjudication, fresh, open_panel, panel_project, people, run_of, say
from tests.reviews.reviewed import client_of, decide_held

pytestmark = pytest.mark.django_db
REVISE = VerdictName.REVISE


def held_by_giver(seat: Review, giver: Actor) -> bool:
    now = Review.objects.get(pk=seat.pk)
    nothing = (now.opinion, now.decision, now.decision_reason, now.decided_at, now.decided_verdict) == (
        None,
        None,
        "",
        None,
        None,
    )
    return nothing and (now.state, now.holder) == (ReviewState.CLAIMED, giver.user) and now.lease_token is not None


def test_while_others_are_still_to_speak() -> None:
    panel = open_panel()
    anna, bob = people(panel.project, 2)
    seat = say(panel, anna, REVISE)
    undo_decision(seat, actor=anna)
    assert held_by_giver(seat, anna)
    assert Event.objects.get(run=panel.run, type="review.undone").payload["review"] == str(seat.pk)

    say(panel, bob)
    now = Review.objects.get(pk=seat.pk)
    decide_held(now, anna)
    assert fresh(panel).state == PanelState.OPEN
    assert Review.objects.filter(panel=panel, opinion__isnull=False).count() == 2


def test_what_was_taken_back_stays_hidden_in_the_trail_while_the_panel_is_open() -> None:
    panel = open_panel()
    anna, bob = people(panel.project, 2)
    undo_decision(say(panel, anna, REVISE), actor=anna)
    trail = AuditEntry.objects.filter(project=panel.project, action__in=["review.opinion", "review.undone"])
    assert trail.count() == 2
    assert trail.exclude(hidden_entries(panel.project_id, reader=bob)).count() == 0
    assert trail.exclude(hidden_entries(panel.project_id, reader=anna)).count() == 2


def test_a_dispute_that_nobody_is_at_is_withdrawn() -> None:
    panel = open_panel(reviewers=2)
    anna, bob, cem = people(panel.project, 3)
    say(panel, anna)
    seat = say(panel, bob, REVISE)
    dispute = adjudication(panel)
    assert Notification.objects.filter(about_id=dispute.pk, user=cem.user).exists()
    undo_decision(seat, actor=bob)

    now = fresh(panel)
    assert (now.state, now.agreed, now.complete_at) == (PanelState.OPEN, None, None)
    assert held_by_giver(seat, bob)
    assert not Notification.objects.filter(about_id=dispute.pk).exists()
    with pytest.raises(AlreadyDecided, match="an opinion was undone"):
        claim_review(dispute, actor=cem)

    held = Review.objects.get(pk=seat.pk)
    decide_held(held, bob)
    assert (fresh(panel).state, fresh(panel).agreed) == (PanelState.SETTLED, True)
    # Bob had read what Anna said: that they agree now says nothing of people who judge by themselves.
    always = {"since": panel.created_at, "until": timezone.now()}
    assert list(complete_panels(panel.project_id, **always)) == []


def test_a_dispute_that_somebody_is_settling_keeps_the_opinions() -> None:
    panel = open_panel(reviewers=2)
    anna, bob, cem = people(panel.project, 3)
    say(panel, anna)
    seat = say(panel, bob, REVISE)
    held = claim_review(adjudication(panel), actor=cem)
    with pytest.raises(Conflict, match=f"{cem.label} is settling"):
        undo_decision(seat, actor=bob)
    assert Review.objects.get(pk=seat.pk).opinion is not None

    decide_held(held, cem)
    with pytest.raises(Conflict, match="settled"):
        undo_decision(seat, actor=bob)
    assert fresh(panel).state == PanelState.SETTLED


def test_the_settling_itself_is_undone_to_a_dispute() -> None:
    panel = open_panel(reviewers=2)
    anna, bob, cem = people(panel.project, 3)
    say(panel, anna)
    say(panel, bob, REVISE)
    held = claim_review(adjudication(panel), actor=cem)
    decide_held(held, cem)
    undo_decision(held, actor=cem)
    assert (fresh(panel).state, fresh(panel).settled_at) == (PanelState.DISPUTED, None)
    assert not Verdict.objects.filter(attempt__run=panel.run, referee=6).exists()
    assert run_of(panel).state == RunState.WAITING_REVIEW


@pytest.mark.parametrize("went_on", [False, True])
def test_what_all_agreed_on_is_taken_back_with_all_that_followed(went_on: bool) -> None:
    panel = open_panel()
    anna, bob, cem = people(panel.project, 3)
    first = say(panel, anna, REVISE)
    say(panel, bob, REVISE)
    say(panel, cem, REVISE)
    if went_on:
        advance(panel.run_id)
        assert run_of(panel).outcome == "succeeded"
    undo_decision(Review.objects.get(pk=first.pk), actor=anna)

    now = fresh(panel)
    assert (now.state, now.agreed, now.complete_at, now.settled_at) == (PanelState.OPEN, None, None, None)
    assert held_by_giver(first, anna)
    assert not Verdict.objects.filter(attempt__run=panel.run, referee=6).exists()
    assert not Review.objects.filter(panel=panel, decided_seq__isnull=False).exists()
    run = run_of(panel)
    assert (run.state, run.outcome, run.attempts_made) == (RunState.WAITING_REVIEW, None, 1)
    assert Event.objects.filter(run=run, type="review.undone").count() == 1

    held = Review.objects.get(pk=first.pk)
    decide_held(held, anna, "overrule", verdict=REVISE, reason="Again.")
    advance(panel.run_id)
    assert (run_of(panel).outcome, fresh(panel).state) == ("succeeded", PanelState.SETTLED)


# Against those who have more rights: an admin reads no opinion by undoing it, and judges once.


def test_an_admin_who_takes_an_opinion_back_does_not_read_it() -> None:
    panel = open_panel()
    anna, admin = people(panel.project, 1)[0], Actor(user=given.member(panel.project, Role.ADMIN))
    seat = undo_decision(say(panel, anna, REVISE), actor=admin)
    trail = AuditEntry.objects.filter(action="review.undone")
    assert trail.filter(hidden_entries(panel.project_id, reader=admin)).count() == 1
    assert trail.filter(hidden_entries(panel.project_id, reader=anna)).count() == 0
    assert undone_by_holder(seat) is not None

    Review.objects.filter(pk=seat.pk).update(state=ReviewState.WAITING)
    assert undone_by_holder(claim_review(seat, actor=admin)) is None


def test_a_seat_is_decided_by_nobody_but_who_sits_there() -> None:
    panel = open_panel()
    anna, admin = people(panel.project, 1)[0], Actor(user=given.member(panel.project, Role.ADMIN))
    seat = undo_decision(say(panel, anna, REVISE), actor=admin)
    assert seat.lease_token is not None
    told = DecisionInput(lease_token=seat.lease_token, decision=Decision.APPROVE)
    with pytest.raises(ReviewLeaseLost, match="has locked this review"):
        decide_review(seat, told, actor=admin)
    assert decide_review(seat, told, actor=anna).state == ReviewState.DECIDED


# What somebody took back stands in their form alone, and so does the token of their hold.


@pytest.fixture
def giver() -> Actor:
    return people(panel_project("desk"), 1)[0]


@pytest.fixture
def seat(giver: Actor) -> Review:
    """A blind seat whose opinion was taken back by its giver, who holds it again."""
    return undo_decision(say(open_panel(Project.objects.get()), giver, REVISE), actor=giver)


def page(client: Client, seat: Review, part: str = "", **posted: str) -> str:
    path = f"/p/desk/reviews/{seat.pk}/{part}"
    return (client.post(path, posted) if part else client.get(path)).text


def test_no_other_reviewer_reads_it_or_gets_the_token(seat: Review) -> None:
    others = [client_of(people(seat.project, 1)[0]), given.logged_in(Client(), seat.project, Role.VIEWER)]
    for client in others:
        seen = [page(client, seat), page(client, seat, "claim/"), page(client, seat, "assign/", to="nobody")]
        assert SECRET_REASON not in "".join(seen)
        assert str(seat.lease_token) not in "".join(seen)


def test_its_giver_finds_it_in_the_form(seat: Review, giver: Actor) -> None:
    seen = page(client_of(giver), seat)
    assert SECRET_REASON in seen
    assert str(seat.lease_token) in seen


def test_it_is_not_fetched_ahead_once_the_hold_has_run_out(seat: Review) -> None:
    Review.objects.exclude(pk=seat.pk).update(state=ReviewState.WITHDRAWN)
    Review.objects.filter(pk=seat.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    other = Actor(user=given.member(seat.project))
    ahead = client_of(other).get("/p/desk/reviews/peek/", headers={"X-Review-Peeked": "none"})
    assert str(seat.pk) in ahead.text
    assert SECRET_REASON not in ahead.text
