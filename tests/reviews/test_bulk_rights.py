"""Bulk decisions are no way round rights, blindness or what was told."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import NotYours
from reflection_app.core.models import Membership, Role
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.bulk import BulkInput, begin_bulk, undo_bulk, work_through
from reflection_app.reviews.models import BulkDecision, BulkItem, Panel, Review
from tests.api.stories import waiting_review
from tests.factories import make_member, make_project
from tests.reviews.panels import SECRET_REASON, adjudication, open_panel, panel_project, people, say

pytestmark = pytest.mark.django_db(transaction=True)


def decided_together(*reviews: Review, actor: Actor | None = None, **said: str) -> BulkDecision:
    project = reviews[0].project
    told = BulkInput.model_validate({"reviews": [one.pk for one in reviews], "decision": "approve"} | said)
    bulk = begin_bulk(project, told, actor=actor or Actor(user=make_member(project)))
    work_through(bulk.pk)
    return bulk


def test_another_does_not_take_it_back_and_an_admin_does_under_their_own_name() -> None:
    review = waiting_review(make_project())
    bulk = decided_together(review)
    with pytest.raises(NotYours):
        undo_bulk(bulk, actor=Actor(user=make_member(review.project)))
    assert BulkDecision.objects.get().state == "done"

    # Also of somebody who has left.
    Membership.objects.filter(user=bulk.user).delete()
    admin = make_member(review.project, Role.ADMIN)
    undo_bulk(bulk, actor=Actor(user=admin))
    work_through(bulk.pk)
    assert BulkItem.objects.get().state == "undone"
    assert AuditEntry.objects.get(action="review.undone").actor_label == admin.username


def test_what_somebody_else_has_decided_anew_is_kept() -> None:
    review = waiting_review(make_project())
    admin = Actor(user=make_member(review.project, Role.ADMIN))
    bulk = decided_together(review, actor=admin)
    other = make_member(review.project)
    Review.objects.filter(pk=review.pk).update(decided_by=other, decided_by_label=other.get_username())
    undo_bulk(bulk, actor=Actor(user=make_member(review.project, Role.ADMIN)))
    work_through(bulk.pk)
    assert BulkItem.objects.get().state == "kept"


def _everything(panel: Panel, bulk: BulkDecision, actor: Actor) -> str:
    client = Client()
    assert actor.user is not None
    client.force_login(actor.user)
    paths = (f"reviews/bulk/{bulk.pk}/", "reviews/bulk/", "audit/", "audit/audit.csv", "audit/?q=timetable")
    answers = [client.get(f"/p/{panel.project.slug}/{path}") for path in paths]
    return "".join(answer.getvalue().decode() for answer in answers)


def test_what_was_said_of_a_blind_seat_in_bulk_is_hidden_from_all_others_until_all_have_spoken() -> None:
    panel = open_panel(panel_project("desk"))
    anna = people(panel.project, 1)[0]
    admin = Actor(user=make_member(panel.project, Role.ADMIN))
    seat = Review.objects.filter(panel=panel)[0]
    bulk = decided_together(seat, actor=anna, decision="overrule", verdict="REVISE", reason=SECRET_REASON)
    assert BulkItem.objects.get().state == "done"

    seen = _everything(panel, bulk, admin)
    assert "hidden until the last" in seen
    assert SECRET_REASON not in seen
    assert "Overruled" not in seen
    assert SECRET_REASON in _everything(panel, bulk, anna)

    Panel.objects.update(state="disputed")
    seen = _everything(panel, bulk, admin)
    assert SECRET_REASON in seen
    assert "Overruled" in seen


def test_nobody_settles_a_dispute_of_their_own_in_passing() -> None:
    panel = open_panel(reviewers=2)
    anna, bob, cem = people(panel.project, 3)
    say(panel, anna, Verdict.REVISE)
    say(panel, bob)
    decided_together(adjudication(panel), actor=anna)
    assert "another seat" in BulkItem.objects.get().error
    assert adjudication(panel).state == "waiting"
    decided_together(adjudication(panel), actor=cem)
    assert adjudication(panel).state == "decided"
