"""Named queues on the pages: their settings, and working from one."""

import re
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project, Role, Scope
from reflection_app.queues.eligibility import NotYourQueue
from reflection_app.queues.models import ReviewQueue
from reflection_app.reviews.assigning import AssignInput, assign_review, assignable
from reflection_app.reviews.bulk import BulkInput, begin_bulk, work_through
from reflection_app.reviews.claiming import claim_next, claim_review, likely_next
from reflection_app.reviews.models import BulkItem, Review
from tests import given
from tests.queues.queues import make_queue, reviewer
from tests.reviews.reviewed import client_of
from tests.reviews.test_reviews import together
from tests.reviews.waiting_rows import waiting_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("committing")]


QUEUE, SETTINGS = "/p/desk/reviews/", "/p/desk/settings/queues/"


@pytest.fixture
def boss(project: Project) -> Client:
    return client_of(reviewer(project, role=Role.ADMIN, name="boss"))


def test_an_admin_adds_a_queue_changes_it_moves_it_and_deletes_it(boss: Client, project: Project) -> None:
    reviews = waiting_rows(project, 3)
    typed = {"name": "Legal", "agent": "porter", "members": "boss", "goal_minutes": "30"}
    assert boss.post(f"{SETTINGS}new/", typed)["Location"] == SETTINGS
    queue = ReviewQueue.objects.get()
    assert (queue.rule, queue.goal_minutes) == ({"agent": "porter"}, 30)
    assert "porter" in boss.get(SETTINGS).text
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
    assert boss.get(f"{SETTINGS}{queue.pk}/delete/").status_code == 200
    boss.post(f"{SETTINGS}{queue.pk}/delete/")
    assert boss.get(f"{SETTINGS}{queue.pk}/").status_code == 404


def test_what_cannot_be_a_queue_comes_back_with_all_that_was_typed(boss: Client) -> None:
    wrong = {"name": "", "goal_minutes": "soon", "min_score": "101", "metadata_value": "zh", "members": "nobody"}
    answer = boss.post(f"{SETTINGS}new/", {"agent": "porter", "reason": "because"} | wrong)
    assert (answer.status_code, 'value="porter"' in answer.text) == (400, True)
    for field in ("name", "goal_minutes", "min_score"):
        assert f'id="error-{field}"' in answer.text
    for field in ("metadata_value", "members", "reason"):
        answer = boss.post(f"{SETTINGS}new/", {"name": "Legal", field: wrong.get(field, "because")})
        assert answer.status_code == 400, field
    assert not ReviewQueue.objects.exists()


def test_a_reviewer_works_from_a_queue_and_stays_in_it_until_nothing_is_left(project: Project) -> None:
    reviews = waiting_rows(project, 4)
    queue = make_queue(project, "Legal", rule={"agent": "porter"}, goal_minutes=60)
    Review.objects.filter(pk=reviews[3].pk).update(created_at=timezone.now() - timedelta(hours=2))
    browser = client_of(reviewer(project))
    page = browser.get(QUEUE, {"queue": str(queue.pk)}).text
    assert 'class="count count-late">' in page
    assert f'id="row-{reviews[0].pk}"' in page
    assert f'id="row-{reviews[1].pk}"' not in page
    taken = browser.post("/p/desk/reviews/next/", {"queue": f"queue={queue.pk}"})
    assert f"/reviews/{reviews[3].pk}/" in taken["Location"]
    skipped = browser.post(f"/p/desk/reviews/{reviews[3].pk}/skip/", {
        "queue": f"queue={queue.pk}", "lease_token": str(Review.objects.get(pk=reviews[3].pk).lease_token),
    })  # fmt: skip
    assert f"/reviews/{reviews[0].pk}/" in skipped["Location"]
    Review.objects.filter(queue=queue).update(state="withdrawn")
    last = browser.post("/p/desk/reviews/next/", {"queue": f"queue={queue.pk}"}, follow=True)
    assert "No open reviews in this queue" in last.text


def test_who_is_no_member_sees_the_queue_and_why_they_are_not_given_it(project: Project) -> None:
    (review,) = waiting_rows(project, 1)
    reviewer(project, name="lawyer")
    queue = make_queue(project, "Legal", members=["lawyer"])
    browser = client_of(reviewer(project))
    page = browser.get(QUEUE, {"queue": str(queue.pk)}).text
    assert 'id="queue-next"' not in page
    browser.post("/p/desk/reviews/next/")
    refused = browser.post(f"/p/desk/reviews/{review.pk}/claim/")
    assert refused.status_code == 403
    assert f"queue={queue.pk}" not in browser.get("/p/desk/").text
    assert Review.objects.get(pk=review.pk).state == "waiting"


@pytest.fixture
def reviews(project: Project) -> list[Review]:
    """Of porter, of writer, of no agent, of porter."""
    return waiting_rows(project, 4)


@pytest.fixture
def lawyer(project: Project) -> Actor:
    return reviewer(project, name="lawyer")


@pytest.fixture
def legal(project: Project, reviews: list[Review], lawyer: Actor) -> ReviewQueue:
    return make_queue(project, "Legal", rule={"agent": "porter"}, members=["lawyer"])


def taken(project: Project, actor: Actor, *, queue: ReviewQueue | None = None) -> list[Review]:
    """All that somebody is given, one after another."""
    found = []
    while (review := claim_next(project, actor=actor, queue=queue.pk if queue else None)) is not None:
        found.append(review)
    return found


