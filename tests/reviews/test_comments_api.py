"""Comments, assigning and handing over by REST."""

from uuid import uuid4

import pytest

from notebook_app.public import propose
from reflection_app.core.models import Scope
from reflection_app.reviews.models import Comment, Review
from tests.api.caller import Caller, assert_problem, fields, make_caller
from tests.api.stories import waiting_review
from tests.factories import make_member, make_project, make_user
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


def test_entries_and_runs_are_commented_on_as_well(caller: Caller) -> None:
    review = waiting_review(caller.project)
    entry = propose(caller.project.pk, kind="lesson", name="Look twice", source="t")
    for about, thing in (("run", review.run_id), ("entry", entry.id)):
        path = f"comments?about={about}&id={thing}"
        assert caller.call("POST", path, data='{"text": "x"}').body["about"] == about
        assert len(caller.get("comments", about=about, id=thing).body["results"]) == 1


def test_a_comment_sent_twice_with_one_key_is_one(caller: Caller) -> None:
    review = waiting_review(caller.project)
    path = f"comments?about=review&id={review.pk}"
    answers = [caller.call("POST", path, data='{"text": "x"}', headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].body == answers[1].body
    assert Comment.objects.count() == 1


@pytest.mark.parametrize(
    ("query", "body", "field"),
    [
        ("about=review", '{"text": "x"}', "id"),
        ("about=ticket&id={id}", '{"text": "x"}', "about"),
        ("about=review&id={id}", '{"text": " "}', "text"),
        ("about=review&id={id}", "{}", "text"),
        ("about=review&id={id}", '{"text": "a\\u0000b"}', "text"),
        ("about=review&id={id}", '{"text": "%s"}' % ("x" * 10_001), "text"),
        ("about=review&id={id}", '{"text": "x", "author": "boss"}', "author"),
    ],
)
def test_each_bad_comment_names_its_field(caller: Caller, query: str, body: str, field: str) -> None:
    review = waiting_review(caller.project)
    answer = caller.call("POST", "comments?" + query.format(id=review.pk), data=body)
    assert_problem(answer, 400)
    assert fields(answer) == [field]
    assert not Comment.objects.exists()


def test_another_projects_things_and_comments_are_not_found(caller: Caller) -> None:
    review = waiting_review(caller.project)
    comment = add(caller, review, "Secret.")
    stranger = make_caller(scopes=[Scope.ADMIN])
    assert stranger.get("comments", about="review", id=review.pk).body["results"] == []
    for method, path in (
        ("POST", f"comments?about=review&id={review.pk}"),
        ("POST", f"comments?about=run&id={review.run_id}"),
        ("PATCH", f"comments/{comment}"),
        ("DELETE", f"comments/{comment}"),
        ("PATCH", f"comments/{uuid4()}"),
    ):
        data = "" if method == "DELETE" else '{"text": "x"}'
        assert_problem(stranger.call(method, path, data=data), 404)


def test_others_comments_are_not_changed_and_an_admins_key_takes_back_any(caller: Caller) -> None:
    review = waiting_review(caller.project)
    comment = add(caller, review, "Mine.")
    other = make_caller(caller.project)
    assert_problem(other.call("PATCH", f"comments/{comment}", data='{"text": "x"}'), 403)
    assert_problem(other.call("DELETE", f"comments/{comment}"), 403)
    assert make_caller(caller.project, [Scope.ADMIN]).call("DELETE", f"comments/{comment}").status == 200


def test_at_a_blind_seat_other_keys_do_not_read_it(caller: Caller) -> None:
    review = waiting_review(caller.project)
    blind_seat(review)
    comment = add(caller, review, "Plainly wrong.")
    other = make_caller(caller.project, [Scope.ADMIN])
    assert other.get("comments", about="review", id=review.pk).body["results"] == []
    assert_problem(other.call("DELETE", f"comments/{comment}"), 404)
    assert len(caller.get("comments", about="review", id=review.pk).body["results"]) == 1
    assert "Plainly" not in str(other.get(f"runs/{review.run_id}/events").body)


def test_a_review_is_assigned_and_handed_over(caller: Caller) -> None:
    review = waiting_review(caller.project)
    anna = make_member(caller.project, user=make_user("anna"))
    assert caller.post(f"reviews/{review.pk}/assign", {"to": "anna", "note": "Please."}).status == 200
    review.refresh_from_db()
    assert (review.assignee, review.note) == (anna, "Please.")
    assert caller.post(f"reviews/{review.pk}/assign", {"to": None}).status == 200
    token = caller.post("reviews/claim", {"review_id": str(review.pk)}).body["lease_token"]
    assert_problem(caller.post(f"reviews/{review.pk}/hand-over", {"lease_token": str(uuid4()), "to": "anna"}), 409)
    handed = caller.post(f"reviews/{review.pk}/hand-over", {"lease_token": token, "to": "anna"})
    assert (handed.status, handed.body["state"], handed.body["holder"]) == (200, "waiting", None)
    review.refresh_from_db()
    assert review.assignee == anna


def test_a_stranger_is_not_assigned_and_the_field_is_named(caller: Caller) -> None:
    review = waiting_review(caller.project)
    make_member(make_project(), user=make_user("mallory"))
    for to in ("mallory", "nobody", ""):
        answer = caller.post(f"reviews/{review.pk}/assign", {"to": to})
        assert_problem(answer, 400)
        assert fields(answer) == ["to"]
