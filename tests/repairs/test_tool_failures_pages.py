"""The pages of failed calls, and the cheat sheet."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils.html import escape

from reflection_app.api import waiting
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project
from reflection_app.repairs import failures_by_meaning
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, RunState
from reflection_app.teams.tools import add_builtin_tools
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.repairs.tool_failures import RIDDLE, TIMEOUT, diagnosing_project, report, tell

pytestmark = pytest.mark.django_db


LIST, SHEET = "/p/desk/tools/failures/", "/p/desk/tools/cheat-sheet/"


@pytest.fixture
def admin(client: Client, project: Project) -> Client:
    return given.logged_in(client, project)


def page_of(client: Client, failure: ToolFailure) -> str:
    return client.get(f"{LIST}{failure.pk}/").text


def test_how_it_went_is_told_once(admin: Client, project: Project) -> None:
    failure = report(project)
    address = f"{LIST}{failure.pk}/outcome/"
    asked = admin.post(address, {"fix": "A shorter query"})
    assert (asked.status_code, "A shorter query" in asked.text) == (400, True)
    wrong = admin.post(address, {"worked": "yes", "delay_seconds": "soon"})
    assert (wrong.status_code, 'id="error-delay_seconds"' in wrong.text) == (400, True)
    admin.post(address, {"worked": "yes", "fix": "A shorter query", "delay_seconds": "5"})
    assert FixPair.objects.get().successes == 1
    assert admin.post(address, {"worked": "no"}).status_code == 409
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


ALMANAC = {"tools": [{"name": "oracle"}, {"name": "almanac", "description": "Tells the moon."}]}


@pytest.fixture
def agent(caller: Caller) -> Caller:
    return caller


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting moves the runs on itself, since no worker runs beside these tests."""
    monkeypatch.setattr(waiting, "sleep", lambda _seconds: advance_all())


def advance_all() -> None:
    for run_id in Run.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True):
        advance(run_id)


def send_report(caller: Caller, sent: dict[str, Any] | None = None, /, *, wait: float = 0, **more: Any) -> Answer:
    body = json.dumps((sent or TIMEOUT) | more)
    return caller.call("POST", "tool-failures", data=body, query={"wait": wait} if wait else None)


def send_outcome(agent: Caller, failure: Any, **sent: Any) -> Answer:
    return agent.post(f"tool-failures/{failure['id']}/outcome", sent)


def test_a_known_failure_is_diagnosed_at_once_in_the_form_of_the_protocol(agent: Caller) -> None:
    answer = send_report(agent, agent="researcher", external_id="call-7")
    assert answer.status == 201
    told = answer.body
    assert (told["reflection_type"], told["failed_tool"]) == ("tool_failure", "search_papers")
    assert (told["state"], told["source"], told["run_id"]) == ("diagnosed", "rule", None)
    assert told["corrective_action"]["remedy"] == "retry_later"
    assert told["checklist"] == {
        "names_the_tool": True,
        "has_the_params": True,
        "has_a_type": True,
        "has_a_concrete_action": True,
        "has_an_outcome": False,
    }
    assert agent.get(f"tool-failures/{told['id']}").body == told
    assert AuditEntry.objects.get(action="tool_failure.reported").after["source"] == "rule"


@pytest.mark.usefixtures("at_once")
def test_a_model_is_asked_where_no_rule_fits_and_the_answer_waits_for_it() -> None:
    agent = given.caller(diagnosing_project())
    told = send_report(agent, RIDDLE | ALMANAC, wait=20).body
    assert (told["state"], told["source"], told["rule"]) == ("diagnosed", "model", None)
    assert told["corrective_action"]["fallback_tool"] == "almanac"
    run = Run.objects.get(pk=told["run_id"])
    assert (run.mode, run.outcome) == ("tool_diagnosis", "succeeded")


def test_an_agent_that_does_not_wait_asks_later() -> None:
    agent = given.caller(diagnosing_project())
    told = send_report(agent, RIDDLE).body
    assert (told["state"], told["diagnosis"], told["corrective_action"]) == ("diagnosing", None, None)
    advance_all()
    assert agent.get(f"tool-failures/{told['id']}", wait=5).body["state"] == "diagnosed"


