"""Requests of programs pass none of the pages' middleware, and have the security headers of pages."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from django.http import HttpRequest, StreamingHttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from reflection_app.api.middleware import ProgramHandler
from reflection_app.config.asgi import application
from tests import given
from tests.api.caller import Caller

SECURITY_HEADERS = (
    "Content-Security-Policy",
    "Cross-Origin-Opener-Policy",
    "Referrer-Policy",
    "X-Content-Type-Options",
    "X-Frame-Options",
)
OF_PROGRAMS = ("/healthz", "/api/v1/runs", "/api/v1/none", "/v1/traces", "/mcp")


def answer_of(path: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    return asyncio.run(ask())


@pytest.mark.django_db
@pytest.mark.parametrize("path", OF_PROGRAMS)
def test_programs_get_the_security_headers_of_pages(path: str, client: Client) -> None:
    page, answer = client.get("/login/"), client.get(path)
    assert {name: answer[name] for name in SECURITY_HEADERS} == {name: page[name] for name in SECURITY_HEADERS}
    assert "no-store" in answer["Cache-Control"]
    assert int(answer["Content-Length"]) == len(answer.content)


@pytest.mark.django_db
@pytest.mark.parametrize("path", OF_PROGRAMS)
def test_a_host_that_is_not_ours_is_refused(path: str, client: Client) -> None:
    assert client.get(path, headers={"host": "evil.example"}).status_code == 400


@pytest.mark.django_db
def test_a_session_is_ignored_and_not_looked_up(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(given.member(given.project()))
    with django_assert_num_queries(0):
        assert client.get("/api/v1/runs").status_code == 401


@pytest.mark.django_db
def test_a_run_is_answered_by_four_queries(caller: Caller, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    run = given.submitted_run(caller.project)
    address = f"/api/v1/runs/{run.pk}"
    caller.call("GET", address)
    # The key, the run with all that is shown of it, the steps of checks, and what was seen.
    with django_assert_num_queries(4):
        assert caller.call("GET", address).status == 200


def test_a_program_is_answered_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    answer = ProgramHandler.get_response

    def get_response(self: ProgramHandler, request: HttpRequest) -> Any:
        names.append(threading.current_thread().name)
        return answer(self, request)

    monkeypatch.setattr(ProgramHandler, "get_response", get_response)
    assert answer_of("/healthz").text == "ok"
    assert names[0].startswith("program")


def test_pieces_are_sent_as_they_are_made_and_then_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one "
        yield b"two"

    def get_response(_: ProgramHandler, __: HttpRequest) -> StreamingHttpResponse:
        response = StreamingHttpResponse(pieces())
        response._resource_closers.append(lambda: closed.append(True))  # type: ignore[attr-defined]
        return response

    monkeypatch.setattr(ProgramHandler, "get_response", get_response)
    assert answer_of("/healthz").text == "one two"
    assert closed == [True]
