"""The socket of a run's page, on the real database and the real channel layer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from reflection_app.adapters.live import group_of_run
from reflection_app.config.asgi import application
from reflection_app.core.models import Membership, Project
from reflection_app.reviews.models import Review
from reflection_app.runs import live
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given, when
from tests.pace import PATIENCE_S
from tests.runs.browser_model import Page

pytestmark = pytest.mark.django_db(transaction=True)
SOON_S = PATIENCE_S


@pytest.fixture
def project() -> Project:
    return given.unsure_project("live")


@pytest.fixture
def no_bell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ring is lost."""
    monkeypatch.setattr("reflection_app.adapters.live.bell.ring", lambda group: None)


class Socket:
    """A browser's connection and the page that it draws."""

    def __init__(self, run: Run, *, client: Client | None) -> None:
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in (client.cookies if client else {}).items())
        headers = [(b"cookie", cookies.encode()), (b"origin", b"http://localhost"), (b"host", b"localhost")]
        path = f"/ws/p/{run.project.slug}/runs/{run.pk}"
        self.communicator = WebsocketCommunicator(application, path, headers=headers)
        self.page = Page()
        self.messages = 0

    async def hear(self) -> str:
        """The next message, applied to the page."""
        message = str(await self.communicator.receive_from(timeout=SOON_S))
        self.page.apply(message)
        self.messages += 1
        return message

    async def hear_until(self, done: Callable[[], bool]) -> None:
        # A page goes on hearing that it is connected.
        async with asyncio.timeout(SOON_S):
            while not done():
                await self.hear()

    async def closed(self) -> int:
        while (event := await self.communicator.receive_output(timeout=SOON_S))["type"] != "websocket.close":
            self.page.apply(event["text"])
        return int(event["code"])

    def shows(self, text: str) -> bool:
        return text in repr(self.page.root)


@asynccontextmanager
async def connected(run: Run, client: Client | None) -> AsyncIterator[Socket]:
    socket = Socket(run, client=client)
    accepted, _ = await socket.communicator.connect(timeout=SOON_S)
    assert accepted
    yield socket
    await socket.communicator.disconnect(timeout=SOON_S)


def member_of(project: Project) -> Client:
    client = Client()
    client.force_login(given.member(project))
    return client


def go_on(run: Run) -> None:
    try:
        advance(run.pk)
    finally:
        connection.close()


def play(scene: Callable[[], Awaitable[None]]) -> None:
    """Runs an async scene with its database work in threads, as a server would."""
    async_to_sync(scene)()


in_thread: Callable[..., Any] = sync_to_async(thread_sensitive=False)


def ring(run: Run) -> Awaitable[None]:
    layer = get_channel_layer()
    assert layer is not None
    sent: Awaitable[None] = layer.group_send(group_of_run(run.pk), {"type": "ring"})
    return sent


def test_it_sends_a_snapshot_and_then_what_happens(project: Project) -> None:
    run = given.submitted_run(project)
    client = member_of(project)

    async def scene() -> None:
        async with connected(run, client) as socket:
            await socket.hear()
            assert socket.shows("Waiting for a worker")
            assert socket.page.ids_in("run-steps") == []
            shown = socket.hear_until(lambda: socket.shows("waiting for a reviewer"))
            await asyncio.gather(in_thread(go_on)(run), shown)
            assert socket.page.ids_in("run-steps") == ["step-1", "step-2", "step-3", "step-4"]
            assert socket.page.ids_in("run-attempts") == ["attempt-1"]

    play(scene)


def test_a_lost_ring_is_found_by_the_next_look(
    project: Project, no_bell: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.RunConsumer, "look_every_s", 0.2)
    monkeypatch.setattr(live, "STILL_HERE", "")
    run = given.submitted_run(project)
    client = member_of(project)

    async def scene() -> None:
        async with connected(run, client) as socket:
            await socket.hear()
            await in_thread(go_on)(run)
            await socket.hear_until(lambda: socket.shows("waiting for a reviewer"))
            assert socket.page.ids_in("run-steps") == ["step-1", "step-2", "step-3", "step-4"]

    play(scene)


