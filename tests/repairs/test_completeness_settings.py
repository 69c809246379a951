"""Whose settings the completeness check of a run goes by: the task's, its kind's, the project's, the desk's."""

import json
from typing import Any

import pytest
from django.test import Client

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import MOST_KINDS
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.runs.models import Run
from tests.api.caller import assert_problem, fields, make_caller
from tests.factories import make_project
from tests.repairs.completeness import reading_project, supplemented
from tests.teams.test_settings import TYPED
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/p/set/settings/"


def spec_of(project: Project, **submission: Any) -> TaskSpec:
    answer = make_caller(project).post("tasks", {"objective": "Find it.", "mode": "planning", **submission})
    assert answer.status == 201, answer.body
    return Run.objects.get(project=project).get_spec()


@pytest.mark.parametrize(
    ("task", "kind", "expected", "said_by"),
    [
        ({}, "", (3, 0.7), "project"),
        ({}, "news", (1, 0.7), "kind"),
        ({}, "secret", None, "kind"),
        ({"max_supplements": 5}, "news", (5, 0.7), "task"),
        ({"enabled": True}, "secret", (3, 0.7), "task"),
        ({"enabled": False}, "", None, "task"),
    ],
)
def test_the_most_specific_setting_wins(
    task: dict[str, Any], kind: str, expected: tuple[int, float] | None, said_by: str
) -> None:
    project = reading_project(
        completeness={"temperature": 0.7},
        completeness_by_kind={"news": {"max_supplements": 1}, "secret": {"enabled": False}},
    )
    spec = spec_of(project, tools=["read_file"], kind=kind, completeness=task)
    found = spec.completeness and (spec.completeness.max_supplements, spec.completeness.temperature)
    assert (found, spec.completeness_from) == (expected, said_by)


def test_without_any_choice_the_desks_own_holds() -> None:
    assert spec_of(reading_project(), tools=["read_file"]).completeness_from == "desk"


@pytest.mark.parametrize(
    "wrong", [{"max_supplements": 21}, {"temperature": -1}, {"top_p": 0}, {"max_retries": 6}, {"model": "x"}, "off"]
)
def test_what_a_task_sets_wrong_is_refused(wrong: Any) -> None:
    body = {"objective": "Find it.", "tools": ["read_file"], "completeness": wrong}
    answer = make_caller(reading_project()).post("tasks", body)
    assert_problem(answer, 400)
    assert all(error["field"].startswith("completeness") for error in answer.body["errors"])
    assert not Run.objects.exists()


def test_a_run_shows_whose_setting_applied(client: Client) -> None:
    project = reading_project(completeness_by_kind={"compare": {"max_supplements": 1}})
    run = supplemented(project)
    page = logged_in(client, project).get(f"/p/{project.slug}/runs/{run.pk}/").text
    assert "Checked as the project has it for this kind of task." in page
    assert "At most 1 supplement is carried out." in page
    assert make_caller(project).get(f"runs/{run.pk}").body["completeness"]["settings_from"] == "kind"


def test_a_run_that_its_kind_leaves_unchecked_says_so(client: Client) -> None:
    project = reading_project(completeness_by_kind={"compare": {"enabled": False}})
    run = supplemented(project)
    page = logged_in(client, project).get(f"/p/{project.slug}/runs/{run.pk}/").text
    assert "Checked as the project has it for this kind of task." in page
    assert "The check is off." in page


def row(number: int, kind: str, **parts: str) -> dict[str, str]:
    names = ("enabled", "max_supplements", "temperature", "top_p", "max_retries", "least_worth", "look_again")
    empty = dict.fromkeys((*names, "max_cost_per_completed_usd", "max_cost_usd"), "")
    return {f"kinds.{number}.{part}": text for part, text in (empty | {"kind": kind} | parts).items()}


def test_kinds_are_set_on_the_page_changed_and_removed(client: Client) -> None:
    admin = logged_in(client, make_project("set"))
    typed = TYPED | row(0, "news", max_supplements="1") | row(1, "<b>秘密</b>", enabled="off") | row(2, "")
    page = admin.post(PAGE, typed, follow=True).text
    saved = Project.objects.get(slug="set").completeness_by_kind
    assert saved == {"news": {"max_supplements": 1}, "<b>秘密</b>": {"enabled": False}}
    assert 'value="news"' in page
    assert "<b>秘密" not in page
    [entry] = AuditEntry.objects.filter(action="settings.changed")
    assert entry.after["completeness_by_kind"] == saved

    admin.post(PAGE, TYPED | row(0, "", max_supplements="") | row(1, "news", enabled="on", temperature="0.5"))
    assert Project.objects.get(slug="set").completeness_by_kind == {"news": {"enabled": True, "temperature": 0.5}}


def test_a_kind_has_lines_of_its_own(client: Client) -> None:
    admin = logged_in(client, make_project("set"))
    typed = row(0, "news", least_worth="20", max_cost_usd="0.02", look_again="off")
    page = admin.post(PAGE, TYPED | typed, follow=True).text
    project = Project.objects.get(slug="set")
    assert project.completeness_by_kind == {"news": {"least_worth": 0.2, "max_cost_usd": "0.02", "look_again": False}}
    assert 'name="kinds.0.least_worth" value="20"' in page
    found = project.get_completeness("news")
    assert (found.least_worth, str(found.max_cost_usd), found.look_again) == (0.2, "0.02", False)
    assert project.get_completeness().look_again


