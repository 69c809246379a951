import logging

import pytest

from reflection_app.config.log_filter import OnceAMinute, without_tokens


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


def test_a_fault_that_repeats_is_said_once_a_minute_with_its_count() -> None:
    now = [1000.0]
    said = OnceAMinute(clock=lambda: now[0])
    assert said.filter(record("run 1 failed", error=OSError("disk full")))
    for number in range(160):
        now[0] += 0.3
        assert not said.filter(record(f"run {number} failed", error=OSError("disk full")))
    now[0] += 20
    again = record("run 7 failed", error=OSError("disk full"))
    assert said.filter(again)
    assert again.getMessage() == "run 7 failed (160 more like this in 68 s)"


def test_other_faults_and_what_is_none_are_always_said() -> None:
    said = OnceAMinute(clock=lambda: 1000.0)
    assert said.filter(record("run 1 failed", error=OSError("disk full")))
    assert said.filter(record("run 1 failed", error=OSError("no such table")))
    assert said.filter(record("run 1 failed", level=logging.ERROR, error=OSError("disk full")))
    assert said.filter(record("another failed"))
    assert all(said.filter(record("started", level=logging.INFO)) for _ in range(3))