def test_rings_that_come_twice_or_late_change_nothing(project: Project, no_bell: None) -> None:
    run = given.submitted_run(project)
    client = member_of(project)

    async def scene() -> None:
        async with connected(run, client) as socket:
            await socket.hear()
            await in_thread(go_on)(run)
            for _ in range(3):
                await ring(run)
            await socket.hear()
            assert socket.shows("waiting for a reviewer")
            for _ in range(3):
                await ring(run)
            assert await socket.communicator.receive_nothing(timeout=0.5)

    play(scene)


def test_the_snapshot_and_all_that_follows_equal_a_fresh_snapshot(project: Project, no_bell: None) -> None:
    """Whatever moments the rings come at: each kind of event is followed by one on some page."""
    run = given.submitted_run(project)
    client = member_of(project)

    def decide() -> None:
        from reflection_app.core.audit import Actor
        from reflection_app.loops.attempt_effects import Decision
        from reflection_app.loops.verdicts import Verdict
        from reflection_app.reviews.deciding import decide_review
        from reflection_app.reviews.decisions import DecisionInput

        review = when.claims(client, Review.objects.get(run=run))
        overruled = DecisionInput(
            lease_token=review.lease_token, decision=Decision.OVERRULE, verdict=Verdict.REVISE, reason="Longer"
        )
        decide_review(review, overruled, actor=Actor(user=review.holder))
        connection.close()

    def claim() -> None:
        when.claims(client, Review.objects.get(run=run))
        connection.close()

    async def scene() -> None:
        async with connected(run, client) as old:
            await old.hear()
            for happens in (lambda: go_on(run), claim, decide):
                await in_thread(happens)()
                await ring(run)
                await old.hear()
                async with connected(run, client) as fresh:
                    await fresh.hear()
                    assert old.page.root == fresh.page.root
            await in_thread(go_on)(run)
            await ring(run)
            assert await old.closed() == 1000
        async with connected(run, client) as fresh:
            assert await fresh.closed() == 1000
            assert old.page.root == fresh.page.root
            assert fresh.shows("Attempt 2 was accepted")

    play(scene)


def test_a_page_that_slept_asks_and_gets_a_fresh_snapshot(project: Project, no_bell: None) -> None:
    run = given.submitted_run(project)
    client = member_of(project)

    async def scene() -> None:
        async with connected(run, client) as socket:
            await socket.hear()
            await in_thread(go_on)(run)
            await socket.communicator.send_to(text_data="look")
            message = await socket.hear()
            assert "innerHTML:#run-steps" in message
            assert socket.page.ids_in("run-steps") == ["step-1", "step-2", "step-3", "step-4"]

    play(scene)


def test_strangers_are_accepted_and_then_turned_away(project: Project) -> None:
    run = given.submitted_run(project)
    stranger = Client()
    stranger.force_login(given.user())

    async def scene() -> None:
        async with connected(run, None) as socket:
            assert await socket.closed() == 4401
        async with connected(run, stranger) as socket:
            assert await socket.closed() == 4404
            assert not socket.shows(run.task.title)

    play(scene)


def change_password(user: User) -> None:
    user.set_password("another-long-password")
    user.save()


@pytest.mark.parametrize(
    ("loses", "code"),
    [
        (lambda user, _client: Membership.objects.filter(user=user).delete(), 4403),
        (lambda user, _client: User.objects.filter(pk=user.pk).update(is_active=False), 4401),
        (lambda _user, client: client.post("/logout/"), 4401),
        (lambda user, _client: change_password(user), 4401),
    ],
    ids=["removed", "disabled", "logged out", "another password"],
)
def test_who_is_removed_sees_nothing_more(
    project: Project, no_bell: None, loses: Callable[[User, Client], object], code: int
) -> None:
    run = given.submitted_run(project)
    user = given.member(project)
    client = Client()
    client.force_login(user)

    def remove() -> None:
        loses(user, client)
        connection.close()

    async def scene() -> None:
        async with connected(run, client) as socket:
            await socket.hear()
            await in_thread(remove)()
            await ring(run)
            assert await socket.closed() == code

    play(scene)
