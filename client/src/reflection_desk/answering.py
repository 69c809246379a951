"""Reading an answer, and deciding whether to ask again. Pure; both clients do what it says."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from reflection_desk.call import Call
from reflection_desk.errors import BY_TYPE, KINDS, DeskError, DeskUnreachable, Refused

# What may pass by itself: too many requests, and a desk that is being restarted.
PASSING = frozenset({429, 502, 503, 504})
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 60.0
# Between two looks whether a desk that is away is back.
AWAY_DELAY_S = 2.0


def read[T](call: Call[T], response: httpx.Response) -> T:
    """The answer. Raises Refused, and DeskError for an answer that is none of the desk's."""
    if response.is_success:
        try:
            return call.read(response.json() if response.content else None)
        except ValueError as error:
            raise DeskError(f"{call.method} {call.path}: the answer cannot be read: {error}") from error
    raise refusal(response)


def refusal(response: httpx.Response) -> Refused:
    """The refusal as an error of its kind, also where a proxy made it and it is no problem document."""
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
    """Retry-After in seconds from now, in either of its forms (RFC 9110, 10.2.3); None where there is none."""
    value = response.headers.get("Retry-After", "")
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def delay_before_next_try(tries: int, *, most: int, response: httpx.Response | None) -> float | None:
    """How long to wait after `tries` tries; None where another makes no sense. No `response`: none came."""
    if tries >= most or (response is not None and response.status_code not in PASSING):
        return None
    asked_s = retry_after_s(response) if response is not None else None
    if asked_s is not None:
        return asked_s if asked_s <= LONGEST_DELAY_S else None
    # Half of it by chance, so that many clients do not come back together.
    delay_s = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** (tries - 1))
    return delay_s * (0.5 + random.random() / 2)  # noqa: S311 - spreads requests, guards nothing


def delay_while_away(error: DeskError, *, left_s: float) -> float | None:
    """How long whoever waits for something waits before they ask again; None where the desk will not come back so."""
    is_away = isinstance(error, DeskUnreachable) or (isinstance(error, Refused) and error.status in PASSING)
    if not is_away or left_s <= 0:
        return None
    asked_s = error.retry_after_s if isinstance(error, Refused) else None
    return min(left_s, max(AWAY_DELAY_S, asked_s or 0.0))


def next_address(page: Any, base: httpx.URL) -> str | None:
    """The address of the page after `page`, at the desk that was asked: a proxy may know it by another name."""
    if not page.next:
        return None
    named = base.join(page.next)
    return str(base.copy_with(raw_path=named.raw_path))
