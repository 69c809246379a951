import logging
from uuid import UUID, uuid4

import pytest
from django.core.exceptions import DisallowedHost, TooManyFieldsSent

from reflection_app.config.log_filter import OnceAMinute, WithoutBlame, without_tokens


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
    assert said.filter(record(f"run {uuid4()} failed after 1.5 s", error=OSError("disk full")))
    for _ in range(160):
        now[0] += 0.3
        assert not said.filter(record(f"run {uuid4()} failed after {now[0]:.1f} s", error=OSError("disk full")))
    now[0] += 20
    again = record(f"run {UUID(int=7)} failed after 2.0 s", error=OSError("disk full"))
    assert said.filter(again)
    assert again.getMessage() == f"run {UUID(int=7)} failed after 2.0 s (160 more like this in 68 s)"


def test_other_faults_and_what_is_none_are_always_said() -> None:
    said = OnceAMinute(clock=lambda: 1000.0)
    assert said.filter(record(f"run {uuid4()} failed", error=OSError("disk full")))
    assert said.filter(record("run 1 failed", error=OSError("no such table")))
    assert said.filter(record("run 1 failed", level=logging.ERROR, error=OSError("disk full")))
    assert said.filter(record("another failed"))
    assert all(said.filter(record("started", level=logging.INFO)) for _ in range(3))
    assert all(said.filter(record(f"the receiver answered {status}")) for status in (401, 503))


def raised(error: Exception, *, otherwise: bool = False) -> logging.LogRecord:
    try:
        if otherwise:
            raise error
        raise error
    except Exception as caught:  # noqa: BLE001 - with its traceback, as a program has it
        made = record("a request failed", error=caught)
        made.exc_info = (type(caught), caught, caught.__traceback__)
        return made


def test_two_faults_with_the_same_words_at_different_places_are_two() -> None:
    said = OnceAMinute(clock=lambda: 1000.0)
    assert said.filter(raised(AssertionError()))
    assert said.filter(raised(AssertionError(), otherwise=True))
    assert not said.filter(raised(AssertionError()))


def test_an_error_that_cannot_say_what_it_is_is_logged_all_the_same() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert OnceAMinute(clock=lambda: 1000.0).filter(raised(Silent()))


def test_only_so_many_faults_are_kept_in_mind() -> None:
    said = OnceAMinute(clock=lambda: 1000.0)
    for number in range(2 * said.MOST_REMEMBERED):
        assert said.filter(record(f"unknown host {number % 1000} of {'x' * (number // 1000)}"))
    assert len(said._said) == said.MOST_REMEMBERED


def test_requests_that_are_refused_as_suspicious_are_one_short_line_a_minute() -> None:
    without_blame, said = WithoutBlame(), OnceAMinute(clock=lambda: 1000.0)

    def seen(error: Exception) -> logging.LogRecord | None:
        made = record(str(error), level=logging.ERROR, error=error)
        assert without_blame.filter(made)
        return made if said.filter(made) else None

    first = seen(DisallowedHost(f"Invalid HTTP_HOST header: {'x' * 5_000!r}."))
    assert first
    assert (first.exc_info, first.levelno) == (None, logging.WARNING)
    assert len(first.getMessage()) < 250
    assert not any(seen(DisallowedHost(f"Invalid HTTP_HOST header: 'evil-{'x' * more}.example'.")) for more in range(9))
    assert seen(TooManyFieldsSent("too many"))
    own = seen(OSError("disk full"))
    assert own
    assert own.exc_info
