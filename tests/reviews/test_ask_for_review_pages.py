import pytest
from django.test import Client

from reflection_app.core.models import Project, Role
from reflection_app.reviews.models import Panel, Review
from reflection_app.runs.models import Run
from tests.api.stories import finished_run
from tests.factories import make_member
from tests.runs.scripts import scripted_run
from tests.web.stories import HOSTILE, logged_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(project: Project) -> Run:
    return finished_run(project)


def test_each_attempt_with_a_verdict_offers_it(reviewer: Client, run: Run) -> None:
    page = reviewer.get(f"/p/desk/runs/{run.pk}/").text
    for number in (1, 2):
        assert f'href="/p/desk/runs/{run.pk}/ask/?attempt={number}"' in page
    form = reviewer.get(f"/p/desk/runs/{run.pk}/ask/?attempt=1").text
    assert '<option value="1" selected>' in form


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


def test_several_and_one_by_name(reviewer: Client, run: Run, project: Project) -> None:
    anna = make_member(project)
    reviewer.post(f"/p/desk/runs/{run.pk}/ask/", {"attempt": "1", "note": "x", "reviewers": "3"})
    assert Panel.objects.get(run=run).wanted == 3
    reviewer.post(
        f"/p/desk/runs/{run.pk}/ask/", {"attempt": "2", "note": "y", "reviewers": "1", "assignee": anna.username}
    )
    assert Review.objects.get(run=run, attempt__number=2).assignee == anna


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


def test_asking_twice_says_which_review_is_open(reviewer: Client, run: Run) -> None:
    typed = {"attempt": "1", "note": "My words", "reviewers": "1"}
    reviewer.post(f"/p/desk/runs/{run.pk}/ask/", typed)
    answer = reviewer.post(f"/p/desk/runs/{run.pk}/ask/", typed)
    assert answer.status_code == 409
    assert str(Review.objects.get().pk) in answer.text
    assert "My words" in answer.text


def test_where_nothing_is_judged_yet_it_says_so(reviewer: Client, project: Project) -> None:
    run = scripted_run({}, project=project)
    assert "Nothing to review yet" in reviewer.get(f"/p/desk/runs/{run.pk}/ask/").text


def test_a_viewer_may_not(client: Client, project: Project, run: Run) -> None:
    logged_in(client, project, Role.VIEWER)
    assert client.post(f"/p/desk/runs/{run.pk}/ask/", {"note": "x"}).status_code == 403
    assert "/ask/" not in client.get(f"/p/desk/runs/{run.pk}/").text
