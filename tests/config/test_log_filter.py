import logging

import pytest
from django.core.exceptions import DisallowedHost, TooManyFieldsSent

from reflection_app.config.log_filter import WithoutBlame, without_tokens


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("GET /login/link/MQ/a-token/?more=1 404", "GET /login/link/…?more=1 404"),
        ("GET /invitations/a-secret/ 302", "GET /invitations/… 302"),
        ("GET /account/email/confirm/NA:1x:abc=/", "GET /account/email/confirm/…"),
        ("'/account/password/new/5-a-key/'", "'/account/password/new/…'"),
        ("GET /p/team/settings/members/ 200", "GET /p/team/settings/members/ 200"),
    ],
)
def test_the_secrets_of_links_are_not_shown(path: str, shown: str) -> None:
    assert without_tokens(path) == shown


def record(message: str, level: int = logging.WARNING, error: Exception | None = None) -> logging.LogRecord:
    info = (type(error), error, None) if error else None
    return logging.LogRecord("desk", level, "file.py", 1, message, (), info)


def test_requests_that_are_refused_as_suspicious_are_one_short_line() -> None:
    for error in (DisallowedHost(f"Invalid HTTP_HOST header: {'x' * 5_000!r}."), TooManyFieldsSent("too many")):
        made = record(str(error), level=logging.ERROR, error=error)
        assert WithoutBlame().filter(made)
        assert (made.exc_info, made.levelno) == (None, logging.WARNING)
        assert len(made.getMessage()) < 250
    own = record("a fault", level=logging.ERROR, error=OSError("disk full"))
    assert WithoutBlame().filter(own)
    assert own.exc_info
