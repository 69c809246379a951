import threading
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import ActionError, AlreadyDecided, InvalidInput, ReviewHeld, ReviewLeaseLost
from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import Decision, DirectorsDecision
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models import Ticket
from reflection_app.reviews.claiming import claim_next, claim_review, keep_review, release_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run, RunState, Verdict
from reflection_app.runs.resuming import cancel_run
from tests import given
from tests.reviews.reviewed import claim_and_decide
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db


def reviewer(review: Review) -> Actor:
    return Actor(user=given.member(review.project))


def approve(review: Review) -> DecisionInput:
    return DecisionInput(lease_token=review.lease_token, decision=Decision.APPROVE)


def overrule(review: Review, verdict: VerdictName, **more: object) -> DecisionInput:
    return DecisionInput(lease_token=review.lease_token, decision=Decision.OVERRULE, verdict=verdict, **more)


@pytest.fixture
def review(db: None) -> Review:
    return given.waiting_review()


@pytest.fixture
def actor(review: Review) -> Actor:
    return reviewer(review)


@pytest.mark.parametrize(
    ("decision", "said", "outcome", "attempts"),
    [
        ("approve", {}, "rejected", 1),
        ("overrule", {"verdict": VerdictName.PASS, "reason": "Good."}, "succeeded", 1),
        ("overrule", {"verdict": VerdictName.REVISE, "reason": "Shorter."}, "succeeded", 2),
        ("accept", {"reason": "Enough for a draft."}, "succeeded", 1),
        ("close", {}, "rejected", 1),
    ],
)
def test_each_decision_ends_the_run_or_sends_it_on(
    review: Review, actor: Actor, *, decision: str, said: dict[str, Any], outcome: str, attempts: int
) -> None:
    decided = claim_and_decide(review, decision, actor=actor, **said)
    review.run.refresh_from_db()
    assert review.run.state == RunState.QUEUED
    advance(review.run_id)

    review.run.refresh_from_db()
    assert (review.run.outcome, review.run.attempts_made) == (outcome, attempts)
    trail = AuditEntry.objects.get(action="review.decided")
    assert (trail.actor_label, trail.before["verdict"]) == (actor.label, "REJECT")
    assert decided.decision_reason == said.get("reason", "")
    assert decided.directors_decision == ("close" if outcome == "rejected" else "accept" if attempts == 1 else "redo")
    sent = Verdict.objects.get(attempt=review.attempt, referee=6)
    assert sent.given_by == actor.user
    assert (sent.verdict, sent.score) == ("PASS", 50.0) or outcome == "rejected" or attempts == 2


def test_approving_changes_nothing_and_says_so_where_it_was_asked_to(review: Review, actor: Actor) -> None:
    held = claim_review(review, actor=actor)
    other = DecisionInput(lease_token=held.lease_token, decision=Decision.APPROVE, score=99)
    with pytest.raises(InvalidInput, match="Approving does not change verdict"):
        decide_review(review, other, actor=actor)


def test_a_decision_with_a_strange_token_is_refused(review: Review, actor: Actor) -> None:
    claim_review(review, actor=actor)
    with pytest.raises(ReviewLeaseLost):
        decide_review(review, DecisionInput(lease_token=uuid4(), decision=Decision.APPROVE), actor=actor)


def test_a_decision_after_the_lease_ran_out_is_refused_even_where_nobody_took_over(
    review: Review, actor: Actor
) -> None:
    held = claim_review(review, actor=actor)
    Review.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    with pytest.raises(ReviewLeaseLost, match="Your lock on this review expired"):
        decide_review(review, approve(held), actor=actor)
    with pytest.raises(ReviewLeaseLost):
        keep_review(review, lease_token=held.lease_token or uuid4())


