"""What pages and REST say of a run whose tests are broken."""

import pytest
from django.test import Client

from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from tests.api.caller import make_caller
from tests.factories import make_project
from tests.reviews.picks import move_on
from tests.runs.broken_tests import RIGHT, run_with_script
from tests.web.stories import claimed_by

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPT = "from calculator import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"


@pytest.fixture
def project() -> Project:
    return make_project("broken", review_policy={"audit_share": 0})


def test_the_runs_page_says_that_the_tests_are_broken_and_gives_no_verdict(reviewer: Client, project: Project) -> None:
    run = run_with_script(project, SCRIPT)
    page = reviewer.get(f"/p/broken/runs/{run.pk}/").content.decode()
    assert "Tests of the task are broken: they say nothing of the work" in page
    assert "2 of 2 tests fail by themselves" in page
    assert "No module named &#x27;calculator&#x27;" in page
    assert "No verdict" in page
    assert "not judged yet" in page
    assert "2 of 2 tests broken" in page
    assert "Revise" not in page
    assert "score 0" not in page


def test_a_reviewer_keeps_the_attempt_and_the_run_succeeds(reviewer: Client, project: Project) -> None:
    run = run_with_script(project, SCRIPT)
    review = Review.objects.get(run=run)
    page = reviewer.get(f"/p/broken/reviews/{review.pk}/").content.decode()
    assert "none is made and paid for" in page
    assert "2 of 2 tests are broken" in page
    assert "written by a model" not in page
    held = claimed_by(reviewer, review)
    pressed = {"lease_token": str(held.lease_token), "pressed": "", "pick": "1", "reason": ""}
    assert reviewer.post(f"/p/broken/reviews/{review.pk}/decision/", pressed).status_code == 302
    move_on(held)
    assert (held.run.outcome, held.run.attempts_made) == ("succeeded", 1)
    page = reviewer.get(f"/p/broken/runs/{run.pk}/").content.decode()
    assert "A person found attempt 1 right; tests of the task are broken." in page


def test_the_queue_names_and_counts_them(reviewer: Client, project: Project) -> None:
    run_with_script(project, SCRIPT)
    page = reviewer.get("/p/broken/reviews/?reason=broken_tests").content.decode()
    assert "Broken tests" in page
    assert "Tests of the task are broken" in page


def test_rest_says_so() -> None:
    caller = make_caller()
    run = run_with_script(caller.project, SCRIPT)
    told = caller.get(f"runs/{run.pk}").body
    assert (told["state"], told["waiting_for"], told["attempts"]) == ("waiting_review", "broken_tests", 1)
    assert told["error"].startswith("2 of 2 tests fail by themselves")
    [attempt] = caller.get(f"runs/{run.pk}/attempts").body["results"]
    assert [result["reason"] for result in attempt["verdicts"][0]["tests"]["results"]] == ["broken_test"] * 2
    assert attempt["verdicts"][0]["confidence"] == 0
    review = Review.objects.get(run=run)
    told = caller.get(f"reviews/{review.pk}").body
    assert (told["reason"], told["candidates"][0]["content"]) == ("broken_tests", RIGHT)
    assert told["candidates"][0]["score"] is None
