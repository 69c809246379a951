"""What goes into the log: no secrets of links, and a fault that repeats once a minute, with how often it came.

A link that was not used yet would let any reader of the log in; a full disk would fill the log.
"""

import logging
import re
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable

from django.core.exceptions import SuspiciousOperation

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


class WithoutBlame(logging.Filter):
    """Lets every record through; a request that Django refused as suspicious is a line, and no fault of the desk's.

    Where such a request was refused tells nothing, and what stands in it is of the sender's choosing: all of a kind are
    the same fault to OnceAMinute.
    """

    LONGEST = 200

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, SuspiciousOperation):
            said = record.getMessage()
            record.msg = said if len(said) <= self.LONGEST else f"{said[: self.LONGEST]}…"
            record.args, record.exc_info, record.exc_text = (), None, None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.fault = type(error).__name__
        return True


class OnceAMinute(logging.Filter):
    """Lets a warning or error through that has not been said for a minute, with how often it was held back meanwhile.

    Two are the same where they come from the same line and differ in ids, measures and long numbers alone: of an HTTP
    status each has its own.
    """

    QUIET_S = 60.0
    MOST_REMEMBERED = 500
    _VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+\.\d+|\d{4,}")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        # By what is the same: when it was last said, and how often it came since; the longest ago first.
        self._said: OrderedDict[tuple[object, ...], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        # What is the same in two records of one fault.
        same: tuple[object, ...] = (
            getattr(record, "fault", "") or self._VARYING.sub("#", record.getMessage()[:1_000]),
        )
        error, trace = record.exc_info[1:] if record.exc_info else (None, None)
        if error is not None and not getattr(record, "fault", ""):
            # Python's own words for it: an error may fail to tell what it is.
            words = self._VARYING.sub("#", "".join(traceback.format_exception_only(error))[-1_000:])
            places = traceback.extract_tb(trace)[-1:]
            same = (*same, words, *((place.filename, place.lineno) for place in places))
        fault, now = (record.name, record.levelno, same), self._clock()
        with self._lock:
            said_at, held_back = self._said.get(fault, (-self.QUIET_S, 0))
            if now < said_at + self.QUIET_S:
                self._said[fault] = (said_at, held_back + 1)
                return False
            self._said[fault] = (now, 0)
            self._said.move_to_end(fault)
            if len(self._said) > self.MOST_REMEMBERED:
                self._said.popitem(last=False)
        if held_back:
            record.msg, record.args = f"{record.getMessage()} ({held_back} more like this in {now - said_at:.0f} s)", ()
        return True
