"""What an answer to a webhook means, and when it is tried again. Pure functions; the clock and chance are handed in."""

from datetime import timedelta
from enum import Enum

# After the first try, the second, …: a day and a bit in all. Then it is given up.
DELAYS_S = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 36_000.0)
MOST_TRIES = len(DELAYS_S) + 1
# So many receivers that failed at once are not all tried again at once.
JITTER = 0.2
PAUSED_AFTER = timedelta(days=1)
LONGEST_RETRY_AFTER_S = 86_400.0
# While nothing arrives, the next try of anything waits for this share of the time that it has been so.
HELD_SHARE = 0.1
SHORTEST_HOLD_S, LONGEST_HOLD_S = 5.0, 600.0


class Meaning(Enum):
    ARRIVED = "arrived"
    FAILED = "failed"
    GONE = "gone"


def meaning_of(status: int | None) -> Meaning:
    """What the answer's status says; None where no answer came. A redirect is a failure: it is not followed."""
    if status == 410:
        return Meaning.GONE
    return Meaning.ARRIVED if status is not None and 200 <= status < 300 else Meaning.FAILED


def next_delay_s(tries: int, *, chance: float, retry_after_s: float | None = None) -> float | None:
    """The wait before the next try after `tries` that failed, `chance` from 0 to 1; None where it is given up.

    A receiver that says when to come again is believed, but not before the usual time.
    """
    if not 1 <= tries < MOST_TRIES:
        return None
    usual_s = DELAYS_S[tries - 1] * (1 + JITTER * chance)
    return max(usual_s, min(retry_after_s or 0.0, LONGEST_RETRY_AFTER_S))


def hold_s(failing_for: timedelta) -> float:
    """How long a receiver is left alone after it failed: the longer it has been failing, the longer."""
    return min(max(failing_for.total_seconds() * HELD_SHARE, SHORTEST_HOLD_S), LONGEST_HOLD_S)


def is_to_pause(failing_for: timedelta) -> bool:
    """Whether nothing has arrived for so long that trying on makes no sense."""
    return failing_for >= PAUSED_AFTER
