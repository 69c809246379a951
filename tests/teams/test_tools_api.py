"""The registry of tools over REST."""

from typing import Any

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.teams.models import Secret, Tool
from reflection_app.teams.tools import add_builtin_tools
from tests import then
from tests.adapters.outgoing.conftest import loopback
from tests.adapters.outgoing.server import RawServer, reply
from tests.adapters.tools.conftest import mcp_server
from tests.adapters.tools.making import SECRET_VALUE
from tests.adapters.tools.mcp_server import TOKEN, McpServer
from tests.api.caller import Caller

__all__ = ["loopback", "mcp_server"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]
WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "kind": "http",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "config": {"url": "http://127.0.0.1:9/weather/{city}"},
}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "has space"}, "name"),
        ({"name": "import-mcp"}, "name"),
        ({"timeout_s": 1000}, "timeout_s"),
        ({"parameters": {"type": "string"}}, "parameters"),
        ({"parameters": {"type": "object", "properties": {"city": {"type": "town"}}}}, "parameters"),
        ({"parameters": {"type": "object", "properties": {"a": {"$ref": "https://example.com/s"}}}}, "parameters"),
        ({"config": {}}, "config.url"),
        ({"config": {"url": "http://127.0.0.1/", "more": 1}}, "config.more"),
        ({"config": {"url": "http://127.0.0.1/", "method": "TRACE"}}, "config.method"),
        ({"config": {"url": "http://{city}.example/"}}, "config.url"),
        ({"config": {"url": "http://127.0.0.1/{town}"}}, "config.url"),
        ({"config": {"url": "http://127.0.0.1/{city"}}, "config.url"),
        ({"config": {"url": "http://169.254.169.254/latest"}}, "config.url"),
        ({"config": {"url": "http://127.0.0.1/", "headers": {"Host": "x"}}}, "config.headers"),
        ({"config": {"url": "http://127.0.0.1/", "headers": {"X-A": "a\r\nb"}}}, "config.headers"),
        ({"config": {"url": "http://127.0.0.1/", "headers": {"Authorization": "Bearer abc"}}}, "config.headers"),
        ({"config": {"url": "http://127.0.0.1/", "headers": {"X-A": "{secret:NONE}"}}}, "config.headers"),
        ({"config": {"url": "http://127.0.0.1/", "headers": {"X-A": "{secret:}"}}}, "config.headers"),
        ({"kind": "mcp", "config": {"url": "http://127.0.0.1/mcp"}}, "config.tool_name"),
        ({"kind": "builtin", "config": {"name": "shell"}}, "config.name"),
    ],
)
def test_what_cannot_be_used_is_refused_at_its_field(admin: Caller, wrong: dict[str, Any], field: str) -> None:
    answer = admin.post("tools", WEATHER | wrong)
    then.refused(answer, 400)
    assert then.named_fields(answer) == [field], answer.body
    assert not Tool.objects.exists()


def test_a_name_is_taken_once(admin: Caller) -> None:
    assert admin.post("tools", WEATHER).status == 201
    again = admin.post("tools", WEATHER)
    then.refused(again, 400)
    assert then.named_fields(again) == ["name"]
    add_builtin_tools(admin.project, actor=Actor())
    assert [tool["name"] for tool in admin.get("tools", kind="http").body["results"]] == ["get_weather"]
    assert admin.get("tools", is_enabled="false").body["results"] == []
    assert then.named_fields(admin.call("PATCH", "tools/python", data='{"name": "get_weather"}')) == ["name"]


