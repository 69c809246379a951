"""Whole runs with tests that are broken: right work is not sent back, and nothing is paid for that shows no more."""

import pytest
from django.test import Client

from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from tests import given, when
from tests.reviews.picks import move_on
from tests.runs.broken_tests import run_with_script

pytestmark = pytest.mark.django_db

BROKEN = {
    "a module that is nowhere": "from calculator import add\n\nassert add(1, 2) == 3",
    "a name that nobody defines": "assert add(1, 2) == expected",
    "an error of its own": "def test_add():\n    wanted = {}['three']\n    assert add(1, 2) == wanted",
    "an assertion on itself": "assert 1 == 2",
}


@pytest.fixture
def project() -> Project:
    return given.project("broken", review_policy={"audit_share": 0})


@pytest.mark.parametrize("what", BROKEN)
def test_a_right_answer_waits_for_a_person_after_one_attempt(project: Project, what: str) -> None:
    run = run_with_script(project, BROKEN[what])
    assert (run.state, run.waiting_for, run.attempts_made, run.llm_calls) == ("waiting_review", "broken_tests", 1, 1)
    assert "tests fail by themselves, whatever the code is" in run.error
    review = Review.objects.get(run=run)
    assert review.verdict.is_void
    assert review.why[0] in run.error


def test_a_reviewer_keeps_the_attempt_and_the_run_succeeds(reviewer: Client, project: Project) -> None:
    run = run_with_script(project, BROKEN["a module that is nowhere"])
    review = Review.objects.get(run=run)
    page = reviewer.get(f"/p/broken/reviews/{review.pk}/").content.decode()
    assert (
        "Another attempt would fail the same tests, so none was made. Decide whether this attempt is correct." in page
    )
    assert "2 of 2 tests invalid" in page
    assert ". A model wrote the tests, so the tests themselves may be wrong." not in page
    held = when.claims(reviewer, review)
    pressed = {"lease_token": str(held.lease_token), "pressed": "", "pick": "1", "reason": ""}
    assert reviewer.post(f"/p/broken/reviews/{review.pk}/decision/", pressed).status_code == 302
    move_on(held)
    assert (held.run.outcome, held.run.attempts_made) == ("succeeded", 1)
    page = reviewer.get(f"/p/broken/runs/{run.pk}/").content.decode()
    assert "A reviewer accepted attempt 1 as correct; the task has invalid tests." in page
