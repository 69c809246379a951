"""What goes into the log: no secrets of links, and no traceback of a request that was refused.

A link that was not used yet would let any reader of the log in.
"""

import logging
import re

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

    Where such a request was refused tells nothing, and what stands in it is of the sender's choosing.
    """

    LONGEST = 200

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, SuspiciousOperation):
            said = record.getMessage()
            record.msg = said if len(said) <= self.LONGEST else f"{said[: self.LONGEST]}…"
            record.args, record.exc_info, record.exc_text = (), None, None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True
