import pytest
from pytest_django.fixtures import Settings

from reflection_app.core.audit import client_address


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("1.2.3.4, 203.0.113.7", "203.0.113.7"),
        ("abc, 2001:DB8::1 ", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("abc", None),
        ("1.2.3.4:80", None),
        ("1.2.3.4,", None),
        ("", "127.0.0.1"),
    ],
)
def test_behind_a_proxy_it_is_the_address_that_the_proxy_added(
    settings: Settings, said: str, address: str | None
) -> None:
    settings.PRODUCTION = True
    assert client_address({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": said}) == address


def test_without_a_proxy_the_header_is_anybodys_word(settings: Settings) -> None:
    assert settings.PRODUCTION is False
    assert client_address({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "203.0.113.7"}) == "127.0.0.1"


@pytest.mark.parametrize("peer", ["", None, "a-socket"])
def test_a_peer_without_an_address_has_none(peer: str | None) -> None:
    assert client_address({"REMOTE_ADDR": peer}) is None