@pytest.mark.usefixtures("at_once")
def test_what_nobody_can_tell_stays_undiagnosed_and_says_so() -> None:
    agent = given.caller(diagnosing_project("I cannot say."))
    told = send_report(agent, RIDDLE, wait=20).body
    assert (told["state"], told["source"]) == ("undiagnosed", "none")
    assert agent.get("tool-failures/cheat-sheet").body["rows"] == []


def test_a_fix_that_worked_is_tried_first_and_no_tool_advised_that_the_agent_does_not_have(agent: Caller) -> None:
    answer = send_outcome(agent, send_report(agent).body, worked=True, tool="read_cache", fix="Read the cache")
    [pair] = agent.get("fix-pairs", tool="search_papers", type="external_service_error").body["results"]
    assert (answer.status, answer.body["fix_pair"], pair["successes"]) == (200, pair["pattern_id"], 1)
    with_it = send_report(agent, tools=[{"name": "search_papers"}, {"name": "read_cache"}]).body
    assert (with_it["source"], with_it["corrective_action"]["fallback_tool"]) == ("fix_pair", "read_cache")
    assert send_report(agent).body["corrective_action"]["fallback_tool"] == "read_cache"
    assert send_report(agent, tools=[{"name": "search_papers"}]).body["source"] == "rule"


def test_the_same_call_failing_again_is_told_as_repeated(agent: Caller) -> None:
    def is_repeated(**more: Any) -> bool:
        return bool(send_report(agent, **more).body["is_repeated"])

    assert not is_repeated(agent="a")
    assert is_repeated(agent="a")
    assert not is_repeated(agent="b")
    assert not is_repeated(agent="a", params={"query": "other"})
    assert not is_repeated(agent="a")
    assert is_repeated(agent="a")
    assert not is_repeated(agent="a", params={"query": 1})
    assert not is_repeated(agent="a", params={"query": True})


def test_a_failure_can_belong_to_a_run_of_the_project(agent: Caller) -> None:
    run = given.submitted_run(agent.project, agent="writer")
    told = send_report(agent, run_id=str(run.pk)).body
    assert (told["run_id"], told["agent"]) == (str(run.pk), "writer")
    assert send_report(agent, run_id=str(run.pk)).body["is_repeated"] is True
    strange = given.submitted_run(given.project())
    answer = send_report(agent, run_id=str(strange.pk))
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["run_id"]
    assert ToolFailure.objects.count() == 2


def test_failures_are_listed_and_filtered(agent: Caller) -> None:
    first = send_report(agent, agent="a").body
    second = send_report(agent, tool="fetch", error_message="403 Forbidden", status=403).body
    send_outcome(agent, first, worked=False)

    def ids(**query: Any) -> list[str]:
        return [one["id"] for one in agent.get("tool-failures", **query).body["results"]]

    assert ids() == [second["id"], first["id"]]
    assert ids(tool="fetch") == ids(type="permission_denied") == [second["id"]]
    assert ids(agent="a") == ids(worked="false") == [first["id"]]
    assert ids(worked="true") == []


def test_the_cheat_sheet_tells_what_fails_and_what_helps_and_no_value(agent: Caller) -> None:
    secret = "sk-very-secret-token"
    failure = send_report(agent, params={"query": "x", "token": secret}).body
    send_outcome(
        agent, failure, worked=True, params={"query": "y", "token": secret + "2"}, fix=f"Use {secret}2 as token"
    )
    send_report(agent, tool="fetch", error_message="403 Forbidden", status=403)
    sheet = agent.get("tool-failures/cheat-sheet").body
    advice, proven = sheet["rows"]
    assert (proven["is_proven"], proven["changed_params"]) == (True, ["query", "token"])
    assert (advice["is_proven"], bool(advice["fix"])) == (False, True)
    assert secret not in json.dumps(sheet)
    assert agent.get("tool-failures/cheat-sheet", tool="FETCH").body["rows"] == [advice]
    assert agent.get("tool-failures/cheat-sheet", tool="%").body["rows"] == []


@pytest.mark.django_db(transaction=True)
def test_no_model_is_waited_for_inside_of_a_transaction(agent: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def vector_of(text: str, *, timeout_s: float) -> None:
        seen.append(connection.in_atomic_block)

    monkeypatch.setattr(failures_by_meaning, "judging_vector", vector_of)
    answer = agent.post("tool-failures", TIMEOUT, idempotency_key="once")
    assert (answer.status, seen) == (201, [False])