def test_what_somebody_holds_cannot_be_claimed_until_the_lease_ran_out(review: Review) -> None:
    first, second = reviewer(review), reviewer(review)
    claim_review(review, actor=first)
    with pytest.raises(ReviewHeld):
        claim_review(review, actor=second)
    assert claim_next(review.project, actor=second) is None

    Review.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    taken = claim_next(review.project, actor=second)
    assert taken is not None
    assert taken.holder == second.user


def test_claiming_again_keeps_the_token_while_the_lease_stands(review: Review, actor: Actor) -> None:
    first = claim_review(review, actor=actor).lease_token
    Review.objects.update(lease_until=timezone.now() + timedelta(seconds=1))
    again = claim_review(review, actor=actor)
    assert again.lease_token == first
    assert again.lease_until is not None
    assert again.lease_until > timezone.now() + timedelta(minutes=5)

    Review.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert claim_review(review, actor=actor).lease_token != first


def test_a_heartbeat_moves_the_end_of_the_lease(review: Review) -> None:
    held = claim_review(review, actor=reviewer(review))
    Review.objects.update(lease_until=timezone.now() + timedelta(seconds=1))
    assert held.lease_token is not None
    assert keep_review(review, lease_token=held.lease_token) > timezone.now() + timedelta(minutes=5)


def test_a_released_review_waits_again(review: Review) -> None:
    held = claim_review(review, actor=reviewer(review))
    assert held.lease_token is not None
    release_review(review, lease_token=held.lease_token, actor=reviewer(review))
    review.refresh_from_db()
    assert (review.state, review.holder, review.lease_token) == (ReviewState.WAITING, None, None)


def test_a_review_of_a_cancelled_run_is_withdrawn(review: Review, actor: Actor) -> None:
    held = claim_review(review, actor=actor)
    cancel_run(review.run, actor=actor)
    with pytest.raises(AlreadyDecided, match="withdrawn"):
        decide_review(review, approve(held), actor=actor)


@pytest.mark.usefixtures("audit")
def test_reviews_that_a_run_waits_for_come_before_older_audits(project: Project) -> None:
    held_run = given.waiting_review(project)

    first = claim_next(project, actor=Actor())
    second = claim_next(project, actor=Actor())
    assert first is not None
    assert second is not None
    assert (first.pk, second.reason) == (held_run.pk, "audit")


@pytest.fixture
def audit(project: Project) -> Review:
    """The audit of a PASS; its run has ended."""
    run = given.scripted_run(
        {"attempt-1/answer": "x", "attempt-1/critique": critique(90, approved=True)}, project=project
    )
    run.spec["review_policy"]["audit_share"] = 1.0
    run.save()
    advance(run.pk)
    return Review.objects.get(run=run)


def test_deciding_an_audit_leaves_the_finished_run_as_it_is(audit: Review) -> None:
    claim_and_decide(audit, "overrule", verdict=VerdictName.REJECT)
    audit.run.refresh_from_db()
    assert (audit.run.state, audit.run.outcome) == (RunState.FINISHED, "succeeded")
    assert Verdict.objects.filter(attempt__run=audit.run).count() == 2


def test_an_audited_pass_that_a_person_overrules_goes_back_with_the_persons_issues_in_a_run_of_its_own(
    audit: Review,
) -> None:
    issue = Issue(description="来源是错的", suggested_fix="查原文")
    claim_and_decide(audit, "overrule", verdict=VerdictName.REVISE, issues=(issue,), reason="")

    run = Run.objects.get(pk=audit.run_id)
    assert (run.state, run.outcome, run.tickets.count()) == (RunState.FINISHED, "succeeded", 0)
    again = Run.objects.get(parent=run)
    advance(again.pk)
    ticket = again.tickets.get(attempt__number=1)
    assert (ticket.trigger, ticket.issues) == ("persons_order", [issue.model_dump(mode="json")])
    assert "查原文" in ticket.repair_plan
    assert Event.objects.filter(run=run, type="run.redone").count() == 1


