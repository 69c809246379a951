"""Named queues on the pages: their settings, and working from one."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.models import Project, Role
from reflection_app.queues.models import ReviewQueue
from reflection_app.reviews.models import Review
from tests.factories import make_member, make_project
from tests.queues.queues import make_queue, reviewer, skills_of
from tests.queues.test_saved_views import logged_in_as
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db(transaction=True)
QUEUE, SETTINGS = "/p/desk/reviews/", "/p/desk/settings/queues/"


@pytest.fixture
def boss(project: Project) -> Client:
    return logged_in_as(reviewer(project, role=Role.ADMIN, name="boss"))


def test_an_admin_adds_a_queue_changes_it_moves_it_and_deletes_it(boss: Client, project: Project) -> None:
    reviews = waiting_rows(project, 3)
    assert "No queues yet" in boss.get(SETTINGS).text
    typed = {"name": "Legal", "agent": "porter", "skills": "Legal，zh", "members": "boss", "goal_minutes": "30"}
    assert boss.post(f"{SETTINGS}new/", typed)["Location"] == SETTINGS
    queue = ReviewQueue.objects.get()
    assert (queue.rule, queue.skills, queue.goal_minutes) == ({"agent": "porter"}, ["legal", "zh"], 30)
    page = boss.get(SETTINGS).text
    assert "Agent: porter" in page
    assert "Nobody may take from it" in page
    assert "within 30 min" in page
    form = boss.get(f"{SETTINGS}{queue.pk}/").text
    assert re.search(r'value="boss"\s+checked', form)
    assert boss.post(f"{SETTINGS}{queue.pk}/", {"name": "Law", "min_score": "2", "max_score": "9"}).status_code == 302
    queue.refresh_from_db()
    assert (queue.name, queue.rule, queue.skills, queue.goal_minutes) == (
        "Law",
        {"min_score": 2, "max_score": 9},
        [],
        None,
    )
    assert list(Review.objects.filter(queue=queue)) == [reviews[2]]
    make_queue(project, "Rest")
    boss.post(f"{SETTINGS}{queue.pk}/move/", {"to": "down"})
    assert list(ReviewQueue.objects.values_list("name", flat=True)) == ["Rest", "Law"]
    boss.post(f"{SETTINGS}{queue.pk}/move/", {"to": "down"})
    assert "Nothing waits in it." in boss.get(f"{SETTINGS}{queue.pk}/delete/").text
    boss.post(f"{SETTINGS}{queue.pk}/delete/")
    assert boss.get(f"{SETTINGS}{queue.pk}/").status_code == 404


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", "", "1 to 60 characters."),
        ("goal_minutes", "soon", "A whole number of minutes"),
        ("min_score", "101", "A score is a number from 0 to 100."),
        ("metadata_value", "zh", "Say of which key of the metadata this is the value."),
        ("skills", "x" * 41, "At most 20 skills"),
        ("members", "nobody", "Nobody of this name may review"),
        ("reason", "because", "There is no such reason"),
    ],
)
def test_what_cannot_be_a_queue_comes_back_with_all_that_was_typed(
    boss: Client, field: str, value: str, words: str
) -> None:
    typed = {"name": "Legal", "agent": "porter", "skills": "legal", field: value}
    answer = boss.post(f"{SETTINGS}new/", typed)
    assert answer.status_code == 400
    assert words in answer.text
    assert 'value="porter"' in answer.text
    assert not ReviewQueue.objects.exists()


def test_only_admins_change_queues_and_skills_and_everybody_sees_them(project: Project) -> None:
    anna = reviewer(project, "legal", name="anna")
    queue, browser = make_queue(project, "Legal"), logged_in_as(anna)
    page = browser.get(SETTINGS).text
    assert "Legal" in page
    assert "Add a queue" not in page
    assert anna.user is not None
    for address in ("new/", f"{queue.pk}/", f"{queue.pk}/move/", f"{queue.pk}/delete/", f"skills/{anna.user.pk}/"):
        assert browser.post(SETTINGS + address, {"name": "Mine", "skills": "all"}).status_code == 403
    assert skills_of(project, anna) == ["legal"]


def test_an_admin_gives_skills_and_what_is_refused_is_kept(boss: Client, project: Project) -> None:
    anna = reviewer(project, name="anna")
    assert anna.user is not None
    address = f"{SETTINGS}skills/{anna.user.pk}/"
    assert boss.post(address, {"skills": "zh, Python,, zh"}).status_code == 302
    assert skills_of(project, anna) == ["python", "zh"]
    refused = boss.post(address, {"skills": "x" * 50})
    assert refused.status_code == 400
    assert f'value="{"x" * 50}"' in refused.text
    stranger = make_member(make_project())
    assert boss.post(f"{SETTINGS}skills/{stranger.pk}/", {"skills": "zh"}).status_code == 404


def test_a_reviewer_works_from_a_queue_and_stays_in_it_until_nothing_is_left(project: Project) -> None:
    reviews = waiting_rows(project, 4)
    queue = make_queue(project, "Legal", rule={"agent": "porter"}, skills=["legal"], goal_minutes=60)
    Review.objects.filter(pk=reviews[3].pk).update(created_at=timezone.now() - timedelta(hours=2))
    browser = logged_in_as(reviewer(project, "legal"))
    page = browser.get(QUEUE, {"queue": str(queue.pk)}).text
    assert 'class="count count-quiet">2<' in page
    assert 'class="count count-late">' in page
    assert f'id="row-{reviews[0].pk}"' in page
    assert f'id="row-{reviews[1].pk}"' not in page
    assert "due in" in page
    assert "overdue, was due" in page
    taken = browser.post("/p/desk/reviews/next/", {"queue": f"queue={queue.pk}"})
    assert f"/reviews/{reviews[3].pk}/" in taken["Location"]
    assert "Legal" in browser.get(taken["Location"]).text
    skipped = browser.post(f"/p/desk/reviews/{reviews[3].pk}/skip/", {
        "queue": f"queue={queue.pk}", "lease_token": str(Review.objects.get(pk=reviews[3].pk).lease_token),
    })  # fmt: skip
    assert f"/reviews/{reviews[0].pk}/" in skipped["Location"]
    Review.objects.filter(queue=queue).update(state="withdrawn")
    last = browser.post("/p/desk/reviews/next/", {"queue": f"queue={queue.pk}"}, follow=True)
    assert "Nothing of this view is waiting." in last.text
    assert "Nothing waits in this queue" in last.text


def test_who_lacks_the_skill_sees_the_queue_and_why_they_are_not_given_it(project: Project) -> None:
    (review,) = waiting_rows(project, 1)
    queue = make_queue(project, "Legal", skills=["legal"])
    browser = logged_in_as(reviewer(project))
    page = browser.get(QUEUE, {"queue": str(queue.pk)}).text
    assert "needs the skill legal" in page
    assert 'id="queue-next"' not in page
    none = browser.post("/p/desk/reviews/next/", follow=True)
    assert "needs the skill legal" in none.text
    refused = browser.post(f"/p/desk/reviews/{review.pk}/claim/")
    assert refused.status_code == 403
    assert "needs the skill legal" in refused.text
    assert f"queue={queue.pk}" not in browser.get("/p/desk/").text
    assert Review.objects.get(pk=review.pk).state == "waiting"


def test_the_queue_of_another_project_is_not_found(boss: Client, project: Project) -> None:
    queue = make_queue(make_project("elsewhere"), "Theirs")
    for address in (f"{queue.pk}/", f"{queue.pk}/delete/"):
        assert boss.get(SETTINGS + address).status_code == 404
    assert boss.post(f"{SETTINGS}{queue.pk}/move/").status_code == 404
    assert "Theirs" not in boss.get(QUEUE, {"queue": str(queue.pk)}).text
