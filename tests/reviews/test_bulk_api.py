"""Bulk decisions over REST."""

import pytest

from reflection_app.reviews.bulk import work_through
from reflection_app.reviews.models import BulkDecision, Review
from tests.api.caller import Caller
from tests.api.stories import waiting_review

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_pipeline_decides_many_together_and_reads_how_each_went(caller: Caller) -> None:
    reviews = [waiting_review(caller.project) for _ in range(2)]
    body = {"reviews": [str(review.pk) for review in reviews], "decision": "approve", "reason": "Agreed."}
    begun = caller.post("reviews/bulk", body)
    assert (begun.status, begun.body["state"], begun.body["by"]) == (202, "running", f"key {caller.key.name}")
    assert [item["state"] for item in begun.body["items"]] == ["pending"] * 2

    work_through(BulkDecision.objects.get().pk)
    done = caller.get(f"reviews/bulk/{begun.body['id']}")
    assert (done.status, done.body["state"]) == (200, "done")
    assert [item["state"] for item in done.body["items"]] == ["done"] * 2
    assert set(Review.objects.values_list("decided_by_label", flat=True)) == {f"key {caller.key.name}"}


def test_what_cannot_be_read_is_refused_by_its_field_and_decides_nothing(caller: Caller) -> None:
    review = waiting_review(caller.project)
    for body, field in (
        ({"reviews": [], "decision": "approve"}, "reviews"),
        ({"reviews": [str(review.pk)], "decision": "perhaps"}, "decision"),
        ({"reviews": [str(review.pk)], "decision": "overrule", "verdict": "PASS"}, "reason"),
        ({"reviews": ["01890a5d-ac96-774b-bcce-b302099a8057"], "decision": "approve"}, "reviews"),
    ):
        refused = caller.post("reviews/bulk", body)
        assert refused.status == 400, body
        assert refused.body["errors"][0]["field"].startswith(field)
    assert not BulkDecision.objects.exists()


def test_only_what_is_done_can_be_taken_back(caller: Caller) -> None:
    review = waiting_review(caller.project)
    begun = caller.post("reviews/bulk", {"reviews": [str(review.pk)], "decision": "approve"})
    assert caller.post(f"reviews/bulk/{begun.body['id']}/undo").status == 409
    work_through(BulkDecision.objects.get().pk)
    assert caller.post(f"reviews/bulk/{begun.body['id']}/undo").body["state"] == "undoing"
