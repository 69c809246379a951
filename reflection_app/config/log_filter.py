"""What goes into the log: no secrets of links, and a fault that repeats once a minute, with how often it came.

A link that was not used yet would let any reader of the log in; a full disk would fill the log.
"""

import logging
import re
import threading
import time
from collections.abc import Callable

LINK = re.compile(r"(/login/link/|/invitations/|/account/email/confirm/|/account/password/new/)[^\s?#'\"]+")


def without_tokens(text: str) -> str:
    """The text without who and with what token in the paths of such links."""
    return LINK.sub(r"\1…", text)


class WithoutTokens(logging.Filter):
    """Lets every record through, with its message made fit."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if (shown := without_tokens(said)) != said:
            record.msg, record.args = shown, ()
        return True


class OnceAMinute(logging.Filter):
    """Lets a warning or error through that has not been said for a minute, with how often it was held back meanwhile.

    Two are the same where they differ in ids and numbers alone.
    """

    QUIET_S = 60.0
    MOST_REMEMBERED = 500
    _VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        # By what is the same: when it was last said, and how often it came since.
        self._said: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        error = record.exc_info[1] if record.exc_info else None
        told = self._VARYING.sub("#", f"{record.getMessage()[:500]} {type(error).__name__} {str(error)[:500]}")
        fault, now = (record.name, record.levelno, told), self._clock()
        with self._lock:
            said_at, held_back = self._said.get(fault, (-self.QUIET_S, 0))
            if now < said_at + self.QUIET_S:
                self._said[fault] = (said_at, held_back + 1)
                return False
            if len(self._said) >= self.MOST_REMEMBERED:
                self._said = {one: kept for one, kept in self._said.items() if now < kept[0] + self.QUIET_S}
            self._said[fault] = (now, 0)
        if held_back:
            record.msg, record.args = f"{record.getMessage()} ({held_back} more like this in {now - said_at:.0f} s)", ()
        return True
