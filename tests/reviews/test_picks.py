"""A person says which attempt to keep where the evidence does not settle it."""

from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from desk_sandbox.code_tests import FailureReason, TestReport, TestResult
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.models import Verdict
from reflection_app.runs.views.comparison import compare_answers
from tests import given, when
from tests.api.caller import Caller
from tests.reviews.picks import OPEN_PICK, answer, move_on, unsettled_pick
from tests.reviews.reviewed import claim_and_decide
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made(module_transaction: None) -> Review:
    """An unsettled pick between two attempts, the first of them proposed."""
    review = unsettled_pick(given.project("picks", review_policy={"audit_share": 0}))
    assert (review.attempt.number, review.verdict.verdict) == (1, "REVISE")
    return review


@pytest.fixture
def pick(made: Review) -> Review:
    return Review.objects.get(pk=made.pk)


@pytest.fixture
def project(made: Review) -> Project:
    return made.project


def test_approving_vouches_for_the_proposed_attempt_whatever_the_tests_said(pick: Review) -> None:
    decided = claim_and_decide(pick, "approve")
    sent = Verdict.objects.get(referee=6)
    assert (sent.attempt.number, sent.verdict, sent.score, sent.given_by) == (1, "PASS", 50.0, decided.decided_by)
    move_on(pick)
    assert pick.run.outcome == "succeeded"
    assert pick.run.best_attempt == pick.attempt


def test_picking_another_attempt_puts_the_verdict_on_that_one_and_keeps_it(pick: Review) -> None:
    decided = claim_and_decide(
        pick, "overrule", verdict=VerdictName.PASS, attempt=2, reason="It adds 100, as the task says."
    )
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
    claim_and_decide(pick, "overrule", verdict=VerdictName.PASS, attempt=1, score=77)
    assert pick.step is not None
    pick.step.refresh_from_db()
    result = pick.step.result or {}
    assert (result["picked"], result["score"]) == (None, 77)


def test_none_is_right_ends_the_run_as_rejected(pick: Review) -> None:
    claim_and_decide(pick, "overrule", verdict=VerdictName.REJECT)
    move_on(pick)
    assert pick.run.outcome == "rejected"


def test_sent_back_the_run_makes_another_attempt_from_what_the_person_said() -> None:
    pick = unsettled_pick(given.project(), answers=(*OPEN_PICK, answer(7)))
    claim_and_decide(pick, "overrule", verdict=VerdictName.REVISE, reason="Square every number.")
    move_on(pick)
    assert (pick.run.outcome, pick.run.attempts_made) == ("succeeded", 3)
    asked = pick.run.steps.get(key="attempt-3/answer")
    assert "Square every number." in asked.request["messages"][-1]["content"]


def test_a_decision_that_contradicts_itself_is_refused_and_changes_nothing(pick: Review) -> None:
    assert "1 of 7 tests that the model wrote pass." in pick.why
    revise, actor = VerdictName.REVISE, Actor(user=given.member(pick.project))
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("approve", {"attempt": 2}, "Approving selects attempt 1"),
        ("approve", {"verdict": revise}, "Approving selects attempt 1 with PASS"),
        ("approve", {"score": 99}, "Approving selects attempt 1 with PASS"),
        ("overrule", {"verdict": VerdictName.PASS, "attempt": 3}, "no attempt 3; it made 1, 2"),
        ("overrule", {"verdict": revise, "attempt": 2, "reason": "x"}, "picked with PASS"),
        ("overrule", {"attempt": 2}, "picked with PASS"),
        ("overrule", {"verdict": revise}, "Describe what to revise"),
        ("overrule", {}, "Overruling requires a verdict"),
    ]
    for decision, more, said in cases:
        with pytest.raises(InvalidInput, match=said) as refused:
            claim_and_decide(pick, decision, actor=actor, **more)
        assert "attempt" not in more or refused.value.errors[0]["field"] == "attempt"
    pick.refresh_from_db()
    assert pick.state == ReviewState.CLAIMED
    assert not Verdict.objects.filter(referee=6).exists()


def test_only_an_unsettled_pick_takes_an_attempt() -> None:
    with pytest.raises(InvalidInput, match="Only where the pick is unsettled") as refused:
        claim_and_decide(given.waiting_review(), "overrule", verdict=VerdictName.PASS, attempt=1, reason="It will do.")
    assert refused.value.errors[0]["field"] == "attempt"


# Over REST.


