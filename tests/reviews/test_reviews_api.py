from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.reviews.models import Review
from tests import given, then
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db(transaction=True)


def claimed(caller: Caller, review: Review) -> str:
    """The lease token of `review`, claimed by `caller`."""
    token: str = caller.post("reviews/claim", {"review_id": str(review.pk)}).body["lease_token"]
    return token


def let_lease_run_out(review: Review) -> None:
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_review_tells_the_attempt_and_the_verdict_on_it(caller: Caller) -> None:
    review = given.waiting_review(caller.project)
    told = caller.get(f"reviews/{review.pk}").body

    assert told["run_id"] == str(review.run_id)
    assert told["attempt"] == {"number": 1, "content": "first"}
    assert (told["verdict"]["verdict"], told["verdict"]["score"], told["verdict"]["referee"]) == (
        "REJECT",
        10,
        "critic",
    )
    assert (told["reason"], told["state"], told["holder"], told["lease_until"]) == ("rejected", "waiting", None, None)
    assert told["decision"] is None
    assert "lease_token" not in told


def test_a_list_of_reviews_takes_as_many_queries_for_many_as_for_one(
    caller: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(3):
        given.waiting_review(caller.project)
    caller.get("reviews")
    with django_assert_max_num_queries(3):
        assert len(caller.get("reviews").body["results"]) == 3


@pytest.mark.parametrize("act", ["heartbeat", "release", "decision"])
def test_a_lost_lease_is_a_conflict_and_changes_nothing(caller: Caller, act: str) -> None:
    review = given.waiting_review(caller.project)
    token = claimed(caller, review)
    let_lease_run_out(review)
    body = {"lease_token": token} | ({"decision": "approve"} if act == "decision" else {})

    answer = caller.post(f"reviews/{review.pk}/{act}", body)
    then.refused(answer, 409)
    assert answer.body["title"] == "Lease lost"
    assert caller.get(f"runs/{review.run_id}").body["state"] == "waiting_review"


@pytest.mark.parametrize(
    ("decision", "field"),
    [
        ({}, "decision"),
        ({"decision": "perhaps"}, "decision"),
        ({"decision": "overrule"}, "verdict"),
        ({"decision": "overrule", "verdict": "pass"}, "verdict"),
        ({"decision": "overrule", "verdict": "PASS", "score": 101}, "score"),
        ({"decision": "overrule", "verdict": "PASS", "score": "high"}, "score"),
        ({"decision": "overrule", "verdict": "REVISE", "issues": [{"description": ""}]}, "issues.0.description"),
        ({"decision": "overrule", "verdict": "PASS", "issues": {}}, "issues"),
        ({"decision": "approve", "reason": "x" * 10_001}, "reason"),
        ({"decision": "approve", "reason": "a\x00b"}, "reason"),
        ({"decision": "approve", "surprise": 1}, "surprise"),
    ],
)
def test_a_decision_that_says_too_little_is_refused_with_the_field(
    caller: Caller, decision: dict[str, Any], field: str
) -> None:
    review = given.waiting_review(caller.project)
    body = {"lease_token": claimed(caller, review), **decision}
    answer = caller.post(f"reviews/{review.pk}/decision", body)
    then.refused(answer, 400)
    assert field in then.named_fields(answer)
    assert caller.get(f"reviews/{review.pk}").body["state"] == "claimed"
