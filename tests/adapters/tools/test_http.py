"""Tools that are HTTP requests, called as a run calls them, against real servers."""

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import parse_qsl, urlsplit

import pytest
from pytest_django import Settings

from reflection_app.adapters.tools.errors import UnusableArguments
from reflection_app.adapters.tools.http import retry_after_s
from reflection_app.adapters.tools.url_template import expand
from reflection_app.loops.tool_calls import ToolFailure
from reflection_app.runs.tool_calling import idempotency_key
from tests import given
from tests.adapters.outgoing.server import RawServer, reply
from tests.adapters.tools.making import ANYTHING, call, http_tool, run_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]


def test_arguments_fill_the_address_and_the_rest_is_the_query() -> None:
    project = given.project()
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    with RawServer(reply(b'{"sky": "clear"}', content_type="application/json")) as server:
        http_tool(project, f"{server.url}/weather/{{city}}?lang=en", parameters=schema)
        run = run_of(project)
        result = call(run, "lookup", city="São Paulo/../x?y#z", days=3, parts=["a", "b"], hot=True, gone=None)
    assert (result.ok, result.status, result.content) == (True, 200, '{"sky": "clear"}')
    asked = urlsplit(server.heard[0].path)
    assert asked.path == "/weather/S%C3%A3o%20Paulo%2F..%2Fx%3Fy%23z"
    assert parse_qsl(asked.query) == [("lang", "en"), ("days", "3"), ("parts", "a"), ("parts", "b"), ("hot", "true")]
    assert server.heard[0].headers["idempotency-key"] == f"{run.pk}/call-1"


def test_with_a_body_the_rest_is_json() -> None:
    project = given.project()
    with RawServer(reply()) as server:
        http_tool(project, f"{server.url}/{{city}}", method="POST", headers={"X-Kind": "test"})
        assert call(run_of(project), "lookup", city="Köln", more={"a": [1, None, "ü"]}).ok
    heard = server.heard[0]
    assert (heard.method, heard.path) == ("POST", "/K%C3%B6ln")
    assert json.loads(heard.body) == {"more": {"a": [1, None, "ü"]}}
    assert (heard.headers["content-type"], heard.headers["x-kind"]) == ("application/json", "test")


@pytest.mark.parametrize("city", ["..", ".", ""])
def test_an_argument_cannot_climb_out_of_its_part_of_the_path(city: str) -> None:
    with pytest.raises(UnusableArguments):
        expand("https://api.example/users/{city}/mail", {"city": city})


def test_an_argument_that_does_not_fit_is_told_and_nothing_sent() -> None:
    project = given.project()
    with RawServer(reply()) as server:
        http_tool(project, f"{server.url}/{{city}}")
        run = run_of(project)
        wrong, missing = call(run, "lookup", city=7), call(run, "lookup")
    assert wrong.failure is ToolFailure.INVALID_ARGUMENTS
    assert "$.city" in wrong.error
    assert (missing.failure, missing.error) == (
        ToolFailure.INVALID_ARGUMENTS,
        "The address needs the argument 'city'.",
    )
    assert server.heard == []


def test_a_bad_status_is_a_failure_that_keeps_what_was_said() -> None:
    project = given.project()
    with RawServer(reply(b"slow down", status="429 Too Many Requests", retry_after="7")) as server:
        http_tool(project, server.url)
        result = call(run_of(project), "lookup")
    assert (result.ok, result.failure, result.status) == (False, ToolFailure.HTTP_STATUS, 429)
    assert (result.content, result.retry_after_s) == ("slow down", 7.0)
    assert result.error == "The server answered 429 Too Many Requests."


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    in_a_minute = format_datetime(now + timedelta(seconds=60), usegmt=True)
    values = ["120", in_a_minute, format_datetime(now - timedelta(1)), "99999999999", "soon", "-1", ""]
    assert [retry_after_s(value, now=now.timestamp()) for value in values] == [
        120.0, 60.0, 0.0, 86_400.0, None, None, None,
    ]  # fmt: skip


def test_a_long_answer_is_shortened_and_what_is_no_text_is_only_described() -> None:
    project = given.project()
    with RawServer(reply(b"a" * 100_000 + b"\x00end")) as server:
        http_tool(project, server.url)
        long = call(run_of(project), "lookup")
    assert long.ok
    assert long.is_shortened
    assert len(long.content) < 64_000
    assert long.content.endswith("�end")
    with RawServer(reply(b"\x89PNG...", content_type="image/png")) as server:
        http_tool(project, server.url, name="picture")
        assert call(run_of(project), "picture").content == "(7 bytes of image/png, which is no text)"


def test_failures_of_the_way_there_have_their_kinds(settings: Settings) -> None:
    project = given.project()
    with RawServer(lambda *_: time.sleep(60)) as server:
        http_tool(project, server.url, name="silent", timeout_s=30)
        http_tool(project, server.url, name="impatient", timeout_s=0.5)
        run = run_of(project)
        began = time.monotonic()
        assert call(run, "silent", timeout_s=0.5).failure is ToolFailure.TIMED_OUT
        assert call(run, "impatient", timeout_s=30).failure is ToolFailure.TIMED_OUT
        assert time.monotonic() - began < 20
        settings.OUTGOING_ALLOWED_NETWORKS = ()
        assert call(run, "silent").failure is ToolFailure.ADDRESS_REFUSED
    settings.OUTGOING_ALLOWED_NETWORKS = ()


def test_nobody_listening_a_huge_answer_and_a_tool_that_is_gone() -> None:
    project = given.project()
    run = run_of(project)
    http_tool(project, "http://127.0.0.1:1/", name="nobody")
    assert call(run, "nobody").failure is ToolFailure.UNREACHABLE
    with RawServer(reply(b"x" * 2_500_000)) as server:
        http_tool(project, server.url, name="huge")
        assert call(run, "huge").failure is ToolFailure.TOO_LARGE
    tool = http_tool(project, "http://127.0.0.1:1/", name="off", parameters=ANYTHING)
    tool.is_enabled = False
    tool.save()
    assert call(run, "off").failure is ToolFailure.UNKNOWN_TOOL
    assert call(run, "never").failure is ToolFailure.UNKNOWN_TOOL


def test_a_tool_of_another_project_is_not_found() -> None:
    http_tool(given.project(), "http://127.0.0.1:1/", name="theirs")
    assert call(run_of(given.project()), "theirs").failure is ToolFailure.UNKNOWN_TOOL


def test_a_long_or_odd_step_key_is_hashed_and_stays_the_same() -> None:
    run = run_of(given.project())
    key = idempotency_key(run.pk, "ключ" * 40)
    assert key == idempotency_key(run.pk, "ключ" * 40)
    assert key != idempotency_key(run.pk, "ключ" * 41)
    assert len(key) <= 200
    assert key.isascii()
