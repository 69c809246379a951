"""Whose settings the completeness check of a run goes by: the task's, the project's, the server's."""

import json
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.runs.models import Run
from tests import given, then
from tests.repairs.completeness import reading_project

pytestmark = pytest.mark.django_db


def spec_of(project: Project, **submission: Any) -> TaskSpec:
    answer = given.caller(project).post("tasks", {"objective": "Find it.", "mode": "planning", **submission})
    assert answer.status == 201, answer.body
    return Run.objects.get(project=project).get_spec()


@pytest.mark.parametrize(
    ("task", "expected", "said_by"),
    [
        ({}, (3, 0.7), "project"),
        ({"max_supplements": 5}, (5, 0.7), "task"),
        ({"when": "off"}, None, "task"),
    ],
)
def test_the_most_specific_setting_wins(task: dict[str, Any], expected: tuple[int, float] | None, said_by: str) -> None:
    project = reading_project(completeness={"temperature": 0.7})
    spec = spec_of(project, tools=["read_file"], completeness=task)
    found = spec.completeness and (spec.completeness.max_supplements, spec.completeness.temperature)
    assert (found, spec.completeness_from) == (expected, said_by)


def test_settings_are_read_and_changed_in_part_by_rest() -> None:
    admin = given.caller(reading_project(), ["admin"])
    usual = admin.get("completeness-settings").body
    assert (usual["when"], usual["max_supplements"], usual["max_cost_usd"], usual["chosen"]) == ("on", 3, None, [])

    change = {"max_cost_usd": 0.05, "when": "sampled", "share": 0.3}
    for _ in range(2):
        answer = admin.call("PATCH", "completeness-settings", data=json.dumps(change))
        assert answer.status == 200, answer.body
    told = answer.body
    assert (told["max_cost_usd"], told["when"], told["share"]) == ("0.05000000", "sampled", 0.3)
    assert told["chosen"] == ["max_cost_usd", "share", "when"]
    assert AuditEntry.objects.filter(action="settings.changed").count() == 1, "the second changed nothing"

    told = admin.call("PATCH", "completeness-settings", data=json.dumps({"when": None, "share": None})).body
    assert (told["when"], told["max_cost_usd"], told["chosen"]) == ("on", "0.05000000", ["max_cost_usd"])


def test_what_is_wrong_with_settings_by_rest_is_named_and_nothing_changes() -> None:
    admin = given.caller(reading_project(), ["admin"])
    for wrong, field in (
        ({"max_cost_usd": 0}, "max_cost_usd"),
        ({"share": 1.1}, "share"),
        ({"when": "always"}, "when"),
    ):
        answer = admin.call("PATCH", "completeness-settings", data=json.dumps(wrong))
        then.refused(answer, 400, field)
    assert Project.objects.get(pk=admin.project.pk).completeness == {}


@pytest.mark.parametrize(
    ("former", "expected"),
    [
        ({"when": "always", "share": 0.3, "holdout_share": 0.2}, {"when": "on", "share": 0.3}),
        ({"when": "never", "least_share": 0.1, "max_supplements": 1}, {"when": "off", "max_supplements": 1}),
        ({"enabled": False, "when": "sampled"}, {"when": "off"}),
        ({"least_worth": 0.2, "max_cost_per_completed_usd": "1", "max_cost_usd": "0.5"}, {"max_cost_usd": "0.5"}),
    ],
)
def test_stored_settings_are_migrated(former: dict[str, Any], expected: dict[str, Any]) -> None:
    project = reading_project(completeness=former)
    migration = import_module("reflection_app.migrations.0045_plain_completeness_checks")
    migration.simplify_settings(apps, None)
    project.refresh_from_db()
    assert project.completeness == expected
    assert project.get_completeness().when == expected.get("when", "on")
