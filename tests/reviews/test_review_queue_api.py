"""The queue over REST: the same views and filters as on the page, claiming among them, skipping."""

import pytest

from reflection_app.core.audit import AuditEntry
from reflection_app.reviews.models import Review, ReviewSkip
from tests import given, then
from tests.api.caller import Caller
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db


def found(caller: Caller, reviews: list[Review], **query: str) -> list[int]:
    """Which of the reviews the list has, by their place, oldest first."""
    answer = caller.get("reviews", **query)
    assert answer.status == 200, answer.body
    sent = [one["id"] for one in answer.body["results"]]
    return [number for number, review in enumerate(reviews) if str(review.pk) in sent]


def test_pages_keep_their_filters_and_miss_nothing(caller: Caller) -> None:
    reviews = waiting_rows(caller.project, 7, audits_every=2)
    answer = caller.get("reviews", reason="audit", limit="3")
    rest = caller.get(answer.body["next"])
    sent = [one["id"] for one in answer.body["results"] + rest.body["results"]]
    assert sent == [str(reviews[number].pk) for number in (6, 4, 2, 0)]


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
    then.refused(answer, 400)
    assert then.named_fields(answer) == [field]


def test_the_next_one_can_be_claimed_among_some(caller: Caller) -> None:
    reviews = waiting_rows(caller.project, 6, audits_every=3)
    answer = caller.post("reviews/claim", {"among": {"reason": "audit"}})
    assert answer.body["review"]["id"] == str(reviews[0].pk)
    assert caller.post("reviews/claim", {"among": {"verdict": "PASS"}}).status == 204
    then.refused(caller.post("reviews/claim", {"among": {"holder__password": "x"}}), 400)


def test_a_skipped_review_is_given_back_and_goes_to_others(caller: Caller) -> None:
    (review,) = waiting_rows(caller.project, 1)
    other = given.caller(caller.project)
    token = caller.post("reviews/claim").body["lease_token"]
    then.refused(caller.post(f"reviews/{review.pk}/skip"), 409)
    then.refused(other.post(f"reviews/{review.pk}/skip", {"lease_token": str(review.pk)}), 409)
    answer = caller.post(f"reviews/{review.pk}/skip", {"lease_token": token})
    assert (answer.status, answer.body["state"], answer.body["holder"]) == (200, "waiting", None)
    assert caller.post("reviews/claim").status == 204
    assert AuditEntry.objects.filter(action="review.skipped").count() == 1
    caller.post(f"reviews/{review.pk}/skip", {"undo": True})
    assert not ReviewSkip.objects.exists()
    assert AuditEntry.objects.filter(action="review.unskipped").count() == 1
    assert other.post("reviews/claim").status == 200
