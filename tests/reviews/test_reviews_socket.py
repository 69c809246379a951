"""The socket of a project's review pages, on the real database and the real channel layer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from reflection_app.config.asgi import application
from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Project
from reflection_app.reviews import live
from reflection_app.reviews.claiming import claim_next, release_review
from reflection_app.runs.live import RunConsumer
from reflection_app.teams.members import remove_member
from tests import given
from tests.reviews.waiting_rows import waiting_rows
from tests.runs.test_run_socket import SOON_S, play

pytestmark = pytest.mark.django_db(transaction=True)


@asynccontextmanager
async def connected(
    project: Project, client: Client | None, *, address: str = ""
) -> AsyncIterator[WebsocketCommunicator]:
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in (client.cookies if client else {}).items())
    headers = [(b"cookie", cookies.encode()), (b"origin", b"http://localhost"), (b"host", b"localhost")]
    socket = WebsocketCommunicator(application, address or f"/ws/p/{project.slug}/reviews", headers=headers)
    accepted, _ = await socket.connect(timeout=SOON_S)
    assert accepted
    yield socket
    await socket.disconnect(timeout=SOON_S)


async def closed(socket: WebsocketCommunicator) -> int:
    while (event := await socket.receive_output(timeout=SOON_S))["type"] != "websocket.close":
        pass
    return int(event["code"])


def member_of(project: Project) -> Client:
    client = Client()
    client.force_login(given.member(project))
    return client


def in_thread(work: Any) -> Any:
    def done() -> Any:
        try:
            return work()
        finally:
            connection.close()

    return sync_to_async(done, thread_sensitive=False)()


def test_it_nudges_on_a_claim_and_on_its_return_and_says_nothing_else() -> None:
    project = given.project()
    waiting_rows(project, 1)
    client, actor = member_of(project), Actor(user=given.member(project))

    async def scene() -> None:
        async with connected(project, client) as socket:
            assert await socket.receive_from(timeout=SOON_S) == live.RANG
            held = await in_thread(lambda: claim_next(project, actor=actor))
            assert await socket.receive_from(timeout=SOON_S) == live.RANG
            await asyncio.sleep(0.5)
            token = held.lease_token
            await in_thread(lambda: release_review(held, lease_token=token, actor=actor))
            assert await socket.receive_from(timeout=SOON_S) == live.RANG

    play(scene)


def test_another_projects_changes_are_not_heard() -> None:
    project, other = given.project(), given.project()
    waiting_rows(other, 1)
    client = member_of(project)

    async def scene() -> None:
        async with connected(project, client) as socket:
            assert await socket.receive_from(timeout=SOON_S) == live.RANG
            await in_thread(lambda: claim_next(other, actor=Actor()))
            assert await socket.receive_nothing(timeout=1)

    play(scene)


def test_who_may_not_hear_is_told_so() -> None:
    project = given.project()
    stranger = member_of(given.project())

    async def scene() -> None:
        async with connected(project, stranger) as socket:
            assert await closed(socket) == 4404
        async with connected(project, None) as socket:
            assert await closed(socket) == 4401

    play(scene)


@pytest.mark.parametrize(("what", "code"), [("membership", 4404), ("session", 4401)])
def test_who_loses_the_right_hears_no_more(monkeypatch: pytest.MonkeyPatch, what: str, code: int) -> None:
    monkeypatch.setattr(live.ReviewsConsumer, "look_every_s", 0.2)
    project = given.project()
    client = member_of(project)

    def lose() -> None:
        (Membership if what == "membership" else Session).objects.all().delete()

    async def scene() -> None:
        async with connected(project, client) as socket:
            await socket.receive_from(timeout=SOON_S)
            await in_thread(lose)
            assert await closed(socket) == code

    play(scene)


@pytest.mark.parametrize("path", ["reviews", "runs"])
def test_a_removed_members_socket_is_closed_at_once_and_not_by_the_next_look(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than anybody waits here: only the bell can have closed it.
    monkeypatch.setattr(live.ReviewsConsumer, "look_every_s", 3_600.0)
    monkeypatch.setattr(RunConsumer, "look_every_s", 3_600.0)
    project = given.project()
    user, run = given.member(project), given.submitted_run(project)
    client = Client()
    client.force_login(user)
    address = f"/ws/p/{project.slug}/reviews" if path == "reviews" else f"/ws/p/{project.slug}/runs/{run.pk}"

    async def scene() -> None:
        async with connected(project, client, address=address) as socket:
            await socket.receive_from(timeout=SOON_S)
            await in_thread(lambda: remove_member(project, user.pk, actor=Actor()))
            assert await closed(socket) in {4403, 4404}

    play(scene)
