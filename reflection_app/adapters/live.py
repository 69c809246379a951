"""The channel layer: the doorbell of live pages, text that is being written, and whether somebody watches."""

import asyncio
import atexit
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self
from uuid import UUID

from channels.layers import get_channel_layer
from django.conf import settings
from redis import Redis, RedisError
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

# The doorbell: tells open pages that a run has new events, soon and not too often.
#
# It carries no data. A page that heard it, or that has not heard anything for a while, reads the event table; so a ring
# that is lost, doubled or late changes nothing. One thread with one event loop rings for the whole process, since each
# `async_to_sync(group_send)` would open a connection of its own.

log = logging.getLogger(__name__)

PERSON = "person."
# A step's end and the next one's start come within milliseconds: waiting a moment tells both with one ring.
GATHER_S = 0.02
# All that a process rings meanwhile goes together.
BETWEEN_S = 0.1
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


class Courier:
    """Sends the newest message of each group from one thread's event loop, at most four times a second.

    A message that waits gives way to a newer one. May be used from any thread; nothing here blocks.
    """

    def __init__(self, *, of: "Courier | None" = None) -> None:
        self._of = of
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._newest: dict[str, dict[str, Any]] = {}
        self._busy: set[str] = set()

    def send(self, group: str, message: dict[str, Any]) -> None:
        """Send `message` soon, unless a newer one of its group comes first."""
        with self._lock:
            self._newest[group] = message
            if group in self._busy:
                return
            self._busy.add(group)
        asyncio.run_coroutine_threadsafe(self._send_while_new(group), self.loop())

    def forget(self, group: str) -> None:
        """Drop what was not sent yet."""
        with self._lock:
            self._newest.pop(group, None)

    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that everything is sent from, on a thread of its own; `of` another courier, that one's."""
        if self._of is not None:
            return self._of.loop()
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="doorbell", daemon=True).start()
            return self._loop

    async def _send_while_new(self, group: str) -> None:
        while True:
            with self._lock:
                message = self._newest.pop(group, None)
                if message is None:
                    self._busy.discard(group)
                    return
            await _group_send(group, message)
            await asyncio.sleep(QUIET_S)


class Doorbell(Courier):
    """Rings the groups that somebody listens to, all of a process together.

    Most runs have no page open. Which groups have a listener is asked for all of them in one trip, and the others cost
    nothing more. Who begins to listen reads the event table afterwards, so a ring just before changes nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ringing = threading.Lock()
        self._rung: set[str] = set()
        self._is_due = False
        self._last: dict[str, float] = {}
        self._is_away = False

    def ring(self, group: str) -> None:
        """Rings soon, and once more if it was asked for meanwhile. May be used from any thread; returns at once."""
        with self._ringing:
            self._rung.add(group)
            if self._is_due:
                return
            self._is_due = True
        asyncio.run_coroutine_threadsafe(self._ring_while_rung(), self.loop())

    async def _ring_while_rung(self) -> None:
        pause_s = GATHER_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = BETWEEN_S
            now = time.monotonic()
            self._last = {group: at for group, at in self._last.items() if now < at + QUIET_S}
            with self._ringing:
                due = self._rung - self._last.keys()
                self._rung -= due
                if not due and not self._rung:
                    self._is_due = False
                    return
            try:
                heard = await self._heard(sorted(due)) if due else []
            except Exception as error:  # noqa: BLE001 - pages look for themselves meanwhile, and the next ring tries again
                if not self._is_away:
                    log.warning("pages are not told of changes, the broker is away: %s", error)
                self._is_away = True
                continue
            self._is_away = False
            for group in heard:
                self._last[group] = now
                await _group_send(group, {"type": "access" if group.startswith(PERSON) else "ring"})

    async def _heard(self, groups: list[str]) -> list[str]:
        """Return those of the groups that any process listens to. Raises RedisError or OSError without a broker."""
        # As the channel layer names them, which has no way to ask.
        layer: dict[str, Any] = settings.CHANNEL_LAYERS["default"]
        prefix = layer["CONFIG"]["prefix"]
        found = await self._asking.pubsub_numsub(*(f"{prefix}__group__{group}" for group in groups))
        return [group for group, (_name, listeners) in zip(groups, found, strict=True) if listeners]

    @cached_property
    def _asking(self) -> AsyncRedis:
        return _client_on(self.loop())


def _client_on(loop: asyncio.AbstractEventLoop) -> AsyncRedis:
    """Return a client of the broker for use on `loop` alone: its connections belong to the loop that opened them."""
    client = AsyncRedis.from_url(
        _broker_url(),
        socket_timeout=MARK_WITHIN_S,
        socket_connect_timeout=MARK_WITHIN_S,
        retry=AsyncRetry(NoBackoff(), 0),
    )
    atexit.register(_close, client, loop)
    return client


def _close(client: AsyncRedis, loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RedisError, OSError, TimeoutError):
        asyncio.run_coroutine_threadsafe(client.aclose(), loop).result(timeout=CLOSE_WITHIN_S)


async def _group_send(group: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    assert layer is not None
    try:
        await layer.group_send(group, message)
    except Exception as error:  # noqa: BLE001 - the broker may be away; pages look for themselves
        log.warning("a message of the kind %s for %s could not be sent: %s", message["type"], group, error)


bell = Doorbell()


def ring(run_id: UUID, *, project_id: UUID) -> None:
    """Tells the listeners of a run, and those of its project's lists, that there are new events."""
    bell.ring(group_of_run(run_id))
    bell.ring(group_of_project(project_id))


