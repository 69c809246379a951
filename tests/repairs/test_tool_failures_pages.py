"""The pages of failed calls, and the cheat sheet."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.repairs.cheat_sheet import MOST_ROWS
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.teams.tools import add_builtin_tools
from tests import given
from tests.repairs.tool_failures import report, tell

# A run that asks a model gives its connection back, so these tests cannot live in one transaction.
pytestmark = pytest.mark.django_db
LIST, SHEET = "/p/desk/tools/failures/", "/p/desk/tools/cheat-sheet/"


@pytest.fixture
def admin(client: Client, project: Project) -> Client:
    return given.logged_in(client, project)


def page_of(client: Client, failure: ToolFailure) -> str:
    return client.get(f"{LIST}{failure.pk}/").text


def test_failures_are_listed_and_filtered(admin: Client, project: Project) -> None:
    slow = report(project, agent="researcher", external_id="call-7")
    refused = tell(report(project, tool="fetch", error_message="403 Forbidden", status=403), worked=False)

    def found(**query: str) -> list[bool]:
        page = admin.get(LIST, query).text
        return [f"{LIST}{slow.pk}/" in page, f"{LIST}{refused.pk}/" in page]

    assert found() == [True, True]
    assert found(q="FETCH") == found(type="permission_denied") == found(went="failed") == [False, True]
    assert found(q="call-7") == found(agent="researcher") == found(went="unknown") == [True, False]
    assert found(type="nonsense", went="nonsense", before="nonsense") == [True, True]
    assert "No failure matches" in admin.get(LIST, {"q": "nothing\x00"}).text
    part = admin.get(LIST, {"q": "fetch"}, headers={"HX-Request": "true"}).text
    assert part.lstrip().startswith("<div data-results")


def test_how_it_went_is_told_once_and_shown(admin: Client, project: Project) -> None:
    failure = report(project)
    address = f"{LIST}{failure.pk}/outcome/"
    asked = admin.post(address, {"fix": "A shorter query"})
    assert asked.status_code == 400
    assert "Say whether it worked." in asked.text
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


@pytest.mark.django_db(transaction=True)
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
    link = f'href="{LIST}{failure.pk}/">Show the diagnosis'
    page = client.get(f"/p/desk/runs/{run.pk}/").text
    assert page.count(link) == 2, "at the step and at the attempt"
    assert escape(failure.root_cause) in page
    step = run.steps.get(key=failure.place)
    assert link in client.get(f"/p/desk/runs/{run.pk}/steps/{step.seq}/").text
    own = page_of(client, failure)
    assert "Show the run" in own
    assert "Reported by" not in own


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


def test_the_cheat_sheet_is_counted_in_two_queries_however_long_it_is(admin: Client, project: Project) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert admin.get(SHEET).status_code == 200
        return len(captured)

    report(project)
    few = queries()
    one = ToolFailure.objects.get()
    for number in range(MOST_ROWS + 5):
        one.pk, one.signature = None, f"signature {number}"
        one.id = ToolFailure._meta.get_field("id").get_default()
        one._state.adding = True
        one.save()
    assert queries() == few
    assert "Only the most usual are shown" in admin.get(SHEET).text
