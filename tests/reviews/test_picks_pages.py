"""The page on which a person says which attempt to keep."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.code_tests import FailureReason, TestReport, TestResult
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.views.comparison import compare_answers
from tests import given, when
from tests.reviews.picks import answer, move_on, unsettled_pick

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project() -> Project:
    return given.project("picks", review_policy={"audit_share": 0})


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


def test_the_page_tells_why_and_shows_the_attempts_with_what_each_computes(reviewer: Client, project: Project) -> None:
    review = when.claims(reviewer, unsettled_pick(project))
    page = reviewer.get(address(review)).text
    assert "The evidence does not settle which attempt to keep" in page
    assert "1 of 7 tests that the model wrote pass." in page
    assert page.count("The run would keep it") == 1
    assert "Keep attempt 1" in page
    assert "Keep attempt 2" in page
    assert "None is right" in page
    assert page.count("the attempts differ") == 6
    assert "1 test that all attempts pass" in page
    for value in ("-1", "102", "49"):
        assert f'<code class="value">{value}</code>' in page
    assert "line-sign" in page
    assert "<ins>" in page
    assert "agree with the critic" not in page.lower()


def test_keeping_another_attempt_is_told_on_the_pages_of_review_and_run(reviewer: Client, project: Project) -> None:
    review = when.claims(reviewer, unsettled_pick(project))
    page = reviewer.post(address(review, "decision/"), pressed(review, "2", reason="As asked."), follow=True)
    assert "You kept attempt 2. The run succeeds." in page.text
    move_on(review)
    assert review.run.best_attempt is not None
    assert review.run.best_attempt.number == 2
    told = reviewer.get(address(review)).text
    assert "kept attempt 2" in told
    assert told.count("Kept by") == 1
    run_page = reviewer.get(f"/p/picks/runs/{review.run_id}/").text
    assert "kept attempt 2" in run_page
    assert "the critic" not in run_page
    assert "Attempt 1 stands so far, not settled" in run_page
    assert "Tests written by a model" in run_page
    assert "random check" not in run_page


@pytest.mark.parametrize(
    ("pick", "verdict", "said"),
    [("none", "REJECT", "found no attempt"), ("back", "REVISE", "sent it back")],
)
def test_none_is_right_and_sending_back(reviewer: Client, project: Project, pick: str, verdict: str, said: str) -> None:
    review = when.claims(reviewer, unsettled_pick(project))
    reviewer.post(address(review, "decision/"), pressed(review, pick) | issue("Square them"))
    review.refresh_from_db()
    assert review.decided_verdict is not None
    assert review.decided_verdict.verdict == verdict
    assert review.decided_verdict.issues[0]["description"] == "Square them"
    page = reviewer.get(address(review)).text
    assert said in page
    assert "Square them" in page


@pytest.mark.parametrize(
    ("pick", "said"),
    [("back", "Say what is to be revised"), ("7", "no attempt 7"), ("two", "Choose one of the"), ("", "Choose")],
)  # fmt: skip
def test_what_cannot_be_decided_is_refused_with_all_kept(
    reviewer: Client, project: Project, pick: str, said: str
) -> None:
    review = when.claims(reviewer, unsettled_pick(project))
    typed = pressed(review, pick) | issue("") | ({"reason": "My words"} if pick != "back" else {})
    page = reviewer.post(address(review, "decision/"), typed)
    assert page.status_code == 400
    assert said in page.text
    assert pick == "back" or "My words" in page.text
    assert Review.objects.get(pk=review.pk).state == ReviewState.CLAIMED


def test_a_lost_lease_keeps_the_choice_and_what_was_typed(reviewer: Client, project: Project) -> None:
    review = when.claims(reviewer, unsettled_pick(project))
    Review.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    typed = pressed(review, "2", reason="Well thought") | issue("Mine")
    page = reviewer.post(address(review, "decision/"), typed)
    assert page.status_code == 409
    assert "You had chosen: <strong>Keep attempt 2</strong>" in page.text
    again = reviewer.post(address(review, "claim/"), typed | {"pick": "", "pressed": "2"})
    review.refresh_from_db()
    assert again.status_code == 200
    assert "Well thought" in again.text
    assert 'value="Mine"' in again.text
    assert f'value="{review.lease_token}"' in again.text


def test_hostile_code_tests_and_errors_stay_text(reviewer: Client, project: Project) -> None:
    text = f"# {given.HOSTILE}\n"
    answers = (answer(1, before=text, otherwise=repr(given.HOSTILE)), answer(1, otherwise="1 / 0", before=text))
    review = when.claims(reviewer, unsettled_pick(project, answers=answers, objective=f"Write f(n). {given.HOSTILE}"))
    page = reviewer.get(address(review)).text
    for alive in ("<script>alert", "<img src", "<b onclick", 'href="javascript:'):
        assert alive not in page
    assert "ZeroDivisionError" in page


def test_the_least_settled_pick_comes_first_by_confidence_and_before_what_does_not_wait(
    reviewer: Client, project: Project
) -> None:
    repeated = unsettled_pick(project, answers=(answer(1), answer(1)))
    contested = unsettled_pick(project)
    example_fails = unsettled_pick(project, answers=(answer(3), answer(3)), objective="Write f(n). f(5) == 25")
    page = reviewer.get("/p/picks/reviews/?sort=confidence").text
    places = [page.index(str(review.pk)) for review in (example_fails, contested, repeated)]
    assert places == sorted(places)
    Review.objects.filter(pk=repeated.pk).update(holds_run=False)
    page = reviewer.get("/p/picks/reviews/").text
    places = [page.index(str(review.pk)) for review in (contested, example_fails, repeated)]
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
