"""Tools as steps of runs: journalled, timed, repeated under the same key, and without a database connection."""

import json
import socket
from typing import Any

import pytest
from django.db import connection

from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.tool_calls import ToolFailure
from reflection_app.loops.tool_permission import Ground
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from reflection_app.runs.performing import perform
from tests import given
from tests.adapters.outgoing.server import Heard, RawServer, reply
from tests.adapters.tools.making import SECRET_VALUE, call, http_tool, run_of, secret

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def lookup_call(*, timeout_s: float, key: str = "k") -> CallTool:
    """A permitted call of the tool `lookup`."""
    return CallTool(key=key, tool="lookup", arguments={}, timeout_s=timeout_s, ground=Ground.REVIEWER)


def test_a_tasks_tool_call_is_a_step_of_its_run_and_its_secret_is_in_none() -> None:
    project = given.project()
    with RawServer(lambda heard, to: reply(heard.headers["authorization"].encode())(heard, to)) as server:
        secret(project, server.url)
        headers = {"Authorization": "Bearer {secret:TOKEN}"}
        http_tool(project, f"{server.url}/{{city}}", parameters=SCHEMA, headers=headers)
        run = run_of(project, tool_call={"tool": "lookup", "arguments": {"city": "Bern"}})
        advance(run.pk)
    run = Run.objects.get(pk=run.pk)
    assert run.outcome == "succeeded", run.error
    step = Step.objects.get(run=run, kind="call_tool")
    assert [heard.path for heard in server.heard] == ["/Bern"]
    assert server.heard[0].headers["authorization"] == f"Bearer {SECRET_VALUE}"
    assert server.heard[0].headers["idempotency-key"] == f"{run.pk}/{step.key}"
    assert step.result is not None
    assert step.result["content"] == "Bearer [secret TOKEN]"
    stored = json.dumps([list(Step.objects.filter(run=run).values()), list(run.events.values())], default=str)
    assert SECRET_VALUE not in stored


@pytest.mark.parametrize(
    ("answered", "ok"),
    [
        (b'{"isError": true, "content": [{"type": "text", "text": "no such city"}]}', False),
        (b'{"exit_code": 1, "stderr": "no such city"}', False),
        (b"Permission denied", False),
        (b"Fehler: Stadt unbekannt", False),
        (b'{"city": "Bern", "status": "failed", "trains": 4}', True),
    ],
)
def test_an_answer_with_status_200_that_reports_an_error_is_a_failed_call(answered: bytes, ok: bool) -> None:
    project = given.project()
    with RawServer(reply(answered)) as server:
        http_tool(project, server.url)
        result = call(run_of(project), "lookup", city="Bern")
    assert (result.ok, result.failure) == (ok, None if ok else ToolFailure.TOOL_ERROR)
    assert result.content == answered.decode()
    assert result.error == ("" if ok else answered.decode())


def test_a_call_made_again_after_a_crash_carries_the_same_key() -> None:
    project = given.project()
    with RawServer(reply()) as server:
        http_tool(project, server.url)
        run = run_of(project)
        effect = lookup_call(key="attempt-1/call", timeout_s=5)
        for _ in range(2):
            perform(effect, run=run, model="", seq=1)
    assert len({heard.headers["idempotency-key"] for heard in server.heard}) == 1
    assert len(server.heard) == 2


@pytest.mark.django_db(transaction=True)
def test_no_database_connection_is_held_while_a_tool_works() -> None:
    project = given.project()
    held: list[bool] = []
    mine = connection

    def look(heard: Heard, to: socket.socket) -> None:
        held.append(mine.connection is not None)
        reply()(heard, to)

    with RawServer(look) as server:
        http_tool(project, server.url)
        run = run_of(project)
        # The connection object of this thread, which the server's thread only looks at.
        mine = connection._connections[connection._alias]  # type: ignore[attr-defined]
        assert mine.connection is not None
        performed = perform(
            CallTool(key="k", tool="lookup", arguments={}, timeout_s=5, ground=Ground.REVIEWER),
            run=run,
            model="",
            seq=1,
        )
    assert performed.value.ok
    assert held == [False]
