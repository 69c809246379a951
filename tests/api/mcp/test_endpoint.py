"""The desk's tools, used by the official client over the real web server."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError

from reflection_app.api.mcp.server import TOOLS
from reflection_app.core.audit import AuditEntry
from reflection_app.loops.diagnosis.diagnoses import ErrorType
from reflection_app.repairs.models import ToolFailure
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Attempt, Run, RunState
from reflection_app.tasks.models import Task
from tests import given
from tests.api.caller import Caller
from tests.api.mcp.serving import Server, serving
from tests.notebook.entries import make_entry
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)

MODES = ("legacy", "2026-07-28")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server(django_db_setup: None, collected: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def agent(transactional_db: None) -> Caller:
    return given.caller()


def talk[T](server: Server, agent: Caller, what: Callable[[Client], Awaitable[T]], *, mode: str = "auto") -> T:
    async def converse() -> T:
        async with server.client(agent.secret, mode=mode) as client:
            return await what(client)

    return asyncio.run(converse())


def call(server: Server, agent: Caller, tool: str, *, mode: str = "auto", **arguments: Any) -> Any:
    return talk(server, agent, lambda client: client.call_tool(tool, arguments), mode=mode)


def test_an_agent_works_on_a_task_with_the_tools_alone(server: Server, agent: Caller) -> None:
    async def first(client: Client) -> Any:
        assert (await client.list_tools()).tools
        return await client.call_tool(
            "submit_task",
            {
                "objective": "Answer with a JSON object that has a title.",
                "execution": "external",
                "mode": "external_loop",
                "output_schema": {"type": "object", "required": ["title"]},
                "idempotency_key": "once",
            },
        )

    for mode in MODES:
        told = talk(server, agent, first, mode=mode)
        assert not told.is_error, told.content
    task = Task.objects.get()  # the second asked with the same key
    run_id = str(told.structured_content["run"]["id"])
    assert json.loads(told.content[0].text) == told.structured_content
    advance(Run.objects.get().pk)

    asked = call(server, agent, "get_run", run_id=run_id).structured_content
    assert asked["state"] == RunState.WAITING_AGENT
    assert "title" in asked["next"]["prompt"]

    call(server, agent, "hand_in_attempt", run_id=run_id, content='{"name": "x"}', wait=0)
    advance(Run.objects.get().pk)
    after = call(server, agent, "get_run", run_id=run_id, mode="legacy").structured_content["next"]
    assert after["attempt"] == 2
    assert "title" in after["prompt"]
    assert list(Attempt.objects.values_list("content", flat=True)) == ['{"name": "x"}']
    assert AuditEntry.objects.get(action="task.submitted").actor_label == f"key {agent.key.name}"
    assert task.project_id == agent.project.pk


def test_agents_claim_work_by_the_tools_and_no_two_get_the_same(server: Server, agent: Caller) -> None:
    told = call(server, agent, "claim_work", wait=0)
    assert (told.is_error, told.structured_content) == (False, {"work": None})
    body = {"objective": "x", "execution": "external", "output_schema": {"type": "array"}, "external_id": "job"}
    task = agent.post("tasks", body | {"agent": "a"})
    run_id = task.body["run"]["id"]
    advance(Run.objects.get().pk)

    work = call(server, agent, "claim_work", agents=["a"], holder="one", lease_s=60, wait=0).structured_content["work"]
    assert (work["run"]["id"], work["run"]["next"]["attempt"]) == (run_id, 1)
    assert call(server, agent, "claim_work", wait=0).structured_content == {"work": None}
    token = work["lease_token"]
    assert call(server, agent, "keep_work", run_id=run_id, lease_token=token).structured_content["lease_until"]
    refused = call(server, agent, "hand_in_attempt", run_id=run_id, content="[]", wait=0)
    assert refused.is_error
    assert call(server, agent, "release_work", run_id=run_id, lease_token=token).structured_content == {
        "released": True
    }
    gone = call(server, agent, "keep_work", run_id=run_id, lease_token=token)
    assert (gone.is_error, "409" in gone.content[0].text) == (True, True)
    again = call(server, agent, "claim_work", wait=0).structured_content["work"]
    call(server, agent, "hand_in_attempt", run_id=run_id, content="[]", lease_token=again["lease_token"], wait=0)
    advance(Run.objects.get().pk)

    found = call(
        server, agent, "list_runs", outcome="succeeded", external_id="job", sort="-finished_at"
    ).structured_content
    assert [run["id"] for run in found["results"]] == [run_id]
    assert call(server, agent, "list_tasks", external_id="nobody's").structured_content["results"] == []
    assert call(server, agent, "list_runs", sort="prettiest").is_error


def test_a_failed_call_is_diagnosed_and_the_fix_kept(server: Server, agent: Caller) -> None:
    async def both(client: Client) -> Any:
        told = await client.call_tool(
            "report_tool_failure", {"tool": "search", "params": {"q": "x"}, "error_message": "Timeout after 30s"}
        )
        failure = told.structured_content["id"]
        await client.call_tool("report_fix_outcome", {"failure_id": failure, "worked": True})
        return (await client.call_tool("get_tool_failure", {"failure_id": failure})).structured_content

    told = talk(server, agent, both)
    assert told["error_type"] == ErrorType.EXTERNAL_SERVICE_ERROR
    assert ToolFailure.objects.get().worked is True


def test_the_notebook_is_asked_and_added_to(server: Server, agent: Caller) -> None:
    agent = given.caller(agent.project, ["notebook:read", "notebook:write"])
    make_entry(agent.project, name="Totals with tax", content="Read gross_total, not net_total.", state="approved")

    async def ask(client: Client) -> Any:
        recalled = await client.call_tool("recall_lessons", {"q": "totals with tax", "for": "billing/1"})
        rules = await client.call_tool("get_rules_prompt", {"n": 3, "min_occurrences": 1})
        proposed = await client.call_tool(
            "propose_lesson", {"kind": "rule", "name": "Dates", "content": "Write dates as 2026-01-31."}
        )
        return recalled, rules, proposed

    recalled, rules, proposed = talk(server, agent, ask)
    assert [told.is_error for told in (recalled, rules, proposed)] == [False] * 3, (recalled, rules, proposed)
    sent = recalled.structured_content
    assert len(sent["entries"]) + sent["withheld"] == 1
    assert "Totals with tax" in rules.structured_content["text"]
    assert proposed.structured_content["is_new"] is True


def test_refusals_are_errors_of_the_tool_in_the_words_of_rest(server: Server, agent: Caller) -> None:
    other = given.caller()
    reader = given.caller(agent.project, ["runs:read"])
    theirs = call(server, other, "submit_task", objective="Write a haiku.", kind="creative_writing")

    blank = call(server, agent, "submit_task", objective=" ", colour="red")
    assert blank.is_error
    assert "- objective:" in blank.content[0].text
    assert "- colour:" in blank.content[0].text
    problem = dict(blank.meta)["reflection-desk/problem"]
    assert problem["status"] == 400

    for refused, words in (
        (call(server, reader, "submit_task", objective="Write a haiku."), "tasks:write"),
        (call(server, agent, "get_run", run_id=theirs.structured_content["run"]["id"]), "no such run"),
        (call(server, agent, "get_run", run_id="../tasks"), "run_id: must be the id"),
        (call(server, agent, "get_run"), "run_id: must be the id"),
        (call(server, agent, "get_rules_prompt", n=[1]), "n: must be"),
        (call(server, agent, "get_rules_prompt", m=1), "m: is not an argument"),
        (call(server, agent, "submit_task", objective="x", idempotency_key="键"), "Idempotency-Key"),
        (call(server, agent, "submit_task", objective="x", idempotency_key=5), "idempotency_key: must be"),
        (call(server, agent, "delete_everything"), "no tool"),
    ):
        assert refused.is_error, words
        assert words in refused.content[0].text
    assert Task.objects.filter(project=agent.project).count() == 0


def test_who_has_no_key_or_comes_from_a_foreign_page_learns_nothing(server: Server, agent: Caller) -> None:
    with pytest.raises((MCPError, httpx2.HTTPError, ExceptionGroup)):
        talk(server, Caller(agent.project, agent.key, "rd_wrong"), lambda client: client.list_tools())

    def ask(method: str = "POST", key: str = agent.secret, **headers: str) -> httpx2.Response:
        sent = ACCEPT | {"Authorization": f"Bearer {key}"} | headers
        return httpx2.request(method, f"{server.origin}/mcp", json=PING, headers=sent, timeout=PATIENCE_S)

    assert ask().status_code == 200
    assert ask(Origin=server.origin).status_code == 200
    refused = ask(key="rd_wrong")
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert ask(Origin="https://evil.example").status_code == 403
    assert ask(Origin="null").status_code == 403
    assert ask(Host="evil.example").status_code == 400
    for method in ("GET", "DELETE", "PUT"):
        not_allowed = ask(method)
        assert not_allowed.status_code == 405
        assert not_allowed.headers["Allow"] == "POST"


def test_a_body_that_is_no_honest_one_is_refused(server: Server, agent: Caller) -> None:
    def send(body: bytes) -> httpx2.Response:
        headers = ACCEPT | {"Authorization": f"Bearer {agent.secret}", "Content-Type": "application/json"}
        return httpx2.post(f"{server.origin}/mcp", content=body, headers=headers, timeout=PATIENCE_S)

    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"submit_task","arguments":{"objective":"x",'
    nested = deep + b'"metadata":' + b'{"a":' * 100 + b"1" + b"}" * 100 + b"}}}"
    assert "nested" in send(nested).text
    for body in (b"", b"{", b"[" * 100_000, b'"x"', b"[]", b'{"jsonrpc":"2.0","id":1}', nested[:-9]):
        assert 400 <= send(body).status_code < 500, body[:20]
    assert send(b" " * 10_000_001 + json.dumps(PING).encode()).status_code == 413
    many = send(json.dumps(PING | {"params": {f"k{number}": 1 for number in range(300_000)}}).encode())
    assert many.status_code == 413
    assert "200,000" in many.json()["error"]["message"]
    unstorable = deep + b'"external_id":"\\u0000"}}}'
    assert "cannot be stored" in send(unstorable).text
    infinite = deep + b'"metadata":{"a":NaN}}}}'
    assert send(infinite).json()["result"]["isError"] is True
    assert Task.objects.count() == 0


def test_every_tool_is_a_call_that_rest_has() -> None:
    from django.urls import resolve

    for tool in TOOLS.values():
        example = dict.fromkeys(tool.ids, "01890a5d-ac96-774b-bcce-b302099a8057")
        view = resolve(tool.path.format(**example)).func.view_class  # type: ignore[attr-defined]
        assert hasattr(view, tool.method.lower()), tool.name
        assert set(tool.input_schema["properties"]) >= set(tool.ids)
