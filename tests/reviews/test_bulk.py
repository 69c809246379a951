"""Deciding many reviews together: each by itself, each with its own result, all of it taken back together."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import Conflict, InvalidInput, NotYours
from reflection_app.core.models import Membership, Project, Role
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.bulk import BulkInput, begin_bulk, undo_bulk, work_through
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import BulkDecision, BulkItem, BulkState, Panel, Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.models import RunState, Verdict
from tests import given
from tests.reviews.panels import SECRET_REASON, adjudication, open_panel, panel_project, people, say
from tests.reviews.test_reviews import together

pytestmark = pytest.mark.django_db


def queue_of(count: int, name: str) -> tuple[Project, list[Review]]:
    project = given.unsure_project(name)
    return project, [given.waiting_review(project) for _ in range(count)]


def told(reviews: list[Review], **more: Any) -> BulkInput:
    return BulkInput.model_validate({"reviews": [review.pk for review in reviews], "decision": "approve"} | more)


def states(bulk: BulkDecision) -> list[str]:
    return list(BulkItem.objects.filter(bulk=bulk).order_by("position").values_list("state", flat=True))


def test_all_are_decided_with_one_reason_and_their_runs_go_on() -> None:
    project, reviews = queue_of(3, "bulk-overrule")
    actor = Actor(user=given.member(project))
    bulk = begin_bulk(project, told(reviews, decision="overrule", verdict="REVISE", reason="No sources."), actor=actor)
    work_through(bulk.pk)

    bulk.refresh_from_db()
    assert (bulk.state, states(bulk)) == (BulkState.DONE, ["done"] * 3)
    for review in reviews:
        review.refresh_from_db()
        assert (review.state, review.decision, review.decision_reason) == ("decided", "overrule", "No sources.")
        assert review.decided_by == actor.user
        assert review.run.state == RunState.QUEUED
        advance(review.run_id)
    assert Verdict.objects.filter(referee=6, verdict="REVISE").count() == 3
    assert AuditEntry.objects.filter(action="review.decided").count() == 3
    assert AuditEntry.objects.get(action="bulk.begun").after["items"] == 3
    assert AuditEntry.objects.get(action="bulk.done").after == {"done": 3, "failed": 0}


def test_what_somebody_else_holds_or_has_decided_fails_alone_and_says_why() -> None:
    project, (held, decided, free) = queue_of(3, "bulk-failures")
    other = Actor(user=given.member(project))
    claim_review(held, actor=other)
    token = claim_review(decided, actor=other).lease_token
    decide_review(decided, DecisionInput(lease_token=token, decision="approve"), actor=other)

    bulk = begin_bulk(project, told([held, decided, free]), actor=Actor(user=given.member(project)))
    work_through(bulk.pk)
    assert states(bulk) == ["failed", "failed", "done"]
    errors = list(BulkItem.objects.filter(bulk=bulk, state="failed").values_list("error", flat=True))
    assert "has locked this review until" in errors[0]
    assert "already decided this review (" in errors[1]
    held.refresh_from_db()
    assert (held.state, held.holder) == (ReviewState.CLAIMED, other.user)


def test_a_decision_that_says_too_little_or_too_much_is_refused_whole() -> None:
    project, reviews = queue_of(1, "bulk-wrong")
    for wrong, field in (
        ({"decision": "overrule", "reason": "Because."}, "verdict"),
        ({"decision": "overrule", "verdict": "PASS", "reason": "  "}, "reason"),
        ({"verdict": "PASS"}, "verdict"),
    ):
        with pytest.raises(InvalidInput) as refused:
            begin_bulk(project, told(reviews, **wrong), actor=Actor(user=given.member(project)))
        assert [error["field"] for error in refused.value.errors] == [field]
    assert not BulkDecision.objects.exists()


def test_another_projects_review_is_as_good_as_none() -> None:
    _, reviews = queue_of(1, "bulk-theirs")
    mine = given.project("bulk-mine")
    with pytest.raises(InvalidInput, match="not found"):
        begin_bulk(mine, told(reviews), actor=Actor(user=given.member(mine)))
    with pytest.raises(InvalidInput, match="not found"):
        begin_bulk(mine, BulkInput(reviews=(uuid4(),), decision="approve"), actor=Actor(user=given.member(mine)))


def test_whoever_lost_the_right_to_review_decides_nothing_any_more() -> None:
    project, reviews = queue_of(2, "bulk-removed")
    user = given.member(project)
    bulk = begin_bulk(project, told(reviews), actor=Actor(user=user))
    Membership.objects.filter(user=user).update(role=Role.VIEWER)
    work_through(bulk.pk)
    assert states(bulk) == ["failed"] * 2
    assert set(Review.objects.values_list("state", flat=True)) == {"waiting"}


@pytest.mark.django_db(transaction=True)
def test_two_workers_and_a_message_that_comes_twice_decide_each_item_once() -> None:
    project, reviews = queue_of(6, "bulk-twice")
    bulk = begin_bulk(project, told(reviews), actor=Actor(user=given.member(project)))
    together(*[lambda: work_through(bulk.pk)] * 3)
    work_through(bulk.pk)
    bulk.refresh_from_db()
    assert (bulk.state, states(bulk)) == (BulkState.DONE, ["done"] * 6)
    assert AuditEntry.objects.filter(action="review.decided").count() == 6
    assert AuditEntry.objects.filter(action="bulk.done").count() == 1


def test_it_is_taken_back_together_and_what_cannot_be_says_why() -> None:
    project, reviews = queue_of(3, "bulk-undo")
    actor = Actor(user=given.member(project))
    bulk = begin_bulk(project, told(reviews), actor=actor)
    work_through(bulk.pk)
    for review in reviews:
        advance(review.run_id)
    told_of = reviews[1].run
    told_of.refresh_from_db()
    told_of.told_seq = told_of.last_event_seq
    told_of.save(update_fields=["told_seq"])

    undo_bulk(bulk, actor=actor)
    with pytest.raises(Conflict, match="A bulk decision can be undone once, after it is complete"):
        undo_bulk(bulk, actor=actor)
    work_through(bulk.pk)
    bulk.refresh_from_db()
    assert (bulk.state, states(bulk)) == (BulkState.UNDONE, ["undone", "kept", "undone"])
    assert BulkItem.objects.get(bulk=bulk, state="kept").error
    after = [(review.state, review.run.state) for review in Review.objects.order_by("created_at").select_related("run")]
    assert after == [("waiting", "waiting_review"), ("decided", "finished"), ("waiting", "waiting_review")]


# No way round rights, blindness or what was told.


def decided_together(*reviews: Review, actor: Actor | None = None, **said: str) -> BulkDecision:
    project = reviews[0].project
    told = BulkInput.model_validate({"reviews": [one.pk for one in reviews], "decision": "approve"} | said)
    bulk = begin_bulk(project, told, actor=actor or Actor(user=given.member(project)))
    work_through(bulk.pk)
    return bulk


def test_another_does_not_take_it_back_and_an_admin_does_under_their_own_name() -> None:
    _project, (review,) = queue_of(1, "bulk-rights")
    bulk = decided_together(review)
    with pytest.raises(NotYours):
        undo_bulk(bulk, actor=Actor(user=given.member(review.project)))
    assert BulkDecision.objects.get().state == "done"

    # Also of somebody who has left.
    Membership.objects.filter(user=bulk.user).delete()
    admin = given.member(review.project, Role.ADMIN)
    undo_bulk(bulk, actor=Actor(user=admin))
    work_through(bulk.pk)
    assert BulkItem.objects.get().state == "undone"
    assert AuditEntry.objects.get(action="review.undone").actor_label == admin.username


def test_what_somebody_else_has_decided_anew_is_kept() -> None:
    _project, (review,) = queue_of(1, "bulk-rights")
    admin = Actor(user=given.member(review.project, Role.ADMIN))
    bulk = decided_together(review, actor=admin)
    other = given.member(review.project)
    Review.objects.filter(pk=review.pk).update(decided_by=other, decided_by_label=other.get_username())
    undo_bulk(bulk, actor=Actor(user=given.member(review.project, Role.ADMIN)))
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
    admin = Actor(user=given.member(panel.project, Role.ADMIN))
    seat = Review.objects.filter(panel=panel)[0]
    bulk = decided_together(seat, actor=anna, decision="overrule", verdict="REVISE", reason=SECRET_REASON)
    assert BulkItem.objects.get().state == "done"

    seen = _everything(panel, bulk, admin)
    assert "Hidden until all reviewers have decided." in seen
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
    say(panel, anna, VerdictName.REVISE)
    say(panel, bob)
    decided_together(adjudication(panel), actor=anna)
    assert "You are already a reviewer on this panel." in BulkItem.objects.get().error
    assert adjudication(panel).state == "waiting"
    decided_together(adjudication(panel), actor=cem)
    assert adjudication(panel).state == "decided"


# Bulk decisions in the browser: what is chosen, what comes back where it is refused, progress, taking back.


@pytest.fixture
def project() -> Project:
    return given.unsure_project("desk")


def address(name: str, project: Project, **more: Any) -> str:
    return reverse(name, kwargs={"slug": project.slug, **more})


def test_a_decision_that_says_too_little_comes_back_with_what_was_typed(reviewer: Client, project: Project) -> None:
    review = given.waiting_review(project)
    for typed in ({"choice": "REVISE", "reason": ""}, {"choice": "MAYBE", "reason": "kept words"}):
        page = reviewer.post(address("start_bulk", project), {"review": str(review.pk), **typed})
        assert page.status_code == 400
        assert typed["reason"] in page.text
        assert f'name="review" value="{review.pk}"' in page.text
    assert not BulkDecision.objects.exists()


def test_all_of_a_view_are_decided_together_with_their_progress_and_lead_on_within_it(
    reviewer: Client, project: Project
) -> None:
    mine, other = given.waiting_review(project, agent="writer"), given.waiting_review(project, agent="coder")
    assert str(other.pk) in reviewer.post(address("new_bulk", project), {"review": str(other.pk)}).text
    form = reviewer.post(f"{address('new_bulk', project)}?agent=writer", {"all": "1", "review": str(other.pk)})
    assert str(other.pk) not in form.text
    view = f"{address('start_bulk', project)}?queue=agent%3Dwriter"
    assert f'action="{view}"' in form.text
    shown = reviewer.post(view, {"review": str(mine.pk), "choice": "agree"}, follow=True)
    bulk = BulkDecision.objects.get()
    assert shown.redirect_chain[-1][0].startswith(address("bulk", project, bulk_id=bulk.pk))
    work_through(bulk.pk)
    part = reviewer.get(address("bulk", project, bulk_id=bulk.pk), headers={"HX-Request": "true"})
    assert part.text.lstrip().startswith('<div id="bulk-progress">')
    done = reviewer.get(shown.redirect_chain[-1][0]).text
    assert f'action="{address("next_review", project)}?queue=agent%3Dwriter"' in done
    # What was decided is listed, not folded away.
    assert f'href="{address("review", project, review_id=mine.pk)}"' in done
    assert reviewer.get(address("bulk_list", project)).status_code == 200
