"""Whether somebody has a run's page open: text is streamed only for eyes, since streaming costs milliseconds a call.

Open pages renew a mark in the broker that runs out by itself; workers ask for it before they call a model. Where the
broker is away nobody counts as watching, and answers come whole.
"""

import asyncio
import atexit
import logging
import time
from contextlib import suppress
from functools import cached_property
from typing import Any
from uuid import UUID

from django.conf import settings
from redis import Redis, RedisError
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from reflection_app.adapters.doorbell import Doorbell, bell

log = logging.getLogger(__name__)

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

    def mark(self, run_id: UUID, *, for_s: float) -> None:
        """Soon has the run count as watched for `for_s` from now; returns at once."""
        asyncio.run_coroutine_threadsafe(self._mark(run_id, for_s=for_s), self._doorbell.loop())

    def is_watched(self, run_id: UUID) -> bool:
        """Whether a page of the run was open a moment ago; False where the broker does not say so at once."""
        if self.is_out:
            return False
        try:
            found = self._asking.exists(_key(run_id))
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

    async def _mark(self, run_id: UUID, *, for_s: float) -> None:
        try:
            await self._marking.set(_key(run_id), b"1", px=round(for_s * 1000))
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
        # Used on the doorbell's loop alone: its connections belong to the loop that opened them.
        client = AsyncRedis.from_url(
            _broker_url(),
            socket_timeout=MARK_WITHIN_S,
            socket_connect_timeout=MARK_WITHIN_S,
            retry=AsyncRetry(NoBackoff(), 0),
        )
        atexit.register(self._close, client)
        return client

    def _close(self, client: AsyncRedis) -> None:
        with suppress(RedisError, OSError):
            asyncio.run_coroutine_threadsafe(client.aclose(), self._doorbell.loop()).result(timeout=CLOSE_WITHIN_S)


watch = Watch(bell)


def mark_watched(run_id: UUID, *, for_s: float) -> None:
    """Soon has the run count as watched for `for_s` from now; returns at once."""
    watch.mark(run_id, for_s=for_s)


def is_watched(run_id: UUID) -> bool:
    """Whether a page of the run was open a moment ago; False where the broker does not say so at once."""
    return watch.is_watched(run_id)


def _key(run_id: UUID) -> str:
    return f"desk-watched:{run_id}"


def _broker_url() -> str:
    layer: dict[str, Any] = settings.CHANNEL_LAYERS["default"]
    return str(layer["CONFIG"]["hosts"][0])
