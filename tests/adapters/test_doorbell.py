"""The doorbell, on the real channel layer: all listeners hear it, and nothing is published where there is none."""

import asyncio
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from channels.layers import get_channel_layer

from reflection_app.adapters import live
from reflection_app.adapters.live import PERSON, QUIET_S, Doorbell, group_of_run
from tests.pace import PATIENCE_S

Published = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def bell() -> Doorbell:
    return Doorbell()


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Published:
    sent: Published = []
    send = live._group_send

    async def noted(group: str, message: dict[str, Any]) -> None:
        sent.append((group, message))
        await send(group, message)

    monkeypatch.setattr(live, "_group_send", noted)
    return sent


async def heard_by(channels: list[str], *, after: Callable[[], None]) -> list[dict[str, Any]]:
    layer = get_channel_layer()
    assert layer is not None
    after()
    async with asyncio.timeout(PATIENCE_S):
        return [await layer.receive(channel) for channel in channels]


def test_two_listeners_of_a_run_hear_one_ring_and_a_person_hears_of_access(
    bell: Doorbell, published: Published
) -> None:
    run, person = group_of_run(uuid4()), f"{PERSON}{uuid4().int}"

    async def scene() -> list[dict[str, Any]]:
        layer = get_channel_layer()
        assert layer is not None
        channels = [await layer.new_channel() for _ in range(3)]
        for group, channel in zip((run, run, person), channels, strict=True):
            await layer.group_add(group, channel)

        def ring_all() -> None:
            for group in (run, run, person, group_of_run(uuid4())):
                bell.ring(group)

        try:
            return await heard_by(channels, after=ring_all)
        finally:
            await layer.flush()

    assert asyncio.run(scene()) == [{"type": "ring"}, {"type": "ring"}, {"type": "access"}]
    assert dict(published) == {run: {"type": "ring"}, person: {"type": "access"}}
    assert len(published) == 2


def test_a_run_that_nobody_watches_publishes_nothing(bell: Doorbell, published: Published) -> None:
    for _ in range(3):
        bell.ring(group_of_run(uuid4()))
    deadline = time.monotonic() + PATIENCE_S
    while bell._is_due:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not published


def test_rings_that_come_fast_are_few_and_the_last_is_not_lost(bell: Doorbell, published: Published) -> None:
    run = group_of_run(uuid4())

    def ring_often() -> None:
        for _ in range(50):
            bell.ring(run)

    async def scene() -> None:
        layer = get_channel_layer()
        assert layer is not None
        channel = await layer.new_channel()
        await layer.group_add(run, channel)
        try:
            began = time.monotonic()
            await heard_by([channel], after=lambda: bell.ring(run))
            await heard_by([channel], after=ring_often)
            assert time.monotonic() - began >= QUIET_S
        finally:
            await layer.flush()

    asyncio.run(scene())
    assert len(published) == 2
