"""What pages and REST say of a run whose tests are broken."""

import pytest
from django.test import Client

from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from tests import given, when
from tests.reviews.picks import move_on
from tests.runs.broken_tests import run_with_script

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPT = "from calculator import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"


@pytest.fixture
def project() -> Project:
    return given.project("broken", review_policy={"audit_share": 0})


def test_a_reviewer_keeps_the_attempt_and_the_run_succeeds(reviewer: Client, project: Project) -> None:
    run = run_with_script(project, SCRIPT)
    review = Review.objects.get(run=run)
    page = reviewer.get(f"/p/broken/reviews/{review.pk}/").content.decode()
    assert "none is made and paid for" in page
    assert "2 of 2 tests are broken" in page
    assert "written by a model" not in page
    held = when.claims(reviewer, review)
    pressed = {"lease_token": str(held.lease_token), "pressed": "", "pick": "1", "reason": ""}
    assert reviewer.post(f"/p/broken/reviews/{review.pk}/decision/", pressed).status_code == 302
    move_on(held)
    assert (held.run.outcome, held.run.attempts_made) == ("succeeded", 1)
    page = reviewer.get(f"/p/broken/runs/{run.pk}/").content.decode()
    assert "A person found attempt 1 right; tests of the task are broken." in page
