"""Whose settings the completeness check of a run goes by: the task's, its kind's, the project's, the desk's."""

from typing import Any

import pytest
from django.test import Client

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import MOST_KINDS
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.runs.models import Run
from tests.api.caller import assert_problem, make_caller
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
    empty = dict.fromkeys(("enabled", "max_supplements", "temperature", "top_p", "max_retries"), "")
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


@pytest.mark.parametrize(
    ("typed", "field"),
    [
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