def test_who_is_no_member_is_given_the_rest_alone(
    project: Project, reviews: list[Review], legal: ReviewQueue, lawyer: Actor
) -> None:
    other = reviewer(project)
    assert likely_next(project, actor=other, besides=legal.pk) == reviews[1]
    assert taken(project, other) == [reviews[1], reviews[2]]
    assert claim_next(project, actor=other, queue=legal.pk) is None
    assert taken(project, lawyer) == [reviews[0], reviews[3]]


def test_a_review_of_another_queue_cannot_be_claimed_either_and_the_refusal_says_why(
    reviews: list[Review], project: Project, legal: ReviewQueue, lawyer: Actor
) -> None:
    with pytest.raises(NotYourQueue, match="Only members of the queue “Legal”"):
        claim_review(reviews[0], actor=reviewer(project))
    assert Review.objects.get(pk=reviews[0].pk).state == "waiting"
    claim_review(reviews[0], actor=lawyer)


def test_admins_are_given_what_is_theirs_but_may_take_from_any_queue_and_claim_any_review(
    project: Project, reviews: list[Review], legal: ReviewQueue
) -> None:
    admin = reviewer(project, role=Role.ADMIN)
    claim_review(reviews[3], actor=admin)
    assert taken(project, admin) == [reviews[1], reviews[2]]
    assert taken(project, admin, queue=legal) == [reviews[0]]


@pytest.mark.django_db(transaction=True)
def test_two_reviewers_who_claim_from_one_queue_at_once_get_one_each(project: Project, reviews: list[Review]) -> None:
    people = [reviewer(project) for _ in range(2)]
    legal = make_queue(project, "Legal", rule={"agent": "porter"})
    results = together(*[lambda actor=actor: claim_next(project, actor=actor, queue=legal.pk) for actor in people])
    assert {review.pk for review in results if isinstance(review, Review)} == {reviews[0].pk, reviews[3].pk}
    assert claim_next(project, actor=people[0], queue=legal.pk) is None


def test_a_key_is_the_person_who_made_it(
    project: Project, reviews: list[Review], legal: ReviewQueue, lawyer: Actor
) -> None:
    scopes = [Scope.REVIEWS_WRITE.value]
    key = Actor(api_key=given.api_key(project, scopes, made_by=lawyer.user)[0])
    of_nobody = Actor(api_key=given.api_key(project, scopes)[0])
    admin = Actor(api_key=given.api_key(project, [Scope.ADMIN.value])[0])
    with pytest.raises(NotYourQueue):
        claim_review(reviews[0], actor=of_nobody)
    assert claim_next(project, actor=key, queue=legal.pk) == reviews[0]
    assert claim_next(project, actor=admin, queue=legal.pk) == reviews[3]


def test_what_is_assigned_is_theirs_whichever_queue_it_is_in_but_only_an_admin_assigns_it_so(
    project: Project, reviews: list[Review], legal: ReviewQueue, lawyer: Actor
) -> None:
    bert = reviewer(project, name="bert")
    admin = reviewer(project, role=Role.ADMIN, name="admin")
    with pytest.raises(InvalidInput, match="not a member of the queue"):
        assign_review(reviews[0], AssignInput(to="bert"), actor=bert)
    review = Review.objects.get(pk=reviews[0].pk)
    assert [user.username for user in assignable(review, actor=bert)] == ["lawyer"]
    assert {user.username for user in assignable(review, actor=admin)} == {"bert", "lawyer", "admin"}
    assign_review(reviews[3], AssignInput(to="lawyer"), actor=bert)
    assign_review(reviews[0], AssignInput(to="bert"), actor=admin)
    assert claim_next(project, actor=bert) == reviews[0]
    assert claim_next(project, actor=lawyer) == reviews[3]


def test_of_a_bulk_decision_what_is_in_a_queue_for_others_fails_alone_with_the_reason(
    project: Project, reviews: list[Review], legal: ReviewQueue
) -> None:
    sent = {"reviews": [reviews[0].pk], "decision": "overrule", "verdict": "REVISE", "reason": "Again."}
    bulk = begin_bulk(project, BulkInput.model_validate(sent), actor=reviewer(project))
    work_through(bulk.pk)
    item = BulkItem.objects.get()
    assert item.state == "failed"
    assert "can review its items" in item.error


@pytest.mark.django_db(transaction=True)
def test_however_many_wait_in_a_queue_the_next_is_claimed_at_once(project: Project) -> None:
    waiting_rows(project, 2_000)
    lawyer = reviewer(project, name="lawyer")
    queue = make_queue(project, "Legal", rule={"agent": "porter"}, members=["lawyer"])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE reflection_app_review")
    for actor, named in ((lawyer, queue.pk), (reviewer(project), None)):
        with CaptureQueriesContext(connection) as captured:
            began = time.perf_counter()
            review = claim_next(project, actor=actor, queue=named)
            took = time.perf_counter() - began
        assert review is not None
        assert review.queue_id == named
        selects = [one["sql"] for one in captured if "SKIP LOCKED" in one["sql"]]
        # What is kept for the person, then what is for everybody; the rules are evaluated in neither.
        assert len(selects) == 2
        assert not any("JOIN" in sql for sql in selects)
        assert took < 1
