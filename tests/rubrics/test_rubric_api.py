"""The rubric, the guidelines and the examples over REST: versions, who may, and how far ratings agree."""

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Scope
from reflection_app.reviews.models import Review
from reflection_app.rubrics.agreement import CriterionAgreement, agreement_by_criterion
from reflection_app.rubrics.changing import rubric_of
from reflection_app.rubrics.models import RubricVersion
from tests import given, then
from tests.api.caller import Caller
from tests.rubrics.rated import CRITERIA, as_ratings, rated_review

pytestmark = pytest.mark.django_db(transaction=True)


def put(caller: Caller, path: str, body: dict[str, Any], **headers: str) -> Any:
    return caller.call("PUT", path, data=json.dumps(body), headers={k.replace("_", "-"): v for k, v in headers.items()})


def test_each_change_is_a_version_and_the_same_again_is_none(admin: Caller) -> None:
    first = put(admin, "rubric", {"criteria": CRITERIA, "note": "To begin with.", "number": 0})
    assert (first.status, first.body["number"], first.body["note"]) == (200, 1, "To begin with.")
    assert put(admin, "rubric", {"criteria": CRITERIA}).body["number"] == 1
    assert put(admin, "rubric", {"criteria": CRITERIA[:2]}).body["number"] == 2
    assert put(admin, "rubric", {"criteria": []}).body == first.body | {
        "number": 3,
        "criteria": [],
        "note": "",
        "created_at": admin.get("rubric").body["created_at"],
    }
    assert [one["number"] for one in admin.get("rubric/versions").body["results"]] == [3, 2, 1]
    trail = AuditEntry.objects.filter(action="rubric.changed").order_by("created_at")
    assert [(entry.before["number"], entry.after["number"]) for entry in trail] == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("criteria", "field"),
    [
        ([CRITERIA[0], CRITERIA[0]], "criteria.1.key"),
        ([CRITERIA[3]], "criteria.0.scale"),
        ([CRITERIA[0] | {"weight": 0}], "criteria.0.weight"),
        ([CRITERIA[0] | {"key": "Über"}], "criteria.0.key"),
        ([CRITERIA[2] | {"choices": []}], "criteria.0"),
        ([CRITERIA[0] | {"name": "x" * 121}], "criteria.0.name"),
        ([CRITERIA[0] | {"name": "a\x00b"}], "criteria.0.name"),
        ([CRITERIA[0] | {"key": f"k{n}"} for n in range(21)], "criteria"),
    ],
)
def test_a_rubric_that_makes_no_sense_is_refused_by_its_field(
    admin: Caller, criteria: list[dict[str, Any]], field: str
) -> None:
    answer = put(admin, "rubric", {"criteria": criteria})
    assert answer.status == 400
    assert RubricVersion.objects.count() == 0
    assert any(name.startswith(field) for name in then.named_fields(answer)) or "\x00" in str(criteria), answer.body


def test_who_saw_another_version_changes_nothing(admin: Caller) -> None:
    seen = admin.get("rubric").headers["etag"]
    assert put(admin, "rubric", {"criteria": CRITERIA}).status == 200
    then.refused(put(admin, "rubric", {"criteria": CRITERIA[:1]}, if_match=seen), 412)
    then.refused(put(admin, "rubric", {"criteria": CRITERIA[:1], "number": 0}), 409)
    then.refused(put(admin, "guidelines", {"text": "New.", "number": 5}), 409)
    assert admin.get("rubric").body["number"] == 1


def test_of_two_who_write_the_guidelines_at_once_one_is_told(admin: Caller) -> None:
    found: list[int] = []

    def write(text: str) -> None:
        try:
            found.append(put(admin, "guidelines", {"text": text, "number": 0}).status)
        finally:
            connections.close_all()

    both = [threading.Thread(target=write, args=(text,)) for text in ("One.", "Two.")]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert sorted(found) == [200, 409]
    assert [one["number"] for one in admin.get("guidelines/versions").body["results"]] == [1]


def decided(name: str, **ratings: Any) -> Review:
    """A review that a key overruled with these ratings."""
    review = rated_review(name, correct=4)
    caller = given.caller(scopes=[Scope.REVIEWS_WRITE], project=review.project)
    token = caller.post("reviews/claim", {"review_id": str(review.pk)}).body["lease_token"]
    said = {"lease_token": token, "decision": "overrule", "ratings": as_ratings(**ratings)}
    assert caller.post(f"reviews/{review.pk}/decision", said).status == 200
    return review


def test_how_far_critic_and_people_rate_alike_is_told_by_criterion() -> None:
    review = decided("agreement", correct=2)
    rubric, now = rubric_of(review.project), timezone.now()
    assert rubric is not None

    def told() -> list[CriterionAgreement]:
        since = now - timedelta(days=1)
        return agreement_by_criterion(review.project_id, rubric.criteria, since=since, until=now + timedelta(days=1))

    assert [one.criterion for one in told()] == ["correct", "tone", "ready"]
    # What a key decided is no person's word.
    assert (told()[0].rated, told()[0].same) == (0, None)
    Review.objects.filter(pk=review.pk).update(decided_by_key=None)
    correct, tone, _ready = told()
    assert correct.same is not None
    assert (correct.rated, correct.same.estimate, correct.above) == (1, 0, 50)
    assert tone.same is not None
    assert (tone.rated, tone.same.estimate, tone.above, tone.alpha) == (1, 1, 0, None)
    assert tone.same.low < 0.5
