"""Which pages may open a socket with the viewer's cookie."""

import pytest
from asgiref.sync import async_to_sync
from channels.testing import WebsocketCommunicator
from pytest_django.fixtures import Settings

from reflection_app.config.asgi import application
from tests.pace import PATIENCE_S


def is_let_in(origin: str | None, *, host: str = "localhost:8000", **more: str) -> bool:
    """Whether the handshake gets past the check: what is let in here is told that there is no such socket."""
    headers = [(b"host", host.encode())]
    headers += [(name.replace("_", "-").encode(), value.encode()) for name, value in more.items()]
    headers += [(b"origin", origin.encode())] if origin is not None else []

    async def knock() -> bool:
        socket = WebsocketCommunicator(application, "/ws/none", headers=headers)
        accepted, _ = await socket.connect(timeout=PATIENCE_S)
        return bool(accepted)

    return async_to_sync(knock)()


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8000"),
        ("http://LOCALHOST:8000", "localhost:8000"),
        ("http://localhost", "localhost:80"),
        ("http://[::1]:8000", "[::1]:8000"),
    ],
)
def test_the_sites_own_pages_may_open_sockets(origin: str, host: str) -> None:
    assert is_let_in(origin, host=host)


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "http://localhost:8001",
        "http://localhost",
        "https://localhost:8000",
        "http://127.0.0.1:8000",
        "http://localhost:8000.evil.example",
        "http://localhost:port",
        "http://[::1",
        "file://localhost:8000",
    ],
)
def test_other_origins_and_none_are_refused(origin: str | None) -> None:
    assert not is_let_in(origin)


def test_a_host_that_is_not_ours_is_refused_even_where_the_origin_is_the_same() -> None:
    assert not is_let_in("http://evil.example", host="evil.example")


def test_trusted_origins_are_let_in(settings: Settings) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://desk.example", "https://*.desk.test"]
    assert is_let_in("https://desk.example")
    assert is_let_in("https://a.desk.test")
    assert not is_let_in("http://desk.example")
    assert not is_let_in("https://desk.example:8443")
    assert not is_let_in("http://a.desk.test")
    assert not is_let_in("https://adesk.test")


def test_behind_a_proxy_the_scheme_is_what_it_says(settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert is_let_in("https://localhost", host="localhost", x_forwarded_proto="https")
    assert not is_let_in("http://localhost", host="localhost", x_forwarded_proto="https")
    assert not is_let_in("https://localhost", host="localhost")
