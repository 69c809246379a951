"""Blind seats against those who have more rights: an admin reads no opinion by undoing it, and judges once."""

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import ReviewLeaseLost
from reflection_app.core.models import Role
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review, undo_decision, undone_by_holder
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review, ReviewState, hidden_entries
from tests.factories import make_member
from tests.reviews.panels import open_panel, people, say

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_admin_who_takes_an_opinion_back_does_not_read_it() -> None:
    panel = open_panel()
    anna, admin = people(panel.project, 1)[0], Actor(user=make_member(panel.project, Role.ADMIN))
    seat = undo_decision(say(panel, anna, Verdict.REVISE), actor=admin)
    trail = AuditEntry.objects.filter(action="review.undone")
    assert trail.filter(hidden_entries(panel.project_id, reader=admin)).count() == 1
    assert trail.filter(hidden_entries(panel.project_id, reader=anna)).count() == 0
    assert undone_by_holder(seat) is not None

    Review.objects.filter(pk=seat.pk).update(state=ReviewState.WAITING)
    assert undone_by_holder(claim_review(seat, actor=admin)) is None


def test_a_seat_is_decided_by_nobody_but_who_sits_there() -> None:
    panel = open_panel()
    anna, admin = people(panel.project, 1)[0], Actor(user=make_member(panel.project, Role.ADMIN))
    seat = undo_decision(say(panel, anna, Verdict.REVISE), actor=admin)
    assert seat.lease_token is not None
    told = DecisionInput(lease_token=seat.lease_token, decision=Decision.APPROVE)
    with pytest.raises(ReviewLeaseLost, match="holds this review now"):
        decide_review(seat, told, actor=admin)
    assert decide_review(seat, told, actor=anna).state == ReviewState.DECIDED
