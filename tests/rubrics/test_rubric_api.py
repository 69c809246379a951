"""The rubric, the guidelines and the examples over REST: versions, who may, and how far ratings agree."""

import json
from datetime import timedelta
from functools import partial
from time import process_time
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project, Scope
from reflection_app.reviews.models import Review
from reflection_app.rubrics.agreement import CriterionAgreement, agreement_by_criterion
from reflection_app.rubrics.changing import (
    RubricInput,
    change_rubric,
    newest_rubric,
    rubric_of,
)
from reflection_app.rubrics.models import RubricVersion
from reflection_app.rubrics.views import TEXTS, CriterionForm, keys_for
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.reviews.test_reviews import together
from tests.rubrics.rated import CRITERIA, as_ratings, rated_review

pytestmark = pytest.mark.django_db


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


def test_a_rubric_that_makes_no_sense_is_refused_by_its_field(admin: Caller) -> None:
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([CRITERIA[0], CRITERIA[0]], "criteria.1.key"),
        ([CRITERIA[3]], "criteria.0.scale"),
        ([CRITERIA[0] | {"weight": 0}], "criteria.0.weight"),
        ([CRITERIA[0] | {"key": "Über"}], "criteria.0.key"),
        ([CRITERIA[2] | {"choices": []}], "criteria.0"),
        ([CRITERIA[0] | {"key": f"k{n}"} for n in range(21)], "criteria"),
    ]
    for criteria, field in cases:
        answer = put(admin, "rubric", {"criteria": criteria})
        assert answer.status == 400
        assert any(name.startswith(field) for name in then.named_fields(answer)), answer.body
    assert RubricVersion.objects.count() == 0


def test_who_saw_another_version_changes_nothing(admin: Caller) -> None:
    seen = admin.get("rubric").headers["etag"]
    assert put(admin, "rubric", {"criteria": CRITERIA}).status == 200
    then.refused(put(admin, "rubric", {"criteria": CRITERIA[:1]}, if_match=seen), 412)
    then.refused(put(admin, "rubric", {"criteria": CRITERIA[:1], "number": 0}), 409)
    then.refused(put(admin, "guidelines", {"text": "New.", "number": 5}), 409)
    assert admin.get("rubric").body["number"] == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_who_write_the_guidelines_at_once_one_is_told(admin: Caller) -> None:
    texts = ({"text": text, "number": 0} for text in ("One.", "Two."))
    found = together(*[partial(put, admin, "guidelines", text) for text in texts])
    assert sorted(answer.status for answer in found if isinstance(answer, Answer)) == [200, 409]
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


# The page of rubric and guidelines: edited and rearranged without saving, saved whole, nothing typed is lost.


PAGE = "/p/rated/settings/rubric/"


@pytest.fixture
def project() -> Project:
    return given.project("rated")


def typed(*criteria: dict[str, str], **own: str) -> dict[str, str]:
    form = {"number": "0", "note": "", **own}
    usual = {"key": "", "name": "", "help": "", "scale": "points", "weight": "1", "points": "5", "choices": ""}
    for number, criterion in enumerate(criteria):
        form |= {f"criteria.{number}.{name}": value for name, value in (usual | criterion).items()}
    return form


def test_what_was_typed_is_saved_as_a_version_with_keys_of_its_names(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    form = typed(
        {"name": "Facts are right", "weight": "3"},
        {"name": "准确", "scale": "pass_fail"},
        {"name": "Ready", "scale": "category", "choices": "No = 0\r\nAfter an edit = 60\r\nYes：100"},
        note="First.",
    )
    form["criteria.0.must_hold"] = "on"
    assert client.post(PAGE, form | {"do": "save"}).status_code == 302
    version = newest_rubric(project.pk)
    assert version is not None
    rubric = version.get_rubric()
    assert rubric is not None
    assert [one.key for one in rubric.criteria] == ["facts_are_right", "criterion_2", "ready"]
    assert [one.must_hold for one in rubric.criteria] == [True, False, False]
    assert [(one.name, one.worth) for one in rubric.criteria[2].choices] == [
        ("No", 0),
        ("After an edit", 60),
        ("Yes", 100),
    ]


def test_what_is_wrong_is_refused_and_nothing_is_lost(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    wrong = [
        {"name": ""},
        {"name": "A", "weight": "no"},
        {"name": "A", "points": "1"},
        {"name": "A", "scale": "category", "choices": "Yes = 100"},
        {"name": "A", "scale": "text"},
        {"name": "A", "scale": "stars"},
    ]
    for criterion in wrong:
        answer = client.post(PAGE, typed(criterion | {"help": "Kept as typed."}) | {"do": "save"})
        assert (answer.status_code, "Kept as typed." in answer.text) == (400, True), criterion
    assert RubricVersion.objects.count() == 0


def test_who_saves_over_a_newer_version_is_told_and_keeps_what_was_typed(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    change_rubric(project, RubricInput(criteria=CRITERIA), actor=Actor())
    answer = client.post(PAGE, typed({"name": "Mine"}) | {"do": "save"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert 'value="Mine"' in page
    assert "The rubric was changed in the meantime. Nothing was saved." in page
    assert 'name="number" value="1"' in page


def test_guidelines_are_written_and_shown_beside_each_item(client: Client) -> None:
    review = rated_review("rated")
    given.logged_in(client, review.project)
    address = reverse("save_guidelines", args=("rated",))
    text = f"# Prices\n\nReject what names a price that is **not** in the list. {given.HOSTILE}"
    assert client.post(address, {"text": text, "note": "", "number": "0"}).status_code == 302
    item = client.get(reverse("review", args=("rated", review.pk))).content.decode()
    assert "<strong>not</strong>" in item
    assert "<script>alert(1)" not in item
    stale = client.post(address, {"text": "Other.", "note": "", "number": "0"})
    assert stale.status_code == 409
    assert "Other." in stale.content.decode()


def test_keys_are_made_of_names_each_once() -> None:
    named: list[tuple[str, Any]] = [("", "Clear"), ("clear", "Clearer"), ("", "Clear"), ("", "1st"), ("", "x" * 200)]
    keys = keys_for(named)
    assert keys[:4] == ["clear_2", "clear", "clear_3", "criterion_4"]
    assert len(keys[4]) <= 40


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (" Ready to send ＝", None),
        ("  Ready = to send ==  97.5 % ", ("Ready = to send =", "97.5")),
        ("不行：0", ("不行", "0")),
        ("= 5", None),
        ("Ready = 5 of 10", None),
    ],
)
def test_a_line_of_a_category_is_its_name_and_its_worth(line: str, read: tuple[str, str] | None) -> None:
    (choice,) = _choices_of(line)
    assert choice == (line if read is None else {"name": read[0], "worth": read[1]})


def test_a_long_line_of_a_category_is_read_at_once() -> None:
    begun = process_time()
    for line in ("a" + " " * 20_000 + "b", " " * 20_000 + "b", "a = " * 20_000):
        assert _choices_of(line) == [line]
    assert process_time() - begun < 2


def _choices_of(line: str) -> list[Any]:
    texts = dict.fromkeys(TEXTS, "") | {"scale": "category", "choices": line}
    choices: list[Any] = CriterionForm(texts).given(key="k")["choices"]
    return choices
