"""The pages of failed calls, and the cheat sheet."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.teams.tools import add_builtin_tools
from tests import given
from tests.repairs.tool_failures import report, tell

pytestmark = pytest.mark.django_db
LIST, SHEET = "/p/desk/tools/failures/", "/p/desk/tools/cheat-sheet/"


@pytest.fixture
def admin(client: Client, project: Project) -> Client:
    return given.logged_in(client, project)


def page_of(client: Client, failure: ToolFailure) -> str:
    return client.get(f"{LIST}{failure.pk}/").text


def test_how_it_went_is_told_once_and_shown(admin: Client, project: Project) -> None:
    failure = report(project)
    address = f"{LIST}{failure.pk}/outcome/"
    asked = admin.post(address, {"fix": "A shorter query"})
    assert asked.status_code == 400
    assert "Select whether it worked." in asked.text
    assert "A shorter query" in asked.text
    wrong = admin.post(address, {"worked": "yes", "delay_seconds": "soon"})
    assert (wrong.status_code, 'id="error-delay_seconds"' in wrong.text) == (400, True)
    page = admin.post(address, {"worked": "yes", "fix": "A shorter query", "delay_seconds": "5"}, follow=True).text
    assert "fix worked" in page
    assert "A shorter query" in page
    assert "Did it work?" not in page
    assert FixPair.objects.get().successes == 1
    refused = admin.post(address, {"worked": "no"})
    assert refused.status_code == 409
    failure.refresh_from_db()
    assert failure.worked is True


def test_a_failed_call_of_a_run_shows_its_diagnosis_beside_it(client: Client) -> None:
    missing, there = ({"tool": "read_file", "arguments": {"path": path}} for path in ("nope.txt", "notes.txt"))
    answers = {"attempt-1/arguments": json.dumps(missing), "attempt-2/arguments": json.dumps(there)}
    project = given.scripted_project("desk", answers)
    given.logged_in(client, project)
    add_builtin_tools(project, actor=Actor())
    files = [{"path": "notes.txt", "content": "Rome"}]
    run = given.advanced_run(
        project, objective="Read the notes", mode="external_loop", tools=["read_file"], files=files
    )
    failure = ToolFailure.objects.get(run=run)
    link = f'href="{LIST}{failure.pk}/">View diagnosis'
    page = client.get(f"/p/desk/runs/{run.pk}/").text
    assert page.count(link) == 2, "at the step and at the attempt"
    assert escape(failure.root_cause) in page


def hostile(project: Project) -> ToolFailure:
    failure = report(
        project,
        tool=given.HOSTILE,
        params={given.HOSTILE: given.HOSTILE},
        error_message=given.HOSTILE,
        agent=given.HOSTILE[:100],
        external_id=given.HOSTILE,
    )
    failure.error_type, failure.root_cause, failure.symptoms = "wrong_tool", given.HOSTILE, [given.HOSTILE]
    failure.severity, failure.source, failure.rule = "high", "rule", given.HOSTILE[:60]
    action: dict[str, Any] = {"remedy": "switch_tool", "action": given.HOSTILE, "fallback_tool": given.HOSTILE}
    failure.action = action | {"modified_params": {given.HOSTILE: "<b>"}, "alternative": given.HOSTILE}
    failure.save()
    return failure


def test_nothing_that_was_told_becomes_markup(admin: Client, project: Project) -> None:
    failure = hostile(project)
    tell(failure, worked=True, fix=given.HOSTILE, note=given.HOSTILE, tool=given.HOSTILE)
    for page in (admin.get(LIST).text, page_of(admin, failure), admin.get(SHEET).text):
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert(1)" not in page
        assert "<b onclick" not in page
        assert "<img src=x" not in page
