"""How many requests a key may make, and an address that shows no key: a bucket that fills at an even pace, in Valkey.

Counted by the generic cell rate algorithm (ITU-T I.371): the one number kept is the time at which the bucket would be
full again. Where the broker is away everything is let in: a limit is worth less than the pipelines that wait.
"""

import logging
import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from reflection_app.core.errors import ActionError

log = logging.getLogger(__name__)

ASK_WITHIN_S = 0.3
# Each vain question costs a call up to ASK_WITHIN_S.
OUTAGE_LASTS_S = 5.0
MINUTE_S = 60.0

# By the broker's own clock, in microseconds: the desk's processes need not agree on the time.
TAKE = """
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local full_at = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local early_us = full_at + interval - now - interval * burst
if early_us > 0 then
  return {0, early_us, full_at - now}
end
full_at = full_at + interval
redis.call('SET', KEYS[1], string.format('%.0f', full_at), 'PX', math.ceil((full_at - now) / 1000))
return {1, 0, full_at - now}
"""


@dataclass(frozen=True)
class Limit:
    """So many requests a minute, of which `burst` may come at once. None a minute: there is no limit."""

    name: str
    per_minute: int
    burst: int

    @property
    def interval_us(self) -> int:
        return max(1, round(MINUTE_S * 1_000_000 / self.per_minute))

    @property
    def policy(self) -> str:
        """The limit as the header RateLimit-Policy says it (draft-ietf-httpapi-ratelimit-headers)."""
        return f'"{self.name}";q={self.burst};w={math.ceil(self.burst * self.interval_us / 1_000_000)}'


@dataclass(frozen=True)
class Quota:
    """What is left of a limit after a request; `wait_s` is 0 where the request may be served."""

    limit: Limit
    left: int
    full_in_s: int
    wait_s: int

    @property
    def headers(self) -> dict[str, str]:
        left = f'"{self.limit.name}";r={self.left};t={self.full_in_s}'
        return {"RateLimit-Policy": self.limit.policy, "RateLimit": left}


class TooManyRequests(ActionError):
    """More requests were made than are answered. Wait as long as Retry-After says."""

    status = 429
    title = "Too many requests"

    def __init__(self, quota: Quota) -> None:
        limit = quota.limit
        super().__init__(
            f"More than {limit.per_minute} requests a minute, {limit.burst} of them at once, are not answered. "
            f"Try again in {quota.wait_s} s; nothing was changed."
        )
        self.retry_after_s = quota.wait_s


class Buckets:
    """The buckets of all who call. May be used from any thread."""

    def __init__(self) -> None:
        self._away_until = 0.0

    def take(self, limit: Limit, *, of: str) -> Quota | None:
        """One request taken from the bucket of `of`, or how long to wait; None where nothing is limited or counted."""
        if limit.per_minute <= 0 or time.monotonic() < self._away_until:
            return None
        interval_us = limit.interval_us
        try:
            is_in, early_us, fill_us = cast("Any", self._take)(
                keys=[f"desk-rate:{limit.name}:{of}"], args=[interval_us, limit.burst]
            )
        except (RedisError, OSError) as error:
            self._away_until = time.monotonic() + OUTAGE_LASTS_S
            log.warning("requests are not counted for %g s, the broker is away: %s", OUTAGE_LASTS_S, error)
            return None
        return Quota(
            limit,
            left=max(0, limit.burst - math.ceil(fill_us / interval_us)) if is_in else 0,
            full_in_s=math.ceil(fill_us / 1_000_000),
            wait_s=math.ceil(early_us / 1_000_000),
        )

    @cached_property
    def _take(self) -> Any:
        client = Redis.from_url(
            str(settings.CACHES["default"]["LOCATION"]),
            socket_timeout=ASK_WITHIN_S,
            socket_connect_timeout=ASK_WITHIN_S,
            retry=Retry(NoBackoff(), 0),
        )
        return client.register_script(TAKE)


buckets = Buckets()


def limit_of_keys() -> Limit:
    return Limit("key", settings.API_REQUESTS_PER_MINUTE, settings.API_BURST)


def limit_of_addresses() -> Limit:
    """For whoever shows no key that works."""
    return Limit("address", settings.API_REQUESTS_WITHOUT_KEY, settings.API_REQUESTS_WITHOUT_KEY)
