"""The pages of failed calls, and the cheat sheet."""

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.repairs.cheat_sheet import MOST_ROWS
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from reflection_app.teams.tools import add_builtin_tools
from tests.factories import make_member, make_project
from tests.repairs.tool_failures import RIDDLE, diagnosing_project, report, tell
from tests.runs.critiques import critique
from tests.web.stories import HOSTILE, finished, logged_in, project_with

# A run that asks a model gives its connection back, so these tests cannot live in one transaction.
pytestmark = pytest.mark.django_db(transaction=True)
LIST, SHEET = "/p/desk/tools/failures/", "/p/desk/tools/cheat-sheet/"


@pytest.fixture
def project() -> Project:
    return make_project("desk")


@pytest.fixture
def admin(client: Client, project: Project) -> Client:
    return logged_in(client, project)


def page_of(client: Client, failure: ToolFailure) -> str:
    return client.get(f"{LIST}{failure.pk}/").text


def test_empty_pages_say_how_they_fill(admin: Client) -> None:
    for address in (LIST, SHEET):
        page = admin.get(address).text
        assert "/api/v1/tool-failures" in page
        assert "Create a key in the settings" in page
    assert "Cheat sheet</a>" in admin.get("/p/desk/tools/").text


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


def test_older_failures_are_on_the_next_page(admin: Client, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reflection_app.web.list_pages.PAGE", 1)
    first = report(project, tool="first")
    second = report(project, tool="second")
    page = admin.get(LIST, {"q": "s"}).text
    assert ("first</code>" in page, "second</code>" in page) == (False, True)
    assert f"q=s&amp;before={second.pk}" in page
    assert "first</code>" in admin.get(LIST, {"before": str(second.pk)}).text
    assert "No older failures" in admin.get(LIST, {"before": str(first.pk)}).text
    strange = report(make_project(), tool="strange")
    assert "second</code>" in admin.get(LIST, {"before": str(strange.pk)}).text


def test_a_failure_tells_what_was_called_why_it_failed_and_what_to_do(admin: Client, project: Project) -> None:
    first = report(project, agent="a")
    again = report(project, agent="a", error_message="Timeout after 45s")
    page = page_of(admin, again)
    for told in ("multi-agent", "Timeout after 45s", "wait and retry", "Rule <code>timeout</code>", "had just failed"):
        assert told in page
    assert f"{LIST}{first.pk}/" in page
    assert again.root_cause in page
    assert "Did it work?" in page


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


def test_a_viewer_reads_and_cannot_tell(client: Client, project: Project) -> None:
    failure = report(project)
    client.force_login(make_member(project, Role.VIEWER))
    page = page_of(client, failure)
    assert "Did it work?" not in page
    assert "Nobody has told yet." in page


def test_a_failure_says_when_a_model_is_asked_and_what_it_said(client: Client) -> None:
    project = diagnosing_project(slug="desk")
    logged_in(client, project)
    failure = report(project, **RIDDLE, tools=[{"name": "oracle"}, {"name": "almanac"}])
    assert "a model is being asked" in page_of(client, failure)
    assert "being diagnosed" in client.get(LIST).text
    run = Run.objects.get()
    advance(run.pk)
    page = page_of(client, failure)
    for told in ("The oracle answers at new moon only", "A model", "almanac", f"/p/desk/runs/{run.pk}/"):
        assert told in page
    assert client.get(f"/p/desk/runs/{run.pk}/").status_code == 200
    for step in run.steps.all():
        assert client.get(f"/p/desk/runs/{run.pk}/steps/{step.seq}/").status_code == 200


def test_a_failure_that_nobody_understood_says_so(client: Client) -> None:
    project = diagnosing_project("I cannot say.", slug="desk")
    logged_in(client, project)
    failure = report(project, **RIDDLE)
    advance(Run.objects.get().pk)
    assert "Nobody: no known fix and no rule fits" in page_of(client, failure)
    assert "no diagnosis" in client.get(LIST).text


def test_a_failed_call_of_a_run_shows_its_diagnosis_beside_it(client: Client) -> None:
    missing, there = ({"tool": "read_file", "arguments": {"path": path}} for path in ("nope.txt", "notes.txt"))
    answers = {"attempt-1/arguments": json.dumps(missing), "attempt-2/arguments": json.dumps(there)}
    project = project_with("desk", answers)
    logged_in(client, project)
    add_builtin_tools(project, actor=Actor())
    files = [{"path": "notes.txt", "content": "Rome"}]
    run = finished(project, objective="Read the notes", mode="external_loop", tools=["read_file"], files=files)
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


def test_failed_calls_within_a_plan_are_told_as_what_they_are(client: Client) -> None:
    run = a_plan_with_a_failed_call()
    logged_in(client, run.project)
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", client.get(f"/p/{run.project.slug}/runs/{run.pk}/").text))
    assert "No fix is known yet" in page
    assert "Diagnosed: " in page
    assert "The fix worked" in page


def a_plan_with_a_failed_call() -> Run:
    step = {"id": "read", "description": "Read the notes", "tool": "read_file", "requires": []}
    missing, there = ({"tool": "read_file", "arguments": {"path": path}} for path in ("nope.txt", "notes.txt"))
    answers = {
        "attempt-1/plan/make": json.dumps({"steps": [step]}),
        "attempt-1/step-1/arguments": json.dumps(missing),
        "attempt-1/step-1/arguments-2": json.dumps(there),
        "attempt-1/answer": "Rome",
        "attempt-1/critique": critique(95, approved=True),
    }
    project = project_with("planned", answers)
    add_builtin_tools(project, actor=Actor())
    files = [{"path": "notes.txt", "content": "Rome"}]
    return finished(project, objective="Read the notes", mode="planning", tools=["read_file"], files=files)


def hostile(project: Project) -> ToolFailure:
    failure = report(
        project,
        tool=HOSTILE,
        params={HOSTILE: HOSTILE},
        error_message=HOSTILE,
        agent=HOSTILE[:100],
        external_id=HOSTILE,
    )
    failure.error_type, failure.root_cause, failure.symptoms = "wrong_tool", HOSTILE, [HOSTILE]
    failure.severity, failure.source, failure.rule = "high", "rule", HOSTILE[:60]
    action: dict[str, Any] = {"remedy": "switch_tool", "action": HOSTILE, "fallback_tool": HOSTILE}
    failure.action = action | {"modified_params": {HOSTILE: "<b>"}, "alternative": HOSTILE}
    failure.save()
    return failure


def test_nothing_that_was_told_becomes_markup(admin: Client, project: Project) -> None:
    failure = hostile(project)
    tell(failure, worked=True, fix=HOSTILE, note=HOSTILE, tool=HOSTILE)
    for page in (admin.get(LIST).text, page_of(admin, failure), admin.get(SHEET).text):
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert(1)" not in page
        assert "<b onclick" not in page
        assert "<img src=x" not in page


def test_the_cheat_sheet_groups_by_tool_and_tells_no_values(admin: Client, project: Project) -> None:
    secret = "sk-very-secret-token"
    for _ in range(3):
        tell(report(project, params={"token": secret}), worked=True, params={"token": f"{secret}2"}, fix="New token")
    report(project, tool="网页阅读", error_message="403 禁止访问", status=403)
    page = admin.get(SHEET).text
    for told in ("search_papers", "网页阅读", "New token", "3 of 3", "100 %", "not proven", "<code>token</code>"):
        assert told in page, told
    assert secret not in page
    assert "search_papers" not in admin.get(SHEET, {"tool": "网页"}).text
    assert "Nothing is known of such a tool" in admin.get(SHEET, {"tool": "nothing"}).text


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
