"""The queue over REST: the same views and filters as on the page, claiming among them, skipping."""

import pytest

from reflection_app.core.audit import AuditEntry
from reflection_app.reviews.models import Review, ReviewSkip, ReviewState
from tests.api.caller import Caller, assert_problem, fields, make_caller
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db


def found(caller: Caller, reviews: list[Review], **query: str) -> list[int]:
    """Which of the reviews the list has, by their place, oldest first."""
    answer = caller.get("reviews", **query)
    assert answer.status == 200, answer.body
    given = [one["id"] for one in answer.body["results"]]
    return [number for number, review in enumerate(reviews) if str(review.pk) in given]


def test_the_list_takes_the_filters_of_the_page(caller: Caller) -> None:
    reviews = waiting_rows(caller.project, 6, audits_every=3)
    assert found(caller, reviews) == [0, 1, 2, 3, 4, 5]
    assert found(caller, reviews, reason="audit") == [0, 3]
    assert found(caller, reviews, agent="writer", min_score="2") == [4]
    assert found(caller, reviews, q="text 5", mode="actor_critic", kind="creative_writing") == [5]
    assert found(caller, reviews, verdict="PASS") == []
    caller.post("reviews/claim", {"review_id": str(reviews[1].pk)})
    caller.post(f"reviews/{reviews[2].pk}/skip")
    assert found(caller, reviews, view="mine") == [1]
    assert found(caller, reviews, view="skipped") == [2]
    assert found(caller, reviews, view="unclaimed") == [0, 2, 3, 4, 5]
    assert found(caller, reviews, holder=f"key {caller.key.name}") == [1]


def test_pages_keep_their_filters_and_miss_nothing(caller: Caller) -> None:
    reviews = waiting_rows(caller.project, 7, audits_every=2)
    answer = caller.get("reviews", reason="audit", limit="3")
    rest = caller.get(answer.body["next"])
    given = [one["id"] for one in answer.body["results"] + rest.body["results"]]
    assert given == [str(reviews[number].pk) for number in (6, 4, 2, 0)]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"view": "theirs"}, "view"),
        ({"min_score": "-1"}, "min_score"),
        ({"max_score": "inf"}, "max_score"),
        ({"q": "x" * 201}, "q"),
        ({"holder__password__startswith": "md5"}, "holder__password__startswith"),
    ],
)
def test_what_is_no_filter_is_refused_by_its_name(caller: Caller, query: dict[str, str], field: str) -> None:
    answer = caller.get("reviews", **query)
    assert_problem(answer, 400)
    assert fields(answer) == [field]


def test_a_range_of_scores_that_is_empty_is_refused(caller: Caller) -> None:
    answer = caller.get("reviews", min_score="80", max_score="20")
    assert_problem(answer, 400)
    assert "The lowest score is above the highest." in str(answer.body)


def test_the_next_one_can_be_claimed_among_some(caller: Caller) -> None:
    reviews = waiting_rows(caller.project, 6, audits_every=3)
    answer = caller.post("reviews/claim", {"among": {"reason": "audit"}})
    assert answer.body["review"]["id"] == str(reviews[0].pk)
    assert caller.post("reviews/claim", {"among": {"verdict": "PASS"}}).status == 204
    assert_problem(caller.post("reviews/claim", {"among": {"holder__password": "x"}}), 400)


def test_a_skipped_review_is_given_back_and_goes_to_others(caller: Caller) -> None:
    (review,) = waiting_rows(caller.project, 1)
    other = make_caller(caller.project)
    token = caller.post("reviews/claim").body["lease_token"]
    assert_problem(caller.post(f"reviews/{review.pk}/skip"), 409)
    assert_problem(other.post(f"reviews/{review.pk}/skip", {"lease_token": str(review.pk)}), 409)
    answer = caller.post(f"reviews/{review.pk}/skip", {"lease_token": token})
    assert (answer.status, answer.body["state"], answer.body["holder"]) == (200, "waiting", None)
    assert caller.post("reviews/claim").status == 204
    assert AuditEntry.objects.filter(action="review.skipped").count() == 1
    caller.post(f"reviews/{review.pk}/skip", {"undo": True})
    assert not ReviewSkip.objects.exists()
    assert AuditEntry.objects.filter(action="review.unskipped").count() == 1
    assert other.post("reviews/claim").status == 200


def test_what_is_closed_cannot_be_skipped(caller: Caller) -> None:
    (review,) = waiting_rows(caller.project, 1)
    Review.objects.update(state=ReviewState.WITHDRAWN)
    assert_problem(caller.post(f"reviews/{review.pk}/skip"), 409)