def test_a_secret_is_for_its_own_origin_and_never_told(admin: Caller) -> None:
    made = admin.post("secrets", {"name": "TOKEN", "origin": "http://127.0.0.1:9/x", "value": SECRET_VALUE})
    assert (made.status, made.body["origin"]) == (201, "http://127.0.0.1:9")
    headers = {"Authorization": "Bearer {secret:TOKEN}"}
    assert admin.post("tools", WEATHER | {"config": {**WEATHER["config"], "headers": headers}}).status == 201
    moved = admin.call(
        "PATCH",
        "tools/get_weather",
        data='{"config": {"url": "http://127.0.0.1:10/{city}", "headers": {"Authorization": "{secret:TOKEN}"}}}',
    )
    then.refused(moved, 400)
    assert then.named_fields(moved) == ["config.headers"]
    assert "is for http://127.0.0.1:9" in moved.body["errors"][0]["message"]
    listed = admin.get("secrets")
    assert [secret["name"] for secret in listed.body["results"]] == ["TOKEN"]
    for answer in (made, moved, listed, admin.get("tools")):
        assert SECRET_VALUE not in str(answer.body)
    assert admin.call("DELETE", "secrets/TOKEN").status == 204
    then.refused(admin.call("DELETE", "secrets/TOKEN"), 404)
    # It can always be switched off, whatever has become of its secret.
    assert admin.call("PATCH", "tools/get_weather", data='{"is_enabled": false}').status == 200


def test_a_refused_secret_is_not_repeated(admin: Caller) -> None:
    for given in ({"name": "A", "origin": "https://a.example", "value": "ünsafe-value"}, {"value": ["ünsafe-value"]}):
        answer = admin.post("secrets", given)
        then.refused(answer, 400)
        assert "nsafe" not in str(answer.body)
    assert not Secret.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_tools_of_a_server_are_imported_and_renewed(admin: Caller, mcp_server: McpServer) -> None:
    add_builtin_tools(admin.project, actor=Actor())
    Tool.objects.filter(name="python").update(name="echo")
    admin.post("secrets", {"name": "MCP", "origin": mcp_server.url, "value": TOKEN})
    server = {"url": mcp_server.url, "headers": {"Authorization": "Bearer {secret:MCP}"}}
    first = admin.post("tools/import-mcp", server)
    assert first.status == 200, first.body
    assert {"add", "fail", "slow"} <= set(first.body["added"])
    assert first.body["skipped"] == [{"name": "echo", "why": "another tool has this name already"}]
    add = admin.get("tools/add").body
    assert (add["kind"], add["description"]) == ("mcp", "Adds two numbers.")
    assert add["parameters"]["required"] == ["a", "b"]
    Tool.objects.filter(name="add").update(description="old")
    again = admin.post("tools/import-mcp", server)
    assert (again.body["updated"], again.body["added"]) == (["add"], [])
    assert admin.get("tools/add").body["description"] == "Adds two numbers."
    look_up = admin.get("tools/look_up").body
    assert (look_up["config"]["annotations"]["read_only"], look_up["effect_class"]) == (True, "read")
    assert admin.get("tools/add").body["effect_class"] == "external", "a tool that says nothing may do anything"


@pytest.mark.django_db(transaction=True)
def test_a_server_that_is_none_imports_nothing(admin: Caller) -> None:
    with RawServer(reply(b"hello")) as server:
        answer = admin.post("tools/import-mcp", {"url": server.url})
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["url"]
    assert then.named_fields(admin.post("tools/import-mcp", {"url": "http://192.168.0.1/mcp"})) == ["url"]
    assert then.named_fields(admin.post("tools/import-mcp", {})) == ["url"]
    assert not Tool.objects.exists()


def test_a_tool_has_an_effect_class_that_an_admin_may_set_and_each_change_is_audited(admin: Caller) -> None:
    reads = admin.post("tools", WEATHER).body
    assert (reads["effect"], reads["effect_class"], reads["is_allowed"]) == ("auto", "read", False)
    config = {"url": "http://127.0.0.1:9/pay", "method": "POST"}
    pays = admin.post("tools", {"name": "pay", "kind": "http", "config": config}).body
    assert (pays["effect_class"], pays["is_allowed"]) == ("external", False)
    changed = admin.call("PATCH", "tools/pay", data='{"effect": "write", "is_allowed": true}').body
    assert (changed["effect"], changed["effect_class"], changed["is_allowed"]) == ("write", "write", True)
    entry = AuditEntry.objects.get(action="tool.changed")
    assert (entry.before, entry.after) == (
        {"effect": "auto", "is_allowed": False},
        {"name": "pay", "effect": "write", "is_allowed": True},
    )
    then.refused(admin.call("PATCH", "tools/pay", data='{"effect": "harmless"}'), 400)
    assert admin.call("PATCH", "tools/pay", data='{"effect": "auto"}').body["effect_class"] == "external"