def ring_begun(project_id: UUID) -> None:
    """Tells the listeners of a project's lists that a run has begun, which has no listeners of its own yet."""
    bell.ring(group_of_project(project_id))


def ring_reviews(project_id: UUID) -> None:
    """Tells a project's review pages that something in the queue, or said about an item of it, has changed."""
    bell.ring(group_of_reviews(project_id))


def ring_person(user_id: int) -> None:
    """Tells the pages that somebody has open that they may see other things than before, or nothing any more."""
    bell.ring(group_of_person(user_id))


# What a model has written so far, on its way to the open pages of its run. Never kept: a lost message changes nothing.
#
# A message carries the whole text so far, of a long one the tail, and replaces the one before it. It goes out at most
# four times a second per run, on the doorbell's thread; what came in between is never sent.

MOST_BYTES = 12_000


@dataclass(frozen=True)
class PartialText:
    """The text of step `step` so far. Of two messages of one step the one with the greater `order` is the newer."""

    step: int
    order: tuple[int, int]
    role: str
    attempt: int | None = None
    text: str = ""
    is_tail: bool = False

    def with_text(self, text: str) -> "PartialText":
        """The next message: `text`, of which the beginning is left out where it is long."""
        tail = text[-MOST_BYTES:].encode("utf-8", "replace")[-MOST_BYTES:].decode("utf-8", "ignore")
        return replace(self, order=(self.order[0], self.order[1] + 1), text=tail, is_tail=len(tail) < len(text))

    def as_message(self) -> dict[str, Any]:
        return {"type": "partial", **vars(self), "order": list(self.order)}

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Self:
        fields = {name: value for name, value in message.items() if name != "type"}
        return cls(**{**fields, "order": tuple(fields["order"])})


typist = Courier(of=bell)


@contextmanager
def writing(run_id: UUID, *, step: int, tries: int, role: str, attempt: int | None) -> Iterator[Callable[[str], None]]:
    """While it lasts, what the function it gives is called with is shown on the run's page."""
    partial = PartialText(step=step, order=(tries, 0), role=role, attempt=attempt)

    def on_text(text: str) -> None:
        nonlocal partial
        partial = partial.with_text(text)
        typist.send(group_of_run(run_id), partial.as_message())

    try:
        yield on_text
    finally:
        typist.forget(group_of_run(run_id))


# Whether somebody has a run's page open, or any of its project's that may lead there in the midst of an answer: text is
# streamed only for eyes, since streaming costs milliseconds a call.
#
# Open pages renew a mark in the broker that runs out by itself; workers ask for it before they call a model. Where the
# broker is away nobody counts as watching, and answers come whole.

# Workers wait for the answer; a page does not.
ASK_WITHIN_S = 0.2
MARK_WITHIN_S = 2.0
CLOSE_WITHIN_S = 1.0
# Each vain question costs a call up to ASK_WITHIN_S.
OUTAGE_LASTS_S = 5.0
# A run that was begun on a page is marked before the browser has opened its own.
UNTIL_ITS_PAGE_IS_OPEN_S = 10.0


class Watch:
    """Who is watched. May be used from any thread."""

    def __init__(self, doorbell: Doorbell) -> None:
        self._doorbell = doorbell
        self._away_until = 0.0
        self._is_away = False

    def mark(self, watched: UUID, *, for_s: float) -> None:
        """Soon has the run, or the project, count as watched for `for_s` from now; returns at once."""
        asyncio.run_coroutine_threadsafe(self._mark(watched, for_s=for_s), self._doorbell.loop())

    def is_watched(self, *ids: UUID) -> bool:
        """Whether a page of one of them was open a moment ago; False where the broker does not say so at once."""
        if self.is_out:
            return False
        try:
            found = self._asking.exists(*map(_key, ids))
        except (RedisError, OSError) as error:
            self._away_until = time.monotonic() + OUTAGE_LASTS_S
            self._note_away(error)
            return False
        self._is_away = False
        return bool(found)

    @property
    def is_out(self) -> bool:
        """Whether the broker failed a question a moment ago, and is not asked now."""
        return time.monotonic() < self._away_until

    async def _mark(self, watched: UUID, *, for_s: float) -> None:
        try:
            await self._marking.set(_key(watched), b"1", px=round(for_s * 1000))
        except (RedisError, OSError) as error:
            self._note_away(error)
            return
        self._is_away = False

    def _note_away(self, error: Exception) -> None:
        if not self._is_away:
            log.warning("text is not shown while models write it, the broker is away: %s", error)
        self._is_away = True

    @cached_property
    def _asking(self) -> Redis:
        return Redis.from_url(
            _broker_url(),
            socket_timeout=ASK_WITHIN_S,
            socket_connect_timeout=ASK_WITHIN_S,
            retry=Retry(NoBackoff(), 0),
        )

    @cached_property
    def _marking(self) -> AsyncRedis:
        return _client_on(self._doorbell.loop())


watch = Watch(bell)


def mark_watched(watched: UUID, *, for_s: float) -> None:
    """Soon has the run, or the project, count as watched for `for_s` from now; returns at once."""
    watch.mark(watched, for_s=for_s)


def is_watched(*ids: UUID) -> bool:
    """Whether a page of one of them was open a moment ago; False where the broker does not say so at once."""
    return watch.is_watched(*ids)


def _key(watched: UUID) -> str:
    return f"desk-watched:{watched}"


def _broker_url() -> str:
    layer: dict[str, Any] = settings.CHANNEL_LAYERS["default"]
    return str(layer["CONFIG"]["hosts"][0])
