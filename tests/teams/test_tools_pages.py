"""The pages of tools and their secrets."""

from typing import Any

import pytest
from django.test import Client

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project
from reflection_app.teams.models import Secret, Tool
from reflection_app.teams.tools import add_builtin_tools
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.adapters.outgoing.server import RawServer, reply
from tests.adapters.tools.conftest import mcp_server
from tests.adapters.tools.making import SECRET_VALUE, http_tool, secret

__all__ = ["loopback", "mcp_server"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]
SCHEMA = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'
TYPED: dict[str, Any] = {
    "name": "get_weather",
    "description": "The weather.",
    "method": "GET",
    "url": "http://127.0.0.1:9/{city}",
    "headers": "Accept: text/plain\n\nX-Kind:  a: b ",
    "parameters": SCHEMA,
    "timeout_s": "2.5",
}


@pytest.fixture
def admin(client: Client, project: Project) -> Client:
    return given.logged_in(client, project)


def test_an_http_tool_is_registered_changed_switched_off_and_deleted(admin: Client) -> None:
    page = admin.post("/p/desk/tools/new/", TYPED, follow=True)
    assert "get_weather registered." in page.text
    tool = Tool.objects.get()
    assert tool.config["headers"] == {"Accept": "text/plain", "X-Kind": "a: b"}
    assert tool.timeout_s == 2.5
    form = admin.get(f"/p/desk/tools/{tool.pk}/edit/").text
    assert 'value="http://127.0.0.1:9/{city}"' in form
    assert "X-Kind: a: b" in form
    admin.post(f"/p/desk/tools/{tool.pk}/edit/", TYPED | {"name": "weather", "method": "POST"})
    tool.refresh_from_db()
    assert (tool.name, tool.config["method"]) == ("weather", "POST")
    assert "disabled." in admin.post(f"/p/desk/tools/{tool.pk}/switch/", {"is_enabled": "no"}, follow=True).text
    tool.refresh_from_db()
    assert tool.is_enabled is False
    admin.post(f"/p/desk/tools/{tool.pk}/edit/", TYPED)
    tool.refresh_from_db()
    assert tool.is_enabled is False
    assert "Delete “get_weather”?" in admin.get(f"/p/desk/tools/{tool.pk}/delete/").text
    assert "deleted." in admin.post(f"/p/desk/tools/{tool.pk}/delete/", follow=True).text
    assert not Tool.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"url": "http://10.0.0.1/"}, "url"),
        ({"headers": "no colon"}, "headers"),
        ({"parameters": "{"}, "parameters"),
        ({"timeout_s": "soon"}, "timeout_s"),
    ],
)
def test_what_is_wrong_is_told_at_its_field_and_nothing_typed_is_lost(
    admin: Client, wrong: dict[str, str], field: str
) -> None:
    page = admin.post("/p/desk/tools/new/", TYPED | wrong)
    assert page.status_code == 400
    assert f'id="error-{field}"' in page.text
    assert "String should" not in page.text
    typed = page.context["form"].values
    assert {name: typed[name] for name in TYPED} == {
        name: str(value).strip() for name, value in (TYPED | wrong).items()
    }
    assert not Tool.objects.exists()


def test_a_built_in_tool_keeps_its_arguments(admin: Client, project: Project) -> None:
    tool = add_builtin_tools(project, actor=Actor())[0]
    admin.post(f"/p/desk/tools/{tool.pk}/edit/", {"name": "run_code", "description": "Mine.", "timeout_s": "5"})
    before = tool.parameters
    tool.refresh_from_db()
    assert (tool.name, tool.description, tool.timeout_s) == ("run_code", "Mine.", 5.0)
    assert tool.parameters == before
    assert tool.config == {"name": "python"}


def test_trying_a_tool_really_calls_it_and_shows_what_came_back(admin: Client, project: Project) -> None:
    with RawServer(reply(given.HOSTILE.encode())) as server:
        tool = http_tool(project, f"{server.url}/{{city}}")
        page = admin.get(f"/p/desk/tools/{tool.pk}/")
        assert "Test" in page.text
        result = admin.post(f"/p/desk/tools/{tool.pk}/try/", {"arguments": '{"city": "Bern"}'}).text
        assert "succeeded" in result
        assert "<script>alert" not in result
        assert "&lt;script&gt;alert" in result
        assert server.heard[0].path == "/Bern"
        wrong = admin.post(f"/p/desk/tools/{tool.pk}/try/", {"arguments": "{oops"})
        assert (wrong.status_code, len(server.heard)) == (400, 1)
        assert "{oops" in wrong.text
        missing = admin.post(f"/p/desk/tools/{tool.pk}/try/", {"arguments": "{}"}).text
        assert "failed" in missing
        assert "invalid_arguments" in missing
    assert AuditEntry.objects.filter(action="tool.tried").count() == 2


