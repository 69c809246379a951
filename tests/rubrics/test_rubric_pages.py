"""The page of rubric and guidelines: edited and rearranged without saving, saved whole, nothing typed is lost."""

from time import process_time
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.rubrics.changing import (
    RubricInput,
    change_rubric,
    newest_rubric,
)
from reflection_app.rubrics.models import RubricVersion
from reflection_app.rubrics.views import TEXTS, CriterionForm, keys_for
from tests import given
from tests.rubrics.rated import CRITERIA, rated_review

pytestmark = pytest.mark.django_db(transaction=True)
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
    page = client.get(PAGE).content.decode()
    assert "First." in page
    assert "v1" in page


@pytest.mark.parametrize(
    ("criterion", "sentence"),
    [
        ({"name": ""}, "1 to 120 characters."),
        ({"name": "A", "weight": "no"}, "A number above 0, at most 100."),
        ({"name": "A", "points": "1"}, "A whole number from 2 to 10."),
        ({"name": "A", "scale": "category", "choices": "Yes"}, "One a line, two at least"),
        ({"name": "A", "scale": "category", "choices": "Yes = 100"}, "One a line, two at least"),
        ({"name": "A", "scale": "text"}, "texts alone give no score"),
        ({"name": "A", "scale": "stars"}, "Choose one of the scales."),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_lost(
    client: Client, project: Project, criterion: dict[str, str], sentence: str
) -> None:
    given.logged_in(client, project)
    answer = client.post(PAGE, typed(criterion | {"help": "Kept as typed."}) | {"do": "save"})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert sentence in page
    assert "Kept as typed." in page
    assert RubricVersion.objects.count() == 0


def test_who_saves_over_a_newer_version_is_told_and_keeps_what_was_typed(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    change_rubric(project, RubricInput(criteria=CRITERIA), actor=Actor())
    answer = client.post(PAGE, typed({"name": "Mine"}) | {"do": "save"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert 'value="Mine"' in page
    assert "Somebody changed the rubric meanwhile" in page
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
