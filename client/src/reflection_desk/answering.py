"""Parse responses and compute retry delays. Pure functions that both clients use."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from reflection_desk.call import Call
from reflection_desk.errors import BY_TYPE, KINDS, DeskError, DeskUnreachable, Refused

# Statuses worth a retry: rate limit exceeded, or a server that restarts.
TRANSIENT = frozenset({429, 502, 503, 504})
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 60.0
# Between two requests to a server that is unavailable.
AWAY_DELAY_S = 2.0


def read[T](call: Call[T], response: httpx.Response) -> T:
    """Return the parsed response.

    Raises Refused for an error status, and DeskError for a success that is not valid JSON of the expected shape.
    """
    if response.is_success:
        try:
            return call.read(response.json() if response.content else None)
        except ValueError as error:
            raise DeskError(f"the response to {call.method} {call.path} cannot be read: {error}") from error
    raise refusal(response)


def refusal(response: httpx.Response) -> Refused:
    """Return the exception for an error response. The body may be any text, such as a proxy's error page."""
    try:
        problem = response.json()
    except ValueError:
        problem = {"detail": response.text[:500]}
    if not isinstance(problem, Mapping):
        problem = {}
    named = str(problem.get("type") or "").rpartition(":")[2]
    kind = BY_TYPE.get(named) or KINDS.get(response.status_code, Refused)
    return kind(response.status_code, problem, retry_after_s=retry_after_s(response))


def retry_after_s(response: httpx.Response) -> float | None:
    """Return Retry-After in seconds from now, or None. Accepts both forms, seconds and date (RFC 9110, 10.2.3)."""
    value = response.headers.get("Retry-After", "")
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def delay_before_next_try(tries: int, *, most: int, response: httpx.Response | None) -> float | None:
    """Return the seconds to wait after `tries` tries, or None if the call must not be retried.

    `response` is None if the connection failed.
    """
    if tries >= most or (response is not None and response.status_code not in TRANSIENT):
        return None
    requested_s = retry_after_s(response) if response is not None else None
    if requested_s is not None:
        return requested_s if requested_s <= LONGEST_DELAY_S else None
    # Up to half is random: otherwise many clients would retry at the same moment.
    delay_s = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** (tries - 1))
    return delay_s * (0.5 + random.random() / 2)  # noqa: S311 - spreads requests, guards nothing


def delay_while_unavailable(error: DeskError, *, left_s: float) -> float | None:
    """Return the seconds to wait before the next request to an unavailable server.

    None if waiting does not help: the error is permanent, or no time is left.
    """
    is_unavailable = isinstance(error, DeskUnreachable) or (isinstance(error, Refused) and error.status in TRANSIENT)
    if not is_unavailable or left_s <= 0:
        return None
    requested_s = error.retry_after_s if isinstance(error, Refused) else None
    return min(left_s, max(AWAY_DELAY_S, requested_s or 0.0))


def next_address(page: Any, base: httpx.URL) -> str | None:
    """Return the URL of the next page, or None on the last one.

    Only the path and the query of `next` are used: behind a proxy the server may not know its public host name.
    """
    if not page.next:
        return None
    next_url = base.join(page.next)
    return str(base.copy_with(raw_path=next_url.raw_path))