def test_a_task_has_a_limit_of_money_of_its_own() -> None:
    project = reading_project(completeness={"max_cost_usd": "1"})
    spec = spec_of(project, tools=["read_file"], completeness={"max_cost_usd": "0.25", "look_again": False})
    assert spec.completeness is not None
    assert (str(spec.completeness.max_cost_usd), spec.completeness.look_again) == ("0.25", False)


def test_settings_are_read_and_changed_in_part_by_rest() -> None:
    admin = make_caller(reading_project(), ["admin"])
    usual = admin.get("completeness-settings").body
    assert (usual["max_supplements"], usual["max_cost_usd"], usual["look_again"]) == (3, None, True)
    assert (usual["chosen"], usual["kinds"]) == ([], {})

    change = {"max_cost_usd": 0.05, "least_worth": 0.1, "kinds": {"news": {"max_supplements": 1, "top_p": 0.5}}}
    for _ in range(2):
        answer = admin.call("PATCH", "completeness-settings", data=json.dumps(change))
        assert answer.status == 200, answer.body
    told = answer.body
    assert (told["max_cost_usd"], told["least_worth"], told["chosen"]) == (
        "0.05000000",
        0.1,
        ["least_worth", "max_cost_usd"],
    )
    assert (told["kinds"]["news"]["max_supplements"], told["kinds"]["news"]["enabled"]) == (1, None)
    assert AuditEntry.objects.filter(action="settings.changed").count() == 1, "the second changed nothing"

    back = {"least_worth": None, "kinds": {"news": {"top_p": None, "look_again": False}, "gone": None}}
    told = admin.call("PATCH", "completeness-settings", data=json.dumps(back)).body
    assert (told["least_worth"], told["max_cost_usd"], told["chosen"]) == (0, "0.05000000", ["max_cost_usd"])
    project = Project.objects.get(pk=admin.project.pk)
    assert project.completeness_by_kind == {"news": {"max_supplements": 1, "look_again": False}}
    told = admin.call("PATCH", "completeness-settings", data=json.dumps({"kinds": {"news": None}})).body
    assert told["kinds"] == {}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"max_cost_usd": 0}, "max_cost_usd"),
        ({"least_worth": 1.1}, "least_worth"),
        ({"kinds": {"news": {"max_supplements": 21}}}, "kinds.news.max_supplements"),
        ({"kinds": {str(number): {"enabled": True} for number in range(MOST_KINDS + 1)}}, "kinds"),
        ({"model": "x"}, "model"),
    ],
)
def test_what_is_wrong_with_settings_by_rest_is_named_and_nothing_changes(wrong: dict[str, Any], field: str) -> None:
    admin = make_caller(reading_project(), ["admin"])
    answer = admin.call("PATCH", "completeness-settings", data=json.dumps(wrong))
    assert_problem(answer, 400)
    assert field in fields(answer)
    project = Project.objects.get(pk=admin.project.pk)
    assert (project.completeness, project.completeness_by_kind) == ({}, {})


def test_kinds_are_bounded_over_all_that_were_set_by_rest() -> None:
    kinds = {f"kind-{number}": {"enabled": True} for number in range(MOST_KINDS)}
    admin = make_caller(reading_project(completeness_by_kind=kinds), ["admin"])
    answer = admin.call("PATCH", "completeness-settings", data=json.dumps({"kinds": {"more": {"enabled": False}}}))
    assert_problem(answer, 400)


def test_only_an_admin_key_changes_settings_by_rest() -> None:
    caller = make_caller(reading_project(), ["runs:read", "tasks:write"])
    assert caller.get("completeness-settings").status == 200
    assert_problem(caller.call("PATCH", "completeness-settings", data="{}"), 403)


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        (row(0, "news", least_worth="101"), "kinds.0.least_worth"),
        (row(0, "news", max_cost_usd="-1"), "kinds.0.max_cost_usd"),
        (row(0, "news", max_supplements="21"), "kinds.0.max_supplements"),
        (row(0, "news", top_p="much"), "kinds.0.top_p"),
        (row(0, "", max_supplements="1"), "kinds.0.kind"),
        (row(0, "k" * 61, max_supplements="1"), "kinds.0.kind"),
        (row(0, "news", enabled="on") | row(1, "news", enabled="off"), "kinds.1.kind"),
    ],
)
def test_what_is_wrong_with_a_kind_is_told_at_its_field(client: Client, typed: dict[str, str], field: str) -> None:
    answer = logged_in(client, make_project("set")).post(PAGE, TYPED | typed)
    assert answer.status_code == 400
    assert f'id="error-{field}"' in answer.text
    assert Project.objects.get(slug="set").completeness_by_kind == {}


def test_a_project_has_settings_for_a_bounded_number_of_kinds(client: Client) -> None:
    admin, typed = logged_in(client, make_project("set")), dict(TYPED)
    for number in range(MOST_KINDS + 1):
        typed |= row(number, f"kind-{number}", enabled="on")
    assert admin.post(PAGE, typed).status_code == 400
    assert Project.objects.get(slug="set").completeness_by_kind == {}
