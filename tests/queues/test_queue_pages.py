"""Named queues on the pages: their settings, and working from one."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.models import Project, Role
from reflection_app.queues.models import ReviewQueue
from reflection_app.reviews.models import Review
from tests.queues.queues import make_queue, reviewer
from tests.reviews.reviewed import client_of
from tests.reviews.waiting_rows import waiting_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("committing")]
QUEUE, SETTINGS = "/p/desk/reviews/", "/p/desk/settings/queues/"


@pytest.fixture
def boss(project: Project) -> Client:
    return client_of(reviewer(project, role=Role.ADMIN, name="boss"))


def test_an_admin_adds_a_queue_changes_it_moves_it_and_deletes_it(boss: Client, project: Project) -> None:
    reviews = waiting_rows(project, 3)
    assert "No queues yet" in boss.get(SETTINGS).text
    typed = {"name": "Legal", "agent": "porter", "members": "boss", "goal_minutes": "30"}
    assert boss.post(f"{SETTINGS}new/", typed)["Location"] == SETTINGS
    queue = ReviewQueue.objects.get()
    assert (queue.rule, queue.goal_minutes) == ({"agent": "porter"}, 30)
    page = boss.get(SETTINGS).text
    assert "Agent: porter" in page
    assert "within 30 min" in page
    form = boss.get(f"{SETTINGS}{queue.pk}/").text
    assert re.search(r'value="boss"\s+checked', form)
    assert boss.post(f"{SETTINGS}{queue.pk}/", {"name": "Law", "min_score": "2", "max_score": "9"}).status_code == 302
    queue.refresh_from_db()
    assert (queue.name, queue.rule, queue.goal_minutes) == ("Law", {"min_score": 2, "max_score": 9}, None)
    assert not queue.members.exists()
    assert list(Review.objects.filter(queue=queue)) == [reviews[2]]
    make_queue(project, "Rest")
    boss.post(f"{SETTINGS}{queue.pk}/move/", {"to": "down"})
    assert list(ReviewQueue.objects.values_list("name", flat=True)) == ["Rest", "Law"]
    boss.post(f"{SETTINGS}{queue.pk}/move/", {"to": "down"})
    assert "No open reviews in this queue." in boss.get(f"{SETTINGS}{queue.pk}/delete/").text
    boss.post(f"{SETTINGS}{queue.pk}/delete/")
    assert boss.get(f"{SETTINGS}{queue.pk}/").status_code == 404


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", "", "Enter 1 to 60 characters."),
        ("goal_minutes", "soon", "A whole number of minutes"),
        ("min_score", "101", "Enter a score from 0 to 100."),
        ("metadata_value", "zh", "Enter the metadata key for this value."),
        ("members", "nobody", "Not reviewers of this project:"),
        ("reason", "because", "Unknown review reason."),
    ],
)
def test_what_cannot_be_a_queue_comes_back_with_all_that_was_typed(
    boss: Client, field: str, value: str, words: str
) -> None:
    typed = {"name": "Legal", "agent": "porter", field: value}
    answer = boss.post(f"{SETTINGS}new/", typed)
    assert answer.status_code == 400
    assert words in answer.text
    assert 'value="porter"' in answer.text
    assert not ReviewQueue.objects.exists()


def test_a_reviewer_works_from_a_queue_and_stays_in_it_until_nothing_is_left(project: Project) -> None:
    reviews = waiting_rows(project, 4)
    queue = make_queue(project, "Legal", rule={"agent": "porter"}, goal_minutes=60)
    Review.objects.filter(pk=reviews[3].pk).update(created_at=timezone.now() - timedelta(hours=2))
    browser = client_of(reviewer(project))
    page = browser.get(QUEUE, {"queue": str(queue.pk)}).text
    assert 'class="count count-quiet">2<' in page
    assert 'class="count count-late">' in page
    assert f'id="row-{reviews[0].pk}"' in page
    assert f'id="row-{reviews[1].pk}"' not in page
    assert "due in" in page
    assert "Overdue by" in page
    taken = browser.post("/p/desk/reviews/next/", {"queue": f"queue={queue.pk}"})
    assert f"/reviews/{reviews[3].pk}/" in taken["Location"]
    assert "Legal" in browser.get(taken["Location"]).text
    skipped = browser.post(f"/p/desk/reviews/{reviews[3].pk}/skip/", {
        "queue": f"queue={queue.pk}", "lease_token": str(Review.objects.get(pk=reviews[3].pk).lease_token),
    })  # fmt: skip
    assert f"/reviews/{reviews[0].pk}/" in skipped["Location"]
    Review.objects.filter(queue=queue).update(state="withdrawn")
    last = browser.post("/p/desk/reviews/next/", {"queue": f"queue={queue.pk}"}, follow=True)
    assert "No open reviews in this view." in last.text
    assert "No open reviews in this queue" in last.text


def test_who_is_no_member_sees_the_queue_and_why_they_are_not_given_it(project: Project) -> None:
    (review,) = waiting_rows(project, 1)
    reviewer(project, name="lawyer")
    queue = make_queue(project, "Legal", members=["lawyer"])
    browser = client_of(reviewer(project))
    page = browser.get(QUEUE, {"queue": str(queue.pk)}).text
    assert "” can review its items. An admin can add you." in page
    assert 'id="queue-next"' not in page
    none = browser.post("/p/desk/reviews/next/", follow=True)
    assert "The remaining reviews are locked" in none.text
    refused = browser.post(f"/p/desk/reviews/{review.pk}/claim/")
    assert refused.status_code == 403
    assert "” can review its items. An admin can add you." in refused.text
    assert f"queue={queue.pk}" not in browser.get("/p/desk/").text
    assert Review.objects.get(pk=review.pk).state == "waiting"