def together(*calls: object) -> list[object]:
    """What each call returned or raised, all started at once, each on its own connection."""
    gate, results = threading.Barrier(len(calls)), []

    def call(function: object) -> None:
        gate.wait()
        try:
            results.append(function())  # type: ignore[operator]
        except ActionError as error:
            results.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=call, args=(one,)) for one in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.django_db(transaction=True)
def test_of_two_decisions_at_once_one_wins_and_one_is_told(review: Review, actor: Actor) -> None:
    held = claim_review(review, actor=actor)
    results = together(
        lambda: decide_review(review, approve(held), actor=actor),
        lambda: decide_review(
            Review.objects.get(pk=review.pk), overrule(held, VerdictName.PASS, reason="Good."), actor=actor
        ),
    )

    assert sorted(type(result).__name__ for result in results) == ["AlreadyDecided", "Review"]
    assert AuditEntry.objects.filter(action="review.decided").count() == 1
    assert Verdict.objects.filter(attempt=review.attempt, referee=6).count() == 1


@pytest.mark.django_db(transaction=True)
def test_eight_reviewers_claiming_at_once_never_get_the_same_item(project: Project) -> None:
    for _ in range(5):
        given.waiting_review(project)
    claimed = together(*[lambda: claim_next(project, actor=Actor()) for _ in range(8)])
    got = [review.pk for review in claimed if isinstance(review, Review)]
    assert len(got) == len(set(got)) == 5
    assert claimed.count(None) == 3


# What a person decides about an attempt that the critic rejected.


def test_redo_sends_it_back_with_the_order_first_on_the_ticket(review: Review) -> None:
    decided = claim_and_decide(review, DirectorsDecision.REDO, instructions="  Name five papers.  ")
    advance(review.run_id)

    ticket = Ticket.objects.get(run=review.run_id)
    assert (ticket.verdict, ticket.trigger) == ("REVISE", "persons_review")
    assert ticket.issues[0]["suggested_fix"] == "Name five papers."
    assert ticket.repair_plan[0] == "Name five papers."
    assert ticket.repair_plan.count("Name five papers.") == 1
    assert (decided.decision, decided.directors_decision) == ("overrule", DirectorsDecision.REDO)
    assert decided.decision_reason == "Name five papers."
    assert AuditEntry.objects.get(action="review.decided").after["directors_decision"] == "redo"
    review.run.refresh_from_db()
    assert review.run.attempts_made == 2


@pytest.mark.parametrize(
    ("decision", "said", "field"),
    [
        (DirectorsDecision.REDO, {"instructions": " \n "}, "instructions"),
        (DirectorsDecision.REDO, {"reason": "in the wrong field"}, "instructions"),
        (DirectorsDecision.REDO, {"instructions": "x", "verdict": VerdictName.PASS}, "verdict"),
        (DirectorsDecision.ACCEPT, {"reason": "  "}, "reason"),
        (Decision.OVERRULE, {"verdict": VerdictName.PASS}, "reason"),
        (Decision.APPROVE, {"instructions": "Do more."}, "instructions"),
    ],
)
def test_what_does_not_say_enough_is_refused_and_changes_nothing(
    decision: Decision | DirectorsDecision, said: dict[str, Any], field: str, review: Review
) -> None:
    with pytest.raises(InvalidInput) as refused:
        claim_and_decide(review, decision, **said)
    assert refused.value.errors[0]["field"] == field
    review.refresh_from_db()
    assert review.state == ReviewState.CLAIMED
    assert not AuditEntry.objects.filter(action="review.decided").exists()


def test_only_a_rejected_attempt_that_is_waited_for_has_a_director() -> None:
    answers = {"attempt-1/answer": "first", "attempt-1/critique": critique(80, approved=True, confidence=0.2)}
    run = given.scripted_run(answers, project=given.project(review_policy={"audit_share": 0}))
    advance(run.pk)
    with pytest.raises(InvalidInput) as refused:
        claim_and_decide(Review.objects.get(run=run), DirectorsDecision.REDO, instructions="Again.")
    assert refused.value.errors[0]["field"] == "decision"
