"""Tools of MCP servers, against a real one."""

import contextlib
import json
import socket
import time

import pytest

from reflection_app.adapters.outgoing import AddressRefused, OutgoingError, TimedOut, TooLarge, Unreachable
from reflection_app.adapters.tools.config import McpConfig
from reflection_app.adapters.tools.mcp import call_mcp, list_tools
from reflection_app.adapters.tools.secrets import Secrets
from reflection_app.loops.tool_calls import ToolFailure, ToolResult
from tests.adapters.outgoing.server import Heard, RawServer, Reply, reply
from tests.adapters.tools.mcp_server import TOKEN, McpServer

pytestmark = pytest.mark.usefixtures("loopback")
NO_SECRETS = Secrets({})
HEADERS = {"Authorization": "Bearer {secret:MCP}"}


def call(
    url: str, tool: str, *, secrets: Secrets = NO_SECRETS, deadline_s: float = 5, **arguments: object
) -> ToolResult:
    headers = HEADERS if secrets is not NO_SECRETS else {}
    config = McpConfig(url=url, tool_name=tool, headers=headers)
    return call_mcp(config, arguments, secrets=secrets, idempotency_key="run/step", deadline_s=deadline_s)


def test_a_tool_is_called_and_its_text_comes_back(mcp_server: McpServer) -> None:
    assert call(mcp_server.url, "add", a=2, b=3).content == "5"
    result = call(mcp_server.url, "echo", text="grüß 你好")
    assert (result.ok, result.content) == (True, "you said grüß 你好")


def test_a_servers_tools_are_listed_with_their_schemas(mcp_server: McpServer) -> None:
    found = {tool.name: tool for tool in list_tools(mcp_server.url, {}, secrets=NO_SECRETS, deadline_s=5)}
    assert {"add", "echo", "fail", "slow", "huge"} <= found.keys()
    assert found["add"].description == "Adds two numbers."
    assert found["add"].parameters["required"] == ["a", "b"]


def test_a_tool_that_fails_says_why(mcp_server: McpServer) -> None:
    result = call(mcp_server.url, "fail")
    assert (result.ok, result.failure) == (False, ToolFailure.TOOL_ERROR)
    assert "the disk is full" in result.error


def test_an_unknown_tool_and_wrong_arguments_are_errors_of_the_tool(mcp_server: McpServer) -> None:
    assert call(mcp_server.url, "nothing").failure is ToolFailure.TOOL_ERROR
    assert call(mcp_server.url, "add", a="x").failure is ToolFailure.TOOL_ERROR


def test_a_slow_tool_is_cut_off_within_the_deadline(mcp_server: McpServer) -> None:
    began = time.monotonic()
    with pytest.raises(TimedOut):
        call(mcp_server.url, "slow", seconds=20, deadline_s=1)
    assert time.monotonic() - began < 15


def test_a_long_answer_is_shortened_and_a_huge_one_refused(mcp_server: McpServer) -> None:
    result = call(mcp_server.url, "huge", characters=300_000)
    assert result.ok
    assert result.is_shortened
    assert len(result.content) < 70_000
    assert "characters left out" in result.content
    with pytest.raises(TooLarge):
        call(mcp_server.url, "huge", characters=5_000_000)


def test_a_secret_goes_to_its_origin_and_is_taken_out_of_what_is_said(mcp_server: McpServer) -> None:
    secrets = Secrets({"MCP": (f"http://127.0.0.1:{mcp_server.port}", TOKEN)})
    result = call(mcp_server.url, "headers", secrets=secrets)
    assert result.ok
    assert "authorization: Bearer [secret MCP]" in result.content
    assert TOKEN not in result.model_dump_json()


QUOTED = f"no access for Bearer {TOKEN}"


def answering(**said: object) -> Reply:
    """Answers each request of the protocol with `said`."""

    def answer(heard: Heard, connection: socket.socket) -> None:
        asked = json.loads(heard.body or b"{}")
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), **said}).encode()
        reply(body, content_type="application/json")(heard, connection)

    return answer


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"code": -32603, "message": QUOTED}},
        {"error": {"code": -32603, "message": "x" * 1_950 + QUOTED}},
        {"result": {"capabilities": QUOTED * 3}},
    ],
    ids=["short", "cut", "of another form"],
)
def test_a_secret_that_a_server_quotes_in_a_refusal_is_not_told(said: dict[str, object]) -> None:
    with RawServer(answering(**said)) as server:
        secrets = Secrets({"MCP": (server.url, TOKEN)})
        with pytest.raises(Unreachable) as refused:
            list_tools(f"{server.url}/mcp", HEADERS, secrets=secrets, deadline_s=5)
        told = [str(refused.value)]
        with contextlib.suppress(Unreachable):
            told.append(call(f"{server.url}/mcp", "x", secrets=secrets).error)
    assert any(TOKEN in heard.headers.get("authorization", "") for heard in server.heard)
    assert not [text for text in told if TOKEN[:6] in text]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (reply(b"hello"), Unreachable),
        (reply(b"no", status="401 Unauthorized"), Unreachable),
        (reply(b"{}", content_type="application/json"), Unreachable),
        (reply(status="307 Temporary Redirect", location="http://169.254.169.254/"), OutgoingError),
        (reply(b"x" * 3_000_000, content_type="application/json"), TooLarge),
    ],
    ids=["text", "401", "other json", "redirect", "huge"],
)
def test_what_is_no_mcp_server_is_told_soon(answer: object, expected: type[OutgoingError]) -> None:
    with RawServer(answer) as server:  # type: ignore[arg-type]
        began = time.monotonic()
        with pytest.raises(expected):
            list_tools(f"{server.url}/mcp", {}, secrets=NO_SECRETS, deadline_s=60)
        assert time.monotonic() - began < 30


def test_nobody_there_and_private_addresses_are_told_apart() -> None:
    with pytest.raises(Unreachable):
        list_tools("http://127.0.0.1:1/mcp", {}, secrets=NO_SECRETS, deadline_s=5)
    with pytest.raises(AddressRefused):
        list_tools("http://10.0.0.1/mcp", {}, secrets=NO_SECRETS, deadline_s=5)