def test_a_list_with_picks_takes_two_queries_more_however_many_there_are(
    caller: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    waiting_rows(caller.project, 3)
    Review.objects.filter(project=caller.project).update(reason="unsettled_pick")
    caller.get("reviews")
    with django_assert_max_num_queries(5):
        assert len(caller.get("reviews").body["results"]) == 3


# The page on which a person says which attempt to keep.


def address(review: Review, act: str = "") -> str:
    return f"/p/picks/reviews/{review.pk}/{act}"


def pressed(review: Review, pick: str, **typed: object) -> dict[str, object]:
    return {"lease_token": str(review.lease_token), "pressed": "", "pick": pick, "reason": ""} | typed


def issue(description: str) -> dict[str, list[str]]:
    return {
        "issue_category": ["correctness"],
        "issue_severity": ["high"],
        "issue_description": [description],
        "issue_suggested_fix": [""],
    }


def test_the_page_shows_the_attempts_with_what_each_computes(reviewer: Client, pick: Review) -> None:
    page = reviewer.get(address(when.claims(reviewer, pick))).text
    assert page.count("attempts differ") == 6
    for value in ("-1", "102", "49"):
        assert f'<code class="value">{value}</code>' in page
    assert "<ins>" in page
    assert "agree with the critic" not in page.lower()


def test_keeping_another_attempt_is_told_on_the_pages_of_review_and_run(reviewer: Client, pick: Review) -> None:
    review = when.claims(reviewer, pick)
    reviewer.post(address(review, "decision/"), pressed(review, "2", reason="As asked."))
    move_on(review)
    assert review.run.best_attempt is not None
    assert review.run.best_attempt.number == 2
    for page in (address(review), f"/p/picks/runs/{review.run_id}/"):
        assert "selected attempt 2" in reviewer.get(page).text


@pytest.mark.parametrize(("pressed_pick", "verdict"), [("none", "REJECT"), ("back", "REVISE")])
def test_none_is_right_and_sending_back(reviewer: Client, pick: Review, pressed_pick: str, verdict: str) -> None:
    review = when.claims(reviewer, pick)
    reviewer.post(address(review, "decision/"), pressed(review, pressed_pick) | issue("Square them"))
    review.refresh_from_db()
    assert review.decided_verdict is not None
    assert review.decided_verdict.verdict == verdict
    assert review.decided_verdict.issues[0]["description"] == "Square them"
    assert reviewer.get(address(review)).status_code == 200


def test_the_least_settled_pick_comes_first_by_confidence_and_before_what_does_not_wait(
    reviewer: Client, project: Project, pick: Review
) -> None:
    repeated = unsettled_pick(project, answers=(answer(1), answer(1)))
    example_fails = unsettled_pick(project, answers=(answer(3), answer(3)), objective="Write f(n). f(5) == 25")
    page = reviewer.get("/p/picks/reviews/?sort=confidence").text
    places = [page.index(str(review.pk)) for review in (example_fails, pick, repeated)]
    assert places == sorted(places)
    Review.objects.filter(pk=repeated.pk).update(holds_run=False)
    page = reviewer.get("/p/picks/reviews/").text
    places = [page.index(str(review.pk)) for review in (pick, example_fails, repeated)]
    assert places == sorted(places)


def result(name: str, actual: str | None, *, expected: str = "1") -> TestResult:
    if actual is None:
        return TestResult(name=name, passed=True)
    return TestResult(name=name, passed=False, actual=actual, expected=expected, reason=FailureReason.WRONG_ANSWER)


def test_tests_on_which_attempts_part_come_first_and_values_are_compared_as_values() -> None:
    crash = TestResult(name="d", passed=False, error="boom", reason=FailureReason.EXCEPTION)
    one = [result("a", None), result("b", "{1, 2}"), result("c", None), crash]
    two = [result("a", None), result("b", "{2, 1}"), result("c", "5"), crash]
    lines = compare_answers({2: TestReport(results=tuple(two)), 1: TestReport(results=tuple(one))})
    assert [line.name for line in lines] == ["c", "b", "d", "a"]
    assert [line.attempts_differ for line in lines] == [True, False, False, False]
    assert [line.is_outvoted for line in lines] == [False, True, False, False]
    assert [(cell.number, cell.value) for cell in lines[0].cells] == [(1, "1"), (2, "5")]


def test_tests_of_one_name_are_told_apart_and_one_that_was_not_run_has_no_answer() -> None:
    one = TestReport(results=(result("a", None), result("a", "7")))
    two = TestReport(results=(result("a", None),))
    lines = compare_answers({1: one, 2: two})
    assert [line.all_pass for line in lines] == [False, True]
    assert lines[0].cells[1].result is None
