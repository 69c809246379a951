import pytest
from django.core.exceptions import ImproperlyConfigured

from reflection_app.config.mail_server import mail_options, public_url


@pytest.mark.parametrize(
    ("url", "port", "use_tls", "use_ssl"),
    [
        ("smtp://mail.example", 25, False, False),
        ("smtp+tls://mail.example", 587, True, False),
        ("smtps://mail.example:4650", 4650, False, True),
    ],
)
def test_the_scheme_says_how_it_is_kept_secret(url: str, port: int, *, use_tls: bool, use_ssl: bool) -> None:
    options = mail_options(url)
    assert (options["host"], options["port"]) == ("mail.example", port)
    assert (options["use_tls"], options["use_ssl"]) == (use_tls, use_ssl)


def test_name_and_password_may_hold_anything_when_they_are_quoted() -> None:
    options = mail_options("smtps://desk%40example.org:p%2Fa%3As@mail.example")
    assert (options["username"], options["password"]) == ("desk@example.org", "p/a:s")


def test_without_an_address_no_mail_is_sent() -> None:
    assert mail_options("") == {}


@pytest.mark.parametrize(
    "url",
    [
        "mail.example",
        "https://mail.example",
        "smtp://",
        "smtp://mail.example:port",
        "smtp://[",
        "smtp://me:pa55/word@mail.example",
    ],
)
def test_an_address_of_no_mail_server_is_refused_at_the_start_without_its_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL") as refused:
        mail_options(url)
    assert "pa55" not in str(refused.value)


def test_links_begin_with_what_is_told_else_the_trusted_origin_else_host_and_port() -> None:
    def found(told: str = "", *, origins: tuple[str, ...] = (), host: str = "127.0.0.1") -> str:
        return public_url(told, origins=origins, host=host, port=8000)

    assert found("https://desk.example/", origins=("https://other.example",)) == "https://desk.example"
    assert found(origins=("https://*.example", "https://desk.example")) == "https://desk.example"
    assert found() == "http://127.0.0.1:8000"
    assert found(host="0.0.0.0") == "http://127.0.0.1:8000"
    assert found(host="::1") == "http://[::1]:8000"


@pytest.mark.parametrize("told", ["desk.example", "javascript:alert(1)", "https://"])
def test_what_is_no_address_of_a_site_is_refused(told: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="PUBLIC_URL"):
        public_url(told, origins=(), host="127.0.0.1", port=8000)
