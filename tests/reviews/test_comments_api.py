"""Comments, assigning and handing over by REST."""

import pytest

from reflection_app.core.models import Scope
from reflection_app.reviews.models import Review
from tests.api.caller import Caller, assert_problem, make_caller
from tests.api.stories import waiting_review
from tests.reviews.test_comments import blind_seat

pytestmark = pytest.mark.django_db(transaction=True)


def add(caller: Caller, review: Review, text: str) -> str:
    answer = caller.call("POST", f"comments?about=review&id={review.pk}", data=f'{{"text": "{text}"}}')
    assert answer.status == 201, answer.body
    return str(answer.body["id"])


def test_a_pipeline_comments_reads_edits_and_takes_back(caller: Caller) -> None:
    review = waiting_review(caller.project)
    first, second = add(caller, review, "First."), add(caller, review, "Second.")
    assert caller.call("PATCH", f"comments/{first}", data='{"text": "Better."}').body["text"] == "Better."
    gone = caller.call("DELETE", f"comments/{second}").body
    assert (gone["text"], gone["taken_back_at"] is not None, gone["author"]) == ("", True, f"key {caller.key.name}")
    page = caller.get("comments", about="review", id=review.pk).body["results"]
    assert [(one["id"], one["text"]) for one in page] == [(second, ""), (first, "Better.")]
    assert_problem(caller.call("DELETE", f"comments/{second}"), 409)


def test_at_a_blind_seat_other_keys_do_not_read_it(caller: Caller) -> None:
    review = waiting_review(caller.project)
    blind_seat(review)
    comment = add(caller, review, "Plainly wrong.")
    other = make_caller(caller.project, [Scope.ADMIN])
    assert other.get("comments", about="review", id=review.pk).body["results"] == []
    assert_problem(other.call("DELETE", f"comments/{comment}"), 404)
    assert len(caller.get("comments", about="review", id=review.pk).body["results"]) == 1
    assert "Plainly" not in str(other.get(f"runs/{review.run_id}/events").body)
