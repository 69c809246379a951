"""A person says which attempt to keep where the evidence does not settle it."""

from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.models import Verdict
from tests import given
from tests.api.caller import Caller
from tests.reviews.picks import OPEN_PICK, answer, kept_against_a_test, move_on, unsettled_pick

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pick() -> Review:
    """An unsettled pick between two attempts, the first of them proposed."""
    review = unsettled_pick(given.project())
    assert (review.attempt.number, review.verdict.verdict) == (1, "REVISE")
    return review


def decide(review: Review, decision: str, **more: Any) -> tuple[Review, Actor]:
    actor = Actor(user=given.member(review.project))
    held = claim_review(review, actor=actor)
    told = DecisionInput(lease_token=held.lease_token, decision=Decision(decision), **more)
    return decide_review(review, told, actor=actor), actor


def test_the_review_tells_what_the_evidence_says(pick: Review) -> None:
    assert "1 of 7 tests that the model wrote pass." in pick.why


def test_approving_vouches_for_the_proposed_attempt_whatever_the_tests_said(pick: Review) -> None:
    _, actor = decide(pick, "approve")
    sent = Verdict.objects.get(referee=6)
    assert (sent.attempt.number, sent.verdict, sent.score, sent.given_by) == (1, "PASS", 50.0, actor.user)
    move_on(pick)
    assert pick.run.outcome == "succeeded"
    assert pick.run.best_attempt == pick.attempt


def test_picking_another_attempt_puts_the_verdict_on_that_one_and_keeps_it(pick: Review) -> None:
    decided, _ = decide(pick, "overrule", verdict=VerdictName.PASS, attempt=2, reason="It adds 100, as the task says.")
    assert decided.decided_verdict is not None
    assert decided.decided_verdict.attempt.number == 2
    pick.run.refresh_from_db()
    assert pick.run.best_attempt is not None
    assert pick.run.best_attempt.number == 2
    assert pick.step is not None
    pick.step.refresh_from_db()
    result = pick.step.result or {}
    assert (result["picked"], result["verdict"]) == (2, "PASS")

    move_on(pick)
    assert (pick.run.outcome, pick.run.best_attempt.number) == ("succeeded", 2)
    trail = AuditEntry.objects.get(action="review.decided")
    assert (trail.before["attempt"], trail.after["attempt"], trail.after["verdict"]) == (1, 2, "PASS")


def test_naming_the_proposed_attempt_is_no_other_pick(pick: Review) -> None:
    decide(pick, "overrule", verdict=VerdictName.PASS, attempt=1, score=77)
    assert pick.step is not None
    pick.step.refresh_from_db()
    result = pick.step.result or {}
    assert (result["picked"], result["score"]) == (None, 77)


def test_none_is_right_ends_the_run_as_rejected(pick: Review) -> None:
    decide(pick, "overrule", verdict=VerdictName.REJECT)
    move_on(pick)
    assert pick.run.outcome == "rejected"


def test_sent_back_the_run_makes_another_attempt_from_what_the_person_said() -> None:
    pick = unsettled_pick(given.project(), answers=(*OPEN_PICK, answer(7)))
    decide(pick, "overrule", verdict=VerdictName.REVISE, reason="Square every number.")
    move_on(pick)
    assert (pick.run.outcome, pick.run.attempts_made) == ("succeeded", 3)
    asked = pick.run.steps.get(key="attempt-3/answer")
    assert "Square every number." in asked.request["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("decision", "more", "said"),
    [
        ("approve", {"attempt": 2}, "Approving keeps attempt 1"),
        ("approve", {"verdict": VerdictName.REVISE}, "Approving keeps attempt 1 with PASS"),
        ("approve", {"score": 99}, "Approving keeps attempt 1 with PASS"),
        ("overrule", {"verdict": VerdictName.PASS, "attempt": 3}, "no attempt 3; it made 1, 2"),
        ("overrule", {"verdict": VerdictName.REJECT, "attempt": 2}, "picked with PASS"),
        ("overrule", {"verdict": VerdictName.REVISE, "attempt": 2, "reason": "x"}, "picked with PASS"),
        ("overrule", {"attempt": 2}, "picked with PASS"),
        ("overrule", {"verdict": VerdictName.REVISE}, "Say what is to be revised"),
        ("overrule", {}, "Overruling needs a verdict"),
    ],
)
def test_a_decision_that_contradicts_itself_is_refused_and_changes_nothing(
    pick: Review, decision: str, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said) as refused:
        decide(pick, decision, **more)
    if "attempt" in more:
        assert refused.value.errors[0]["field"] == "attempt"
    pick.refresh_from_db()
    assert pick.state == ReviewState.CLAIMED
    assert not Verdict.objects.filter(referee=6).exists()


def test_only_an_unsettled_pick_takes_an_attempt() -> None:
    with pytest.raises(InvalidInput, match="Only where the pick is unsettled") as refused:
        decide(given.waiting_review(), "overrule", verdict=VerdictName.PASS, attempt=1, reason="It will do.")
    assert refused.value.errors[0]["field"] == "attempt"


# Over REST.


def test_a_pick_tells_why_it_is_open_and_what_there_is_to_pick_from(caller: Caller) -> None:
    review = unsettled_pick(caller.project)
    told = caller.get(f"reviews/{review.pk}").body
    assert (told["reason"], told["attempt"]["number"]) == ("unsettled_pick", 1)
    assert "1 of 7 tests that the model wrote pass." in told["why"]
    assert [(one["number"], one["content"], one["referee"]) for one in told["candidates"]] == [
        (1, OPEN_PICK[0], "generated_tests"),
        (2, OPEN_PICK[1], "generated_tests"),
    ]
    assert told["candidates"][0]["score"] == pytest.approx(14.29)


def test_code_kept_against_a_test_of_a_model_is_unverified_with_the_reason(caller: Caller) -> None:
    run = caller.get(f"runs/{kept_against_a_test(caller.project).pk}").body
    assert (run["outcome"], run["best_attempt"]["number"], run["waiting_for"]) == ("unverified", 1, None)
    assert "6 of 7 tests that the model wrote pass." in run["error"]
    assert run["error"].endswith("nothing shows that they are wrong: assert f(7) == 49.")


def test_a_list_with_picks_takes_two_queries_more_however_many_there_are(
    caller: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(3):
        unsettled_pick(caller.project)
    caller.get("reviews")
    with django_assert_max_num_queries(5):
        assert len(caller.get("reviews").body["results"]) == 3
