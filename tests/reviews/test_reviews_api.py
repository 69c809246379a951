import threading
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.core.audit import AuditEntry
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Verdict
from tests.api.caller import Answer, Caller, assert_problem, fields, make_caller
from tests.api.stories import waiting_review
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


def claimed(caller: Caller, review: Review) -> str:
    """The lease token of `review`, claimed by `caller`."""
    token: str = caller.post("reviews/claim", {"review_id": str(review.pk)}).body["lease_token"]
    return token


def let_lease_run_out(review: Review) -> None:
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_review_tells_the_attempt_and_the_verdict_on_it(caller: Caller) -> None:
    review = waiting_review(caller.project)
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


def test_reviews_are_found_by_state_run_and_reason(caller: Caller) -> None:
    review, other = waiting_review(caller.project), waiting_review(caller.project)
    claimed(caller, other)
    for query in ({"state": "waiting"}, {"run": str(review.run_id)}, {"state": "waiting", "reason": "rejected"}):
        assert [one["id"] for one in caller.get("reviews", **query).body["results"]] == [str(review.pk)], query
    assert caller.get("reviews", reason="audit").body["results"] == []


@pytest.mark.parametrize("query", [{"state": "lost"}, {"run": "1"}, {"reason": "whim"}])
def test_a_filter_that_makes_no_sense_is_refused(caller: Caller, query: dict[str, str]) -> None:
    answer = caller.get("reviews", **query)
    assert_problem(answer, 400)
    assert fields(answer) == list(query)


