"""Queues, skills and saved views over REST: made, changed, claimed from; and who may."""

import json
from typing import Any

import pytest

from reflection_app.core.models import Scope
from reflection_app.queues.models import ReviewQueue, SavedView
from reflection_app.queues.saving import ViewInput, save_view
from reflection_app.reviews.models import Review
from tests.api.caller import Answer, Caller, assert_problem, make_caller
from tests.factories import make_project
from tests.queues.queues import make_queue, reviewer
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db(transaction=True)


def send(caller: Caller, method: str, path: str, body: Any) -> Answer:
    return caller.call(method, path, data=json.dumps(body))


def test_a_queue_is_made_changed_ordered_and_deleted(admin: Caller) -> None:
    reviews = waiting_rows(admin.project, 3)
    reviewer(admin.project, name="anna")
    made = admin.post(
        "review-queues", {"name": "Legal", "rule": {"agent": "porter"}, "members": ["anna"], "skills": ["B", "a"]}
    )
    assert made.status == 201
    assert (made.body["skills"], made.body["members"], made.body["rule"]["agent"]) == (["a", "b"], ["anna"], "porter")
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
        ({"name": "x", "skills": ["a,b"]}, "skills.0"),
    ):
        refused = admin.post("review-queues", body)
        assert_problem(refused, 400)
        assert field in {error["field"] for error in refused.body["errors"]}, body
    assert not ReviewQueue.objects.exists()


def test_a_key_claims_the_next_of_a_queue_with_the_skills_of_who_made_it(admin: Caller) -> None:
    reviews = waiting_rows(admin.project, 4)
    queue = make_queue(admin.project, "Legal", rule={"agent": "porter"}, skills=["legal"])
    lawyer, other = reviewer(admin.project, "legal"), reviewer(admin.project)
    with_skill, without = (
        make_caller(project=admin.project, scopes=[Scope.REVIEWS_WRITE], made_by=actor.user)
        for actor in (lawyer, other)
    )
    refused = without.post("reviews/claim", {"queue": str(queue.pk)})
    assert_problem(refused, 403)
    assert "the skill legal" in refused.body["detail"]
    assert_problem(without.post("reviews/claim", {"review_id": str(reviews[0].pk)}), 403)
    taken = with_skill.post("reviews/claim", {"queue": str(queue.pk)})
    assert taken.body["review"]["id"] == str(reviews[0].pk)
    assert without.post("reviews/claim", {}).body["review"]["id"] == str(reviews[1].pk)
    by_filter = with_skill.post("reviews/claim", {"among": {"queue": str(queue.pk)}})
    assert by_filter.body["review"]["id"] == str(reviews[3].pk)
    assert with_skill.post("reviews/claim", {"queue": str(queue.pk)}).status == 204
    assert Review.objects.filter(state="claimed").count() == 3


def test_skills_are_put_by_keys_that_manage_members(admin: Caller) -> None:
    anna = reviewer(admin.project, name="anna")
    assert anna.user is not None
    put = send(admin, "PUT", f"members/{anna.user.pk}/skills", {"skills": ["zh", "Python"]})
    assert put.body == {"user_id": anna.user.pk, "name": "anna", "skills": ["python", "zh"]}
    assert_problem(send(admin, "PUT", "members/0/skills", {"skills": []}), 404)
    reading = make_caller(project=admin.project, scopes=[Scope.REVIEWS_WRITE])
    assert_problem(send(reading, "PUT", f"members/{anna.user.pk}/skills", {"skills": []}), 403)
    assert_problem(reading.post("review-queues", {"name": "x"}), 403)


def test_a_key_sees_and_saves_shared_views_alone(admin: Caller) -> None:
    anna = reviewer(admin.project, name="anna")
    own = save_view(admin.project, ViewInput(name="Own"), actor=anna)
    save_view(admin.project, ViewInput(name="Shared", is_shared=True), actor=anna)
    key = make_caller(project=admin.project, scopes=[Scope.REVIEWS_WRITE, Scope.RUNS_READ])
    made = key.post("saved-views", {"list": "runs", "name": "Failed", "query": "status=failed&junk=1&sort=-cost"})
    assert (made.status, made.body["query"], made.body["is_shared"]) == (201, "status=failed&sort=-cost", True)
    assert [view["name"] for view in key.get("saved-views").body["results"]] == ["Failed", "Shared"]
    assert [view["name"] for view in key.get("saved-views", list="reviews").body["results"]] == ["Shared"]
    assert_problem(key.get(f"saved-views/{own.pk}"), 404)
    shared = SavedView.objects.get(name="Shared")
    assert_problem(send(key, "PATCH", f"saved-views/{shared.pk}", {"name": "Mine"}), 403)
    assert send(admin, "PATCH", f"saved-views/{shared.pk}", {"query": "agent=x&a=b"}).body["query"] == "agent=x"
    assert admin.call("DELETE", f"saved-views/{shared.pk}").status == 204


def test_another_projects_queues_and_views_are_not_found(admin: Caller) -> None:
    other = make_project()
    queue = make_queue(other)
    view = save_view(other, ViewInput(name="Theirs", is_shared=True), actor=reviewer(other))
    assert_problem(admin.get(f"review-queues/{queue.pk}"), 404)
    assert_problem(admin.get(f"saved-views/{view.pk}"), 404)
    assert_problem(admin.get("reviews", queue=str(queue.pk)), 404)
    assert_problem(admin.post("reviews/claim", {"queue": str(queue.pk)}), 404)
    assert_problem(send(admin, "PUT", "review-queues/order", {"queues": [str(queue.pk)]}), 400)