def test_hostile_descriptions_are_escaped(admin: Client, project: Project) -> None:
    Tool.objects.create(
        project=project, name="evil", kind="mcp", description=given.HOSTILE,
        parameters={"type": "object", "title": given.HOSTILE},
        config={"url": given.HOSTILE, "tool_name": given.HOSTILE, "headers": {"X": given.HOSTILE}},
    )  # fmt: skip
    tool = Tool.objects.get()
    for path in ("", f"{tool.pk}/", f"{tool.pk}/edit/", f"{tool.pk}/delete/"):
        page = admin.get(f"/p/desk/tools/{path}").text
        assert "<script>alert" not in page, path
        assert "<img src=x" not in page, path


def test_a_secret_is_kept_and_never_shown_again(admin: Client) -> None:
    typed = {"secret_name": "TOKEN", "origin": "https://api.example.com/v1", "value": SECRET_VALUE}
    page = admin.post("/p/desk/tools/secrets/", typed, follow=True).text
    assert "{secret:TOKEN}" in page
    assert "https://api.example.com:443" in page
    assert SECRET_VALUE not in page
    wrong = admin.post("/p/desk/tools/secrets/", typed | {"origin": "api.example.com", "secret_name": "a b"})
    assert wrong.status_code == 400
    assert 'id="error-origin"' in wrong.text
    assert 'id="error-secret_name"' in wrong.text
    assert 'value="a b"' in wrong.text
    assert SECRET_VALUE not in wrong.text
    assert Secret.objects.count() == 1


def test_deleting_a_secret_names_the_tools_that_will_fail(admin: Client, project: Project) -> None:
    kept = secret(project, "http://127.0.0.1:9")
    http_tool(project, "http://127.0.0.1:9/", headers={"Authorization": "Bearer {secret:TOKEN}"})
    path = f"/p/desk/tools/secrets/{kept.pk}/delete/"
    assert "lookup" in admin.get(path).text
    assert "deleted." in admin.post(path, follow=True).text
    assert not Secret.objects.exists()


def test_an_admin_allows_a_tool_without_asking_and_takes_it_back(admin: Client, project: Project) -> None:
    tool = http_tool(project, "http://127.0.0.1:9/pay", name="pay", method="POST")
    typed = TYPED | {"name": "pay", "method": "POST", "url": "http://127.0.0.1:9/pay", "parameters": "{}"}
    admin.post(f"/p/desk/tools/{tool.pk}/edit/", typed | {"effect": "write", "is_allowed": "on"})
    tool.refresh_from_db()
    assert (tool.effect, tool.is_allowed) == ("write", True)
    form = admin.get(f"/p/desk/tools/{tool.pk}/edit/").text
    assert 'name="is_allowed" checked' in form
    admin.post(f"/p/desk/tools/{tool.pk}/edit/", typed | {"effect": "auto"})
    tool.refresh_from_db()
    assert (tool.effect, tool.is_allowed) == ("auto", False)


def test_what_a_server_said_of_its_tool_outlasts_an_edit_of_that_tool_alone(admin: Client, project: Project) -> None:
    config = {"url": "http://127.0.0.1:9/mcp", "tool_name": "find", "headers": {}, "annotations": {"read_only": True}}
    tool = Tool.objects.create(project=project, name="find", kind="mcp", config=config, parameters={})
    typed = {"name": "find", "description": "Finds.", "timeout_s": "5", "headers": "", "parameters": "{}"}
    typed |= {"url": "http://127.0.0.1:9/mcp", "tool_name": "find", "effect": "auto"}
    admin.post(f"/p/desk/tools/{tool.pk}/edit/", typed)
    tool.refresh_from_db()
    assert (tool.description, tool.effect_class) == ("Finds.", "read")
    admin.post(f"/p/desk/tools/{tool.pk}/edit/", typed | {"tool_name": "drop"})
    tool.refresh_from_db()
    assert tool.effect_class == "external"
