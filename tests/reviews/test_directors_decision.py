"""What a person decides about an attempt that the critic rejected."""

import pytest

from reflection_app.core.audit import AuditEntry
from reflection_app.core.errors import InvalidInput
from reflection_app.loops.attempt_effects import Decision, DirectorsDecision
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models import Ticket
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from tests import given
from tests.reviews.test_reviews import reviewer
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db(transaction=True)


def decide(review: Review, decision: Decision | DirectorsDecision, **said: object) -> Review:
    actor = reviewer(review)
    held = claim_review(review, actor=actor)
    return decide_review(held, DecisionInput(lease_token=held.lease_token, decision=decision, **said), actor=actor)


def test_redo_sends_it_back_with_the_order_first_on_the_ticket() -> None:
    review = given.waiting_review()
    decided = decide(review, DirectorsDecision.REDO, instructions="  Name five papers.  ")
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


def test_accept_takes_it_with_the_reason() -> None:
    review = given.waiting_review()
    decided = decide(review, DirectorsDecision.ACCEPT, reason="Enough for a draft.")
    advance(review.run_id)

    review.run.refresh_from_db()
    assert (review.run.outcome, decided.decision_reason) == ("succeeded", "Enough for a draft.")
    assert decided.directors_decision is DirectorsDecision.ACCEPT
    assert AuditEntry.objects.get(action="review.decided").after["directors_decision"] == "accept"


def test_close_ends_the_run_as_rejected() -> None:
    review = given.waiting_review()
    decided = decide(review, DirectorsDecision.CLOSE)
    advance(review.run_id)

    review.run.refresh_from_db()
    assert (review.run.outcome, decided.decision) == ("rejected", "approve")
    assert AuditEntry.objects.get(action="review.decided").after["directors_decision"] == "close"


@pytest.mark.parametrize(
    ("decision", "said", "field"),
    [
        (DirectorsDecision.REDO, {}, "instructions"),
        (DirectorsDecision.REDO, {"instructions": " \n "}, "instructions"),
        (DirectorsDecision.REDO, {"reason": "in the wrong field"}, "instructions"),
        (DirectorsDecision.REDO, {"instructions": "x", "verdict": VerdictName.PASS}, "verdict"),
        (DirectorsDecision.ACCEPT, {}, "reason"),
        (DirectorsDecision.ACCEPT, {"reason": "  "}, "reason"),
        (Decision.OVERRULE, {"verdict": VerdictName.PASS}, "reason"),
        (Decision.APPROVE, {"instructions": "Do more."}, "instructions"),
    ],
)
def test_what_does_not_say_enough_is_refused_and_changes_nothing(
    decision: Decision | DirectorsDecision, said: dict[str, object], field: str
) -> None:
    review = given.waiting_review()
    with pytest.raises(InvalidInput) as refused:
        decide(review, decision, **said)
    assert refused.value.errors[0]["field"] == field
    review.refresh_from_db()
    assert review.state == ReviewState.CLAIMED
    assert not AuditEntry.objects.filter(action="review.decided").exists()


def test_only_a_rejected_attempt_that_is_waited_for_has_a_director() -> None:
    answers = {"attempt-1/answer": "first", "attempt-1/critique": critique(80, approved=True, confidence=0.2)}
    run = given.scripted_run(answers, project=given.project(review_policy={"audit_share": 0}))
    advance(run.pk)
    with pytest.raises(InvalidInput) as refused:
        decide(Review.objects.get(run=run), DirectorsDecision.REDO, instructions="Again.")
    assert refused.value.errors[0]["field"] == "decision"
