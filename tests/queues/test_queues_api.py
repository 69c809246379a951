"""Queues over REST: made, changed, claimed from; and who may."""

import json
from typing import Any

import pytest

from reflection_app.core.models import Scope
from reflection_app.queues.models import ReviewQueue
from reflection_app.reviews.models import Review
from tests.api.caller import Answer, Caller, assert_problem, make_caller
from tests.factories import make_project
from tests.queues.queues import make_queue, reviewer
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin() -> Caller:
    return make_caller(scopes=[Scope.ADMIN])


def send(caller: Caller, method: str, path: str, body: Any) -> Answer:
    return caller.call(method, path, data=json.dumps(body))


def test_a_queue_is_made_changed_ordered_and_deleted(admin: Caller) -> None:
    reviews = waiting_rows(admin.project, 3)
    reviewer(admin.project, name="anna")
    made = admin.post("review-queues", {"name": "Legal", "rule": {"agent": "porter"}, "members": ["anna"]})
    assert made.status == 201
    assert (made.body["members"], made.body["rule"]["agent"]) == (["anna"], "porter")
    first = made.body["id"]
    second = admin.post("review-queues", {"name": "Rest", "goal_minutes": 60}).body["id"]
    assert admin.get("reviews", queue=first).body["results"][0]["id"] == str(reviews[0].pk)
    assert [one["queue"] for one in admin.get("reviews").body["results"]] == [second, second, first]
    assert admin.get("reviews", queue=second).body["results"][0]["due_at"] is not None
    ordered = send(admin, "PUT", "review-queues/order", {"queues": [second, first]})
    assert [queue["name"] for queue in ordered.body["queues"]] == ["Rest", "Legal"]
    assert not admin.get("reviews", queue=first).body["results"]
    changed = send(admin, "PATCH", f"review-queues/{second}", {"rule": {"min_score": 2}, "goal_minutes": None})
    assert (changed.body["rule"]["min_score"], changed.body["goal_minutes"], changed.body["name"]) == (2, None, "Rest")
    assert admin.call("DELETE", f"review-queues/{second}").status == 204
    assert_problem(admin.get(f"review-queues/{second}"), 404)
    assert_problem(admin.get("reviews", queue=second), 404)
    assert_problem(admin.post("reviews/claim", {"queue": second}), 404)


def test_what_cannot_be_a_queue_is_refused_by_its_field(admin: Caller) -> None:
    for body, field in (
        ({"name": " "}, "name"),
        ({"name": "x", "rule": {"holder": "anna"}}, "rule.holder"),
        ({"name": "x", "rule": {"min_score": 5, "max_score": 1}}, "rule"),
        ({"name": "x", "members": ["nobody"]}, "members"),
        ({"name": "x", "goal_minutes": 0}, "goal_minutes"),
    ):
        refused = admin.post("review-queues", body)
        assert_problem(refused, 400)
        assert field in {error["field"] for error in refused.body["errors"]}, body
    assert not ReviewQueue.objects.exists()


def test_a_key_claims_the_next_of_a_queue_as_who_made_it(admin: Caller) -> None:
    reviews = waiting_rows(admin.project, 4)
    lawyer, other = reviewer(admin.project, name="lawyer"), reviewer(admin.project)
    queue = make_queue(admin.project, "Legal", rule={"agent": "porter"}, members=["lawyer"])
    of_lawyer, of_other = (
        make_caller(project=admin.project, scopes=[Scope.REVIEWS_WRITE], made_by=actor.user)
        for actor in (lawyer, other)
    )
    refused = of_other.post("reviews/claim", {"queue": str(queue.pk)})
    assert_problem(refused, 403)
    assert "is for its members" in refused.body["detail"]
    assert_problem(of_other.post("reviews/claim", {"review_id": str(reviews[0].pk)}), 403)
    taken = of_lawyer.post("reviews/claim", {"queue": str(queue.pk)})
    assert taken.body["review"]["id"] == str(reviews[0].pk)
    assert of_other.post("reviews/claim", {}).body["review"]["id"] == str(reviews[1].pk)
    by_filter = of_lawyer.post("reviews/claim", {"among": {"queue": str(queue.pk)}})
    assert by_filter.body["review"]["id"] == str(reviews[3].pk)
    assert of_lawyer.post("reviews/claim", {"queue": str(queue.pk)}).status == 204
    assert Review.objects.filter(state="claimed").count() == 3


def test_another_projects_queues_are_not_found(admin: Caller) -> None:
    other = make_project()
    queue = make_queue(other)
    assert_problem(admin.get(f"review-queues/{queue.pk}"), 404)
    assert_problem(admin.get("reviews", queue=str(queue.pk)), 404)
    assert_problem(admin.post("reviews/claim", {"queue": str(queue.pk)}), 404)
    assert_problem(send(admin, "PUT", "review-queues/order", {"queues": [str(queue.pk)]}), 400)
