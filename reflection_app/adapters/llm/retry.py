"""When to try again, decided without doing it: what the server asked for, else exponential backoff with jitter."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MOST_TRIES = 8
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0
NUMBER = re.compile(r"\d+(\.\d+)?")


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """The seconds that the server asks to wait: `retry-after-ms`, else `Retry-After` in seconds or as a date.

    None where it asks for nothing that can be read; a date in the past is no wait.
    """
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = lowered.get("retry-after-ms", "")
    if NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    asked = lowered.get("retry-after", "")
    if NUMBER.fullmatch(asked):
        return float(asked)
    try:
        when = parsedate_to_datetime(asked)
    except (ValueError, OverflowError, TypeError):
        return None
    # "-0000" in a date means UTC of unknown origin and comes back without a zone.
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())


def backoff_s(tries: int, *, chance: float) -> float:
    """The wait after the `tries`-th failed try: doubling up to 8 s, of which `chance` (0 to 1) decides the upper half.

    The jitter keeps workers that failed together from coming back together.
    """
    full = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (tries - 1))
    return full * (0.5 + chance / 2)
