import pytest
from django.test import Client

from reflection_app.core.models import Project, Role
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run
from tests.api.stories import finished_run
from tests.factories import make_project
from tests.web.stories import HOSTILE, logged_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project() -> Project:
    return make_project("desk")


@pytest.fixture
def run(project: Project) -> Run:
    return finished_run(project)


@pytest.fixture
def reviewer(client: Client, project: Project) -> Client:
    return logged_in(client, project, Role.REVIEWER)


def test_it_comes_into_the_queue_with_the_note(reviewer: Client, run: Run) -> None:
    typed = {"attempt": "2", "note": f"Are the figures right? {HOSTILE}", "reviewers": "1", "assignee": ""}
    page = reviewer.post(f"/p/desk/runs/{run.pk}/ask/", typed, follow=True)
    review = Review.objects.get(run=run)
    assert page.redirect_chain[-1][0] == f"/p/desk/runs/{run.pk}/"
    assert "It waits in the queue." in page.text
    assert "Somebody asked for it" in reviewer.get("/p/desk/reviews/").text
    item = reviewer.get(f"/p/desk/reviews/{review.pk}/").text
    assert "Are the figures right?" in item
    assert "<script>alert(1)" not in item
    assert f"/runs/{run.pk}/ask/?attempt=2" not in reviewer.get(f"/p/desk/runs/{run.pk}/").text


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"note": ""}, "Say what the reviewer is to look at."),
        ({"note": "My words", "attempt": "9"}, "no attempt 9"),
        ({"note": "My words", "reviewers": "3", "assignee": "somebody"}, "Several judge blindly"),
        ({"note": "My words", "assignee": "nobody"}, "may review"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_is_kept(
    reviewer: Client, run: Run, typed: dict[str, str], said: str
) -> None:
    answer = reviewer.post(f"/p/desk/runs/{run.pk}/ask/", typed)
    assert answer.status_code == 400
    assert said in answer.text
    assert typed["note"] in answer.text
    assert not Review.objects.exists()
