"""Keeps the secrets of links out of logs: one that was not used yet would let any reader of the log in."""

import logging
import re

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
