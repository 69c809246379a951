"""Secrets: where they go, and that they are found nowhere else."""

import base64
import io
import json
import logging
from urllib.parse import quote

import pytest
from django.apps import apps
from django.core import serializers
from pytest_django import Settings

from reflection_app.adapters.tools.secrets import Secrets, decrypt
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.tool_calls import ToolFailure
from reflection_app.teams.models import Secret
from reflection_app.teams.tools import SecretInput, delete_secret, save_secret, try_tool
from tests import given
from tests.adapters.outgoing.server import Heard, RawServer, reply
from tests.adapters.tools.making import SECRET_VALUE, call, http_tool, run_of, secret

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]
HEADERS = {"Authorization": "Bearer {secret:TOKEN}"}


def everything_stored() -> str:
    """All rows of all tables of ours, as text."""
    models = apps.get_app_config("reflection_app").get_models()
    return "".join(serializers.serialize("json", model._default_manager.all()) for model in models)


def project_with_tool(server: RawServer) -> Project:
    project = given.project()
    secret(project, server.url)
    http_tool(project, f"{server.url}/", headers=HEADERS)
    return project


def echo(heard: Heard, connection: object) -> None:
    """Says all that it was sent, in several forms."""
    token = heard.headers.get("authorization", "").removeprefix("Bearer ")
    forms = [token, json.dumps({"t": token}), base64.b64encode(token.encode()).decode(), quote(token)]
    reply("\n".join(forms).encode(), status="401 Unauthorized")(heard, connection)  # type: ignore[arg-type]


def test_a_secret_is_never_sent_to_another_origin() -> None:
    with RawServer(reply()) as other, RawServer(reply()) as server:
        project = project_with_tool(server)
        tool = project.tools.get()
        tool.config["url"] = other.url  # as if the row had been changed behind the action
        tool.save()
        result = call(run_of(project), "lookup")
        assert result.failure is ToolFailure.MISCONFIGURED
        assert "nothing was sent" in result.error
        Secret.objects.update(origin=other.url)
        result = call(run_of(project), "lookup")
        assert result.failure is ToolFailure.MISCONFIGURED
        assert "another origin" in result.error
    assert other.heard == server.heard == []


def test_a_value_is_in_no_row_no_log_and_no_result(settings: Settings) -> None:
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with RawServer(echo) as server:
            project = project_with_tool(server)
            run = run_of(project)
            result = call(run, "lookup")
            tried = try_tool(project.tools.get(), {}, actor=Actor())
            with pytest.raises(InvalidInput) as refusal:
                save_secret(
                    project,
                    SecretInput(name="TOKEN", origin=f"ftp://{SECRET_VALUE}", value=SECRET_VALUE),
                    actor=Actor(),
                )
            delete_secret(Secret.objects.get(), actor=Actor())
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert server.heard[0].headers["authorization"] == f"Bearer {SECRET_VALUE}"
    assert result.content.count("[secret TOKEN]") == tried.content.count("[secret TOKEN]") == 4
    told = everything_stored() + log.getvalue() + result.model_dump_json() + tried.model_dump_json()
    told += str(refusal.value) + str(refusal.value.errors) + repr(Secrets({"A": ("o", SECRET_VALUE)}))
    for form in (SECRET_VALUE, base64.b64encode(SECRET_VALUE.encode()).decode()):
        assert form not in told


def test_a_value_at_the_cut_of_a_long_answer_is_taken_out_whole() -> None:
    def long(heard: Heard, connection: object) -> None:
        token = heard.headers["authorization"].encode()
        reply(b"x" * (48_000 - len(token) // 2) + token + b"y" * 50_000)(heard, connection)  # type: ignore[arg-type]

    with RawServer(long) as server:
        result = call(run_of(project_with_tool(server)), "lookup")
    assert result.is_shortened
    assert SECRET_VALUE[:8] not in result.content


def test_a_deleted_secret_makes_the_call_fail_clearly() -> None:
    with RawServer(reply()) as server:
        project = project_with_tool(server)
        delete_secret(Secret.objects.get(), actor=Actor())
        result = call(run_of(project), "lookup")
    assert (result.failure, server.heard) == (ToolFailure.MISCONFIGURED, [])
    assert result.error == "There is no secret named TOKEN any more; nothing was sent."


def test_a_new_secret_key_makes_secrets_unreadable_unless_the_old_one_is_kept(settings: Settings) -> None:
    with RawServer(reply()) as server:
        project = project_with_tool(server)
        old, settings.SECRET_KEY = settings.SECRET_KEY, "another-key" * 6
        result = call(run_of(project), "lookup")
        assert (result.failure, server.heard) == (ToolFailure.MISCONFIGURED, [])
        assert "SECRET_KEY has changed" in result.error
        settings.SECRET_KEY_FALLBACKS = [old]
        assert call(run_of(project), "lookup").ok


def test_a_secret_is_replaced_under_its_name_and_each_change_is_audited_without_values() -> None:
    project = given.project()
    first = secret(project, "https://a.example")
    second = secret(project, "https://b.example/path?x", value="another-value")
    assert first.pk == second.pk
    assert (second.origin, decrypt(second)) == ("https://b.example:443", "another-value")
    delete_secret(second, actor=Actor())
    entries = AuditEntry.objects.order_by("created_at").values_list("action", flat=True)
    assert [*entries] == ["secret.created", "secret.replaced", "secret.deleted"]
    assert "another-value" not in everything_stored()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "has space"}, "name"),
        ({"origin": "https://user:pw@a.example"}, "origin"),
        ({"value": "short"}, "value"),
        ({"value": "with\r\nX-Injected: header"}, "value"),
    ],
)
def test_a_secret_that_cannot_be_used_is_refused_at_its_field(wrong: dict[str, str], field: str) -> None:
    sent = {"name": "TOKEN", "origin": "https://a.example", "value": SECRET_VALUE} | wrong
    with pytest.raises(InvalidInput) as refusal:
        save_secret(given.project(), SecretInput.model_validate(sent), actor=Actor())
    assert [error["field"] for error in refusal.value.errors] == [field]
    assert not Secret.objects.exists()
