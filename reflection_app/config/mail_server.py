"""The mail server, read from one address, and the address that links in mail begin with."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

FORM = "smtp://user:password@host:587, smtp+tls://… for STARTTLS, or smtps://…"
PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
# A server that hangs must not hold a worker's thread for long.
TIMEOUT_S = 20


def mail_options(url: str) -> dict[str, Any]:
    """What Django's SMTP backend is to be made with; nothing where no mail is sent. Raises ImproperlyConfigured."""
    if not url:
        return {}
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # Python's own words would quote a piece of a password that was not quoted.
        raise ImproperlyConfigured(f"EMAIL_URL cannot be read. Its form is {FORM}") from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise ImproperlyConfigured(f"EMAIL_URL names no mail server. Its form is {FORM}")
    return {
        "host": parts.hostname,
        "port": port or PORTS[parts.scheme],
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "use_tls": parts.scheme == "smtp+tls",
        "use_ssl": parts.scheme == "smtps",
        "timeout": TIMEOUT_S,
    }


def public_url(told: str, *, origins: Sequence[str], host: str, port: int) -> str:
    """Where people find the desk, without a slash at its end: as told, else its own origin, else HOST and PORT.

    Raises ImproperlyConfigured for what is no address of a site.
    """
    if told:
        parts = urlsplit(told)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ImproperlyConfigured(f"PUBLIC_URL={told!r} is no address such as https://desk.example")
        return told.rstrip("/")
    if named := [origin for origin in origins if "*" not in origin]:
        return named[0].rstrip("/")
    shown = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104 - compared with
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"
