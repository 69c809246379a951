"""Editing the answer by REST."""

import pytest

from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from tests.api.caller import Caller
from tests.reviews.editing import BETTER
from tests.reviews.test_reviews import waiting_review

pytestmark = pytest.mark.django_db(transaction=True)


def claimed(caller: Caller, *, score: float = 10) -> tuple[Review, str]:
    review = waiting_review(Project.objects.get(pk=caller.project.pk), score=score)
    answer = caller.post("reviews/claim", {"review_id": str(review.pk)})
    return review, answer.body["lease_token"]


def test_an_edit_is_told_with_both_texts_and_the_run_keeps_it(caller: Caller) -> None:
    review, token = claimed(caller)
    body = {"lease_token": token, "decision": "edit", "edited_answer": BETTER, "score": 40, "reason": "Sources."}
    answer = caller.post(f"reviews/{review.pk}/decision", body)
    assert answer.status == 200, answer.body
    decision = answer.body["decision"]
    assert (decision["edited"], decision["edited_answer"], decision["directors_decision"]) == (True, BETTER, None)
    assert (decision["decision"], decision["verdict"]["verdict"], decision["verdict"]["score"]) == (
        "overrule",
        "REVISE",
        40,
    )
    advance(review.run_id)
    run = caller.get(f"runs/{review.run_id}").body
    best = run["best_attempt"]
    assert (run["outcome"], best["edited"], best["content"], best["original"], best["edited_from"]) == (
        "succeeded",
        True,
        BETTER,
        "first",
        1,
    )
    attempts = caller.get(f"runs/{review.run_id}/attempts").body["results"]
    assert [(one["number"], one["edited_from"]) for one in attempts] == [(1, None), (2, 1)]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"decision": "edit"}, "edited_answer"),
        ({"decision": "edit", "edited_answer": "  "}, "edited_answer"),
        ({"decision": "edit", "edited_answer": "first"}, "edited_answer"),
        ({"decision": "edit", "edited_answer": "x" * 500_001}, "edited_answer"),
        ({"decision": "edit", "edited_answer": "better", "verdict": "PASS"}, "verdict"),
        ({"decision": "close", "edited_answer": "better"}, "edited_answer"),
        ({"decision": "edited", "edited_answer": "better"}, "decision"),
        ({"decision": ["edit"], "edited_answer": "better"}, "decision"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_field(caller: Caller, body: dict[str, object], field: str) -> None:
    review, token = claimed(caller)
    answer = caller.post(f"reviews/{review.pk}/decision", {"lease_token": token, **body})
    assert answer.status == 400, answer.body
    assert [error["field"] for error in answer.body["errors"]] == [field]
    assert Review.objects.get(pk=review.pk).decision is None