def test_a_list_of_reviews_takes_as_many_queries_for_many_as_for_one(
    caller: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(3):
        waiting_review(caller.project)
    caller.get("reviews")
    with django_assert_max_num_queries(3):
        assert len(caller.get("reviews").body["results"]) == 3


def test_claiming_gives_the_oldest_review_and_a_token(caller: Caller) -> None:
    oldest = waiting_review(caller.project)
    waiting_review(caller.project)
    answer = caller.post("reviews/claim")

    assert answer.status == 200
    review = answer.body["review"]
    assert (review["id"], review["state"], review["holder"]) == (str(oldest.pk), "claimed", f"key {caller.key.name}")
    assert review["lease_until"] > review["created_at"]
    assert answer.body["lease_token"]


def test_claiming_where_nothing_waits_is_no_content(caller: Caller) -> None:
    answer = caller.post("reviews/claim", {})
    assert (answer.status, answer.body) == (204, None)


def test_a_held_review_cannot_be_claimed_until_its_lease_has_run_out(caller: Caller) -> None:
    review = waiting_review(caller.project)
    claimed(caller, review)
    other = make_caller(caller.project)
    assert_problem(other.post("reviews/claim", {"review_id": str(review.pk)}), 409)
    assert other.post("reviews/claim").status == 204

    let_lease_run_out(review)
    assert other.post("reviews/claim").body["review"]["id"] == str(review.pk)


@pytest.mark.parametrize("body", [{"review_id": "1"}, {"review_id": 1}, {"surprise": 1}, [], "x"])
def test_a_claim_of_another_form_is_refused(caller: Caller, body: Any) -> None:
    assert_problem(caller.post("reviews/claim", body), 400)


def test_claiming_a_review_of_another_project_finds_nothing(caller: Caller) -> None:
    review = waiting_review(make_caller().project)
    assert_problem(caller.post("reviews/claim", {"review_id": str(review.pk)}), 404)


def test_a_heartbeat_moves_the_end_of_the_lease(caller: Caller) -> None:
    review = waiting_review(caller.project)
    token = claimed(caller, review)
    before = caller.get(f"reviews/{review.pk}").body["lease_until"]
    answer = caller.post(f"reviews/{review.pk}/heartbeat", {"lease_token": token})
    assert answer.status == 200
    assert answer.body["lease_until"] > before


def test_a_released_review_waits_again(caller: Caller) -> None:
    review = waiting_review(caller.project)
    answer = caller.post(f"reviews/{review.pk}/release", {"lease_token": claimed(caller, review)})
    assert answer.status == 200
    assert (answer.body["state"], answer.body["holder"]) == ("waiting", None)


@pytest.mark.parametrize("act", ["heartbeat", "release", "decision"])
def test_a_lost_lease_is_a_conflict_and_changes_nothing(caller: Caller, act: str) -> None:
    review = waiting_review(caller.project)
    token = claimed(caller, review)
    let_lease_run_out(review)
    body = {"lease_token": token} | ({"decision": "approve"} if act == "decision" else {})

    answer = caller.post(f"reviews/{review.pk}/{act}", body)
    assert_problem(answer, 409)
    assert answer.body["title"] == "Lease lost"
    assert caller.get(f"runs/{review.run_id}").body["state"] == "waiting_review"


@pytest.mark.parametrize("act", ["heartbeat", "release"])
@pytest.mark.parametrize("body", [None, {}, {"lease_token": "x"}, {"lease_token": None}])
def test_a_lease_token_is_needed(caller: Caller, act: str, body: Any) -> None:
    review = waiting_review(caller.project)
    answer = caller.post(f"reviews/{review.pk}/{act}", body)
    assert_problem(answer, 400)
    assert fields(answer) == ["lease_token"]


def test_an_approved_rejection_ends_the_run(caller: Caller) -> None:
    review = waiting_review(caller.project)
    body = {"lease_token": claimed(caller, review), "decision": "approve"}
    answer = caller.post(f"reviews/{review.pk}/decision", body)

    assert answer.status == 200
    assert answer.body["state"] == "decided"
    decision = answer.body["decision"]
    assert (decision["decision"], decision["decided_by"]) == ("approve", f"key {caller.key.name}")
    assert (decision["verdict"]["verdict"], decision["verdict"]["referee"]) == ("REJECT", "person")
    assert caller.get(f"runs/{review.run_id}").body["state"] == "queued"
    advance(review.run_id)
    assert caller.get(f"runs/{review.run_id}").body["outcome"] == "rejected"


def test_an_overruled_rejection_goes_round_again_with_the_persons_issues(caller: Caller) -> None:
    review = waiting_review(caller.project)
    body = {
        "lease_token": claimed(caller, review),
        "decision": "overrule",
        "verdict": "REVISE",
        "score": 45,
        "issues": [
            {"category": "quality", "severity": "high", "description": "太短了", "suggested_fix": "写长", "path": ""}
        ],
        "reason": "It only lacks length.",
    }
    answer = caller.post(f"reviews/{review.pk}/decision", body)
    assert answer.status == 200
    assert answer.body["decision"]["verdict"]["issues"] == body["issues"]
    assert answer.body["decision"]["verdict"]["score"] == 45

    advance(review.run_id)
    run = caller.get(f"runs/{review.run_id}").body
    assert (run["outcome"], run["best_attempt"]["number"]) == ("succeeded", 2)
    steps = caller.get(f"runs/{review.run_id}/steps").body["results"]
    again = next(step for step in steps if step["key"] == "attempt-2/answer")
    assert "太短了" in again["request"]["messages"][-1]["content"]


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
    review = waiting_review(caller.project)
    body = {"lease_token": claimed(caller, review), **decision}
    answer = caller.post(f"reviews/{review.pk}/decision", body)
    assert_problem(answer, 400)
    assert field in fields(answer)
    assert caller.get(f"reviews/{review.pk}").body["state"] == "claimed"


def test_a_decided_review_cannot_be_decided_again(caller: Caller) -> None:
    review = waiting_review(caller.project)
    body = {"lease_token": claimed(caller, review), "decision": "approve"}
    caller.post(f"reviews/{review.pk}/decision", body)

    answer = caller.post(f"reviews/{review.pk}/decision", body)
    assert_problem(answer, 409)
    assert answer.body["title"] == "Already decided"
    assert_problem(caller.post("reviews/claim", {"review_id": str(review.pk)}), 409)


def test_a_token_that_was_never_given_decides_nothing(caller: Caller) -> None:
    review = waiting_review(caller.project)
    body = {"lease_token": str(uuid4()), "decision": "approve"}
    assert_problem(caller.post(f"reviews/{review.pk}/decision", body), 409)


def test_of_two_reviewers_at_once_one_decides(caller: Caller) -> None:
    review = waiting_review(caller.project)
    body = {"lease_token": claimed(caller, review), "decision": "approve"}
    answers: list[Answer] = []
    together = threading.Barrier(2)

    def decide() -> None:
        together.wait()
        try:
            answers.append(caller.post(f"reviews/{review.pk}/decision", body))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=decide) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)

    assert sorted(answer.status for answer in answers) == [200, 409]
    assert AuditEntry.objects.filter(action="review.decided").count() == 1
    assert Verdict.objects.filter(attempt__run=review.run_id).count() == 2


def test_a_rejected_attempt_is_decided_by_its_director(caller: Caller) -> None:
    review = waiting_review(caller.project)
    token = claimed(caller, review)
    for body, field in (({"decision": "redo"}, "instructions"), ({"decision": "accept"}, "reason")):
        refused = caller.post(f"reviews/{review.pk}/decision", {"lease_token": token, **body})
        assert_problem(refused, 400)
        assert fields(refused) == [field]
    body = {"lease_token": token, "decision": "redo", "instructions": "Find five papers."}
    decided = caller.post(f"reviews/{review.pk}/decision", body).body["decision"]
    assert (decided["decision"], decided["directors_decision"]) == ("overrule", "redo")
    assert (decided["verdict"]["verdict"], decided["reason"]) == ("REVISE", "Find five papers.")
    assert decided["verdict"]["issues"][0]["suggested_fix"] == "Find five papers."
