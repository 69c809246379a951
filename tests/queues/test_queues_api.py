"""Queues over REST: made, changed, claimed from; and who may."""

import json
from typing import Any

import pytest

from tests import then
from tests.api.caller import Answer, Caller
from tests.queues.queues import reviewer
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db(transaction=True)


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
    then.refused(admin.get(f"review-queues/{second}"), 404)
    then.refused(admin.get("reviews", queue=second), 404)
    then.refused(admin.post("reviews/claim", {"queue": second}), 404)
