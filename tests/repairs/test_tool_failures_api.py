"""An agent reports a failed call, is told what to do, and tells how that went."""

import json
from typing import Any

import pytest
from django.db import connection

from reflection_app.api import waiting
from reflection_app.core.audit import AuditEntry
from reflection_app.repairs import failures_by_meaning
from reflection_app.repairs.models import ToolFailure
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, RunState
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.repairs.tool_failures import RIDDLE, TIMEOUT, diagnosing_project

pytestmark = pytest.mark.django_db
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


def report(caller: Caller, sent: dict[str, Any] | None = None, /, *, wait: float = 0, **more: Any) -> Answer:
    body = json.dumps((sent or TIMEOUT) | more)
    return caller.call("POST", "tool-failures", data=body, query={"wait": wait} if wait else None)


def tell(agent: Caller, failure: Any, **sent: Any) -> Answer:
    return agent.post(f"tool-failures/{failure['id']}/outcome", sent)


def test_a_known_failure_is_diagnosed_at_once_in_the_form_of_the_protocol(agent: Caller) -> None:
    answer = report(agent, agent="researcher", external_id="call-7")
    assert answer.status == 201
    told = answer.body
    assert told["reflection_type"] == "tool_failure"
    assert (told["failed_tool"], told["failed_params"]) == ("search_papers", {"query": "multi-agent"})
    assert (told["error_message"], told["error_type"]) == ("Timeout after 30s", "external_service_error")
    assert (told["state"], told["source"], told["run_id"]) == ("diagnosed", "rule", None)
    assert told["rule"]
    action = told["corrective_action"]
    assert (action["remedy"], action["retry_delay_seconds"] > 0) == ("retry_later", True)
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
    told = report(agent, RIDDLE | ALMANAC, wait=20).body
    assert (told["state"], told["source"], told["rule"]) == ("diagnosed", "model", None)
    assert told["diagnosis"] == {
        "error_type": "wrong_tool",
        "root_cause": "The oracle answers at new moon only",
        "severity": "high",
    }
    assert told["corrective_action"]["fallback_tool"] == "almanac"
    run = Run.objects.get(pk=told["run_id"])
    assert (run.mode, run.outcome) == ("tool_diagnosis", "succeeded")
    assert ToolFailure.objects.count() == 1


def test_an_agent_that_does_not_wait_asks_later() -> None:
    agent = given.caller(diagnosing_project())
    told = report(agent, RIDDLE).body
    assert (told["state"], told["diagnosis"], told["corrective_action"]) == ("diagnosing", None, None)
    advance_all()
    assert agent.get(f"tool-failures/{told['id']}", wait=5).body["state"] == "diagnosed"


@pytest.mark.usefixtures("at_once")
def test_what_nobody_can_tell_stays_undiagnosed_and_says_so() -> None:
    agent = given.caller(diagnosing_project("I cannot say."))
    told = report(agent, RIDDLE, wait=20).body
    assert (told["state"], told["source"]) == ("undiagnosed", "none")
    assert agent.get("tool-failures/cheat-sheet").body["rows"] == []


def test_a_fix_that_worked_is_tried_first_the_next_time(agent: Caller) -> None:
    first = report(agent).body
    answer = tell(agent, first, worked=True, params={"query": "agents"}, fix="A shorter query", delay_seconds=5)
    assert answer.status == 200
    assert answer.body["outcome"]["worked"] is True
    assert answer.body["outcome"]["params"] == {"query": "agents"}
    [pair] = agent.get("fix-pairs").body["results"]
    assert (pair["tool"], pair["successful_fix"], pair["successes"]) == ("search_papers", "A shorter query", 1)
    assert answer.body["fix_pair"] == pair["pattern_id"]
    second = report(agent, error_message="Timeout after 45s").body
    assert (second["source"], second["fix_pair"]) == ("fix_pair", pair["pattern_id"])
    assert second["corrective_action"]["modified_params"] == {"query": "agents"}
    tell(agent, second, worked=True)
    [pair] = agent.get("fix-pairs", tool="search_papers", type="external_service_error").body["results"]
    assert pair["successes"] == 2


def test_a_remembered_tool_that_the_agent_does_not_have_is_not_advised(agent: Caller) -> None:
    tell(agent, report(agent).body, worked=True, tool="read_cache", fix="Read the cache")
    with_it = report(agent, tools=[{"name": "search_papers"}, {"name": "read_cache"}]).body
    assert (with_it["source"], with_it["corrective_action"]["fallback_tool"]) == ("fix_pair", "read_cache")
    assert report(agent).body["corrective_action"]["fallback_tool"] == "read_cache"
    assert report(agent, tools=[{"name": "search_papers"}]).body["source"] == "rule"


def test_the_same_call_failing_again_is_told_as_repeated(agent: Caller) -> None:
    def is_repeated(**more: Any) -> bool:
        return bool(report(agent, **more).body["is_repeated"])

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
    told = report(agent, run_id=str(run.pk)).body
    assert (told["run_id"], told["agent"]) == (str(run.pk), "writer")
    assert report(agent, run_id=str(run.pk)).body["is_repeated"] is True
    strange = given.submitted_run(given.project())
    answer = report(agent, run_id=str(strange.pk))
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["run_id"]
    assert ToolFailure.objects.count() == 2


def test_failures_are_listed_and_filtered(agent: Caller) -> None:
    first = report(agent, agent="a").body
    second = report(agent, tool="fetch", error_message="403 Forbidden", status=403).body
    tell(agent, first, worked=False)

    def ids(**query: Any) -> list[str]:
        return [one["id"] for one in agent.get("tool-failures", **query).body["results"]]

    assert ids() == [second["id"], first["id"]]
    assert ids(tool="fetch") == ids(type="permission_denied") == [second["id"]]
    assert ids(agent="a") == ids(worked="false") == [first["id"]]
    assert ids(worked="true") == []


def test_the_cheat_sheet_tells_what_fails_and_what_helps_and_no_value(agent: Caller) -> None:
    secret = "sk-very-secret-token"
    failure = report(agent, params={"query": "x", "token": secret}).body
    tell(agent, failure, worked=True, params={"query": "y", "token": secret + "2"}, fix=f"Use {secret}2 as token")
    report(agent, tool="fetch", error_message="403 Forbidden", status=403)
    sheet = agent.get("tool-failures/cheat-sheet").body
    advice, proven = sheet["rows"]
    assert (proven["tool"], proven["times_seen"], proven["is_proven"]) == ("search_papers", 1, True)
    assert (proven["successes"], proven["failures"], proven["success_share"]) == (1, 0, 1.0)
    assert proven["changed_params"] == ["query", "token"]
    assert (advice["tool"], advice["error_type"], advice["is_proven"]) == ("fetch", "permission_denied", False)
    assert advice["fix"]
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
