"""The doorbell: tells open pages that a run has new events, soon and not too often.

It carries no data. A page that heard it, or that has not heard anything for a while, reads the event table; so a ring
that is lost, doubled or late changes nothing. One thread with one event loop rings for the whole process, since each
`async_to_sync(group_send)` would open a connection of its own.
"""

import asyncio
import logging
import threading
from uuid import UUID

from channels.layers import get_channel_layer

log = logging.getLogger(__name__)

PERSON = "person."
# A step's end and the next one's start come within milliseconds: waiting a moment tells both with one ring.
GATHER_S = 0.02
# The same run rings at most four times a second.
QUIET_S = 0.25


def group_of_run(run_id: UUID) -> str:
    """The channel group of a run's page."""
    return f"run.{run_id}"


def group_of_project(project_id: UUID) -> str:
    """The channel group of a project's lists and counts."""
    return f"project.{project_id}"


def group_of_reviews(project_id: UUID) -> str:
    """The channel group of a project's review pages."""
    return f"reviews.{project_id}"


def group_of_person(user_id: int) -> str:
    """The channel group of all pages that somebody has open, whichever project's."""
    return f"{PERSON}{user_id}"


class Doorbell:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._busy: set[str] = set()
        self._again: set[str] = set()

    def ring(self, group: str) -> None:
        """Rings soon, and once more if it was asked for meanwhile; returns at once. May be called from any thread."""
        with self._lock:
            if group in self._busy:
                self._again.add(group)
                return
            self._busy.add(group)
        asyncio.run_coroutine_threadsafe(self._ring_while_asked(group), self.loop())

    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that everything is sent from, on a thread of its own."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="doorbell", daemon=True).start()
            return self._loop

    async def _ring_while_asked(self, group: str) -> None:
        while True:
            await asyncio.sleep(GATHER_S)
            with self._lock:
                self._again.discard(group)
            await self._send(group)
            await asyncio.sleep(QUIET_S)
            with self._lock:
                if group not in self._again:
                    self._busy.discard(group)
                    return

    async def _send(self, group: str) -> None:
        layer = get_channel_layer()
        assert layer is not None
        try:
            await layer.group_send(group, {"type": "access" if group.startswith(PERSON) else "ring"})
        except Exception as error:  # noqa: BLE001 - the broker may be away; pages look for themselves every few seconds
            log.warning("doorbell for %s could not ring: %s", group, error)


bell = Doorbell()


def ring(run_id: UUID, *, project_id: UUID) -> None:
    """Tells the listeners of a run, and those of its project's lists, that there are new events."""
    bell.ring(group_of_run(run_id))
    bell.ring(group_of_project(project_id))


def ring_reviews(project_id: UUID) -> None:
    """Tells a project's review pages that something in the queue, or said about an item of it, has changed."""
    bell.ring(group_of_reviews(project_id))


def ring_person(user_id: int) -> None:
    """Tells the pages that somebody has open that they may see other things than before, or nothing any more."""
    bell.ring(group_of_person(user_id))
