"""Requests over real sockets: where they go, what they take along, and how much they put up with."""

import gzip
import socket
import ssl
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pytest_django import Settings

from reflection_app.adapters.outgoing import (
    AddressRefused,
    OutgoingAnswer,
    OutgoingRequest,
    TimedOut,
    TooLarge,
    Unreachable,
    addresses,
    check_url,
    client,
    send,
)
from tests.adapters.outgoing.certificate import make_certificate
from tests.adapters.outgoing.server import Heard, RawServer, by_path, reply

pytestmark = pytest.mark.usefixtures("loopback")


def fetch(url: str, *, deadline_s: float = 5, most_bytes: int = 100_000, **request: object) -> OutgoingAnswer:
    method = str(request.pop("method", "GET"))
    return send(OutgoingRequest(method, url, **request), deadline_s=deadline_s, most_bytes=most_bytes)  # type: ignore[arg-type]


def test_an_answer_comes_whole_whatever_its_status() -> None:
    with RawServer(
        reply("grüß".encode("latin-1"), status="418 Teapot", content_type="text/plain; charset=latin-1")
    ) as s:
        answer = fetch(f"{s.url}/a?b=c", method="POST", headers={"X-One": "1"}, body=b"hello")
    assert (answer.status, answer.text, answer.media_type) == (418, "grüß", "text/plain")
    heard = s.heard[0]
    assert (heard.method, heard.path, heard.body, heard.headers["x-one"]) == ("POST", "/a?b=c", b"hello", "1")
    assert heard.headers["host"] == f"127.0.0.1:{s.port}"
    assert heard.headers["accept-encoding"] == "gzip"


def test_the_name_is_looked_up_once_and_the_checked_address_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def look_up(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr(addresses, "look_up", look_up)
    with RawServer(reply()) as s:
        answer = fetch(f"http://tools.example:{s.port}/")
    assert answer.body == b"ok"
    assert asked == ["tools.example"]
    assert s.heard[0].headers["host"] == f"tools.example:{s.port}"


def test_a_name_that_turns_to_loopback_after_its_check_is_refused(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ()
    answers = iter([["8.8.8.8"], ["127.0.0.1"]])
    monkeypatch.setattr(addresses, "look_up", lambda *_: next(answers))
    with RawServer(reply()) as s:
        check_url(f"http://rebinding.example:{s.port}/")
        with pytest.raises(AddressRefused):
            fetch(f"http://rebinding.example:{s.port}/")
    assert s.heard == []


def test_a_redirect_to_a_name_that_now_points_inside_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    monkeypatch.setattr(addresses, "look_up", lambda *_: next(answers))
    with RawServer(reply(status="302 Found", location="/again")) as s, pytest.raises(AddressRefused):
        fetch(f"http://rebinding.example:{s.port}/")
    assert len(s.heard) == 1


@pytest.mark.parametrize(
    "place",
    [
        "http://169.254.169.254/latest/meta-data/",
        "//10.0.0.1/",
        "http://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "file:///etc/passwd",
        "http://user:pw@127.0.0.1/",
        "http://127.0.0.1:0/",
        "javascript:alert(1)",
    ],
)
def test_a_redirect_to_where_requests_do_not_go_is_refused(place: str) -> None:
    with RawServer(reply(status="307 Temporary Redirect", location=place)) as s, pytest.raises(AddressRefused):
        fetch(s.url)


def test_headers_meant_for_the_first_origin_stay_there() -> None:
    headers = {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Accept": "text/plain", "Idempotency-Key": "k"}
    with RawServer(reply()) as other:
        moved = {
            "/": reply(status="302 Found", location="/here"),
            "/here": reply(status="302 Found", location=other.url),
        }
        with RawServer(by_path(moved)) as first:
            fetch(f"{first.url}/", headers=headers)
    assert [heard.headers.get("authorization") for heard in first.heard] == ["Bearer s3cret"] * 2
    assert other.heard[0].headers["accept"] == "text/plain"
    assert "s3cret" not in repr(other.heard[0])
    assert "idempotency-key" not in other.heard[0].headers


@pytest.mark.parametrize(
    ("status", "sent", "then", "body"),
    [
        ("301 Moved", "POST", "GET", b""),
        ("302 Found", "POST", "GET", b""),
        ("303 See Other", "PUT", "GET", b""),
        ("301 Moved", "PUT", "PUT", b"data"),
        ("307 Temporary Redirect", "POST", "POST", b"data"),
        ("308 Permanent Redirect", "PATCH", "PATCH", b"data"),
    ],
)
def test_a_redirect_changes_the_method_as_the_standard_says(status: str, sent: str, then: str, body: bytes) -> None:
    with RawServer(by_path({"/": reply(status=status, location="/then"), "/then": reply()})) as s:
        fetch(f"{s.url}/", method=sent, body=b"data", headers={"Content-Type": "text/plain"})
    assert (s.heard[1].method, s.heard[1].body) == (then, body)
    assert ("content-type" in s.heard[1].headers) is bool(body)


def test_five_redirects_are_followed_and_no_more() -> None:
    places = {f"/{n}": reply(status="302 Found", location=f"/{n + 1}") for n in range(9)}
    with RawServer(by_path(places | {"/5": reply(b"there")})) as s:
        assert fetch(f"{s.url}/0").body == b"there"
    with RawServer(by_path(places)) as s:
        with pytest.raises(Unreachable, match="5 redirects"):
            fetch(f"{s.url}/0")
        assert len(s.heard) == 6


def test_a_redirect_is_no_way_around_the_deadline() -> None:
    def slowly(_: Heard, connection: socket.socket) -> None:
        time.sleep(0.4)
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")

    assert_times_out(slowly)


def test_an_endless_body_is_cut_off_by_its_size() -> None:
    def endless(_: Heard, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65536)

    with RawServer(endless) as s, pytest.raises(TooLarge, match="100,000 bytes"):
        fetch(s.url)


def test_a_body_that_drips_is_cut_off_by_the_time() -> None:
    def drip(_: Heard, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)

    assert_times_out(drip)


def test_headers_that_drip_are_cut_off_by_the_time() -> None:
    def drip(_: Heard, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-A: b\r\n")
            time.sleep(0.02)

    assert_times_out(drip)


def test_a_server_that_says_nothing_is_cut_off_by_the_time() -> None:
    assert_times_out(lambda *_: time.sleep(5))


def test_a_resolver_that_hangs_is_cut_off_by_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(_host: str, _port: int) -> list[str]:
        time.sleep(6)
        return ["8.8.8.8"]

    monkeypatch.setattr(addresses, "look_up", look_up)
    began = time.monotonic()
    with pytest.raises(TimedOut):
        fetch("http://slow.example/", deadline_s=0.5)
    assert time.monotonic() - began < 5


def assert_times_out(behaviour: object) -> None:
    with RawServer(behaviour) as s:  # type: ignore[arg-type]
        began = time.monotonic()
        with pytest.raises(TimedOut):
            fetch(s.url, deadline_s=0.5)
        assert time.monotonic() - began < 4.5


def test_a_packed_answer_is_unpacked() -> None:
    with RawServer(reply(gzip.compress(b"x" * 90_000), content_encoding="gzip")) as s:
        assert fetch(s.url).body == b"x" * 90_000


def test_a_bomb_is_counted_as_it_unpacks() -> None:
    bomb = gzip.compress(gzip.compress(b"\0" * 30_000_000, compresslevel=1) + b"\0" * 5_000_000)
    with RawServer(reply(bomb, content_encoding="gzip")) as s, pytest.raises(TooLarge):
        fetch(s.url, most_bytes=1_000_000)


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip"])
def test_an_encoding_that_was_not_asked_for_is_not_unpacked(encoding: str) -> None:
    with RawServer(reply(b"x", content_encoding=encoding)) as s, pytest.raises(Unreachable, match="not asked for"):
        fetch(s.url)


def test_what_is_not_gzip_or_no_http_or_breaks_off_is_told() -> None:
    with RawServer(reply(b"plain", content_encoding="gzip")) as s, pytest.raises(Unreachable, match="gzip"):
        fetch(s.url)
    with RawServer(lambda _, connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n")) as s, pytest.raises(Unreachable):
        fetch(s.url)
    with RawServer(reply(b"short", content_length="100")) as s, pytest.raises(Unreachable, match="broke off"):
        fetch(s.url)
    with pytest.raises(Unreachable, match="cannot be reached"):
        fetch("http://127.0.0.1:1/")


def test_neither_the_environments_proxy_nor_cookies_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    places = {"/": reply(status="302 Found", location="/then", set_cookie="id=1; Path=/"), "/then": reply()}
    with RawServer(by_path(places)) as s:
        assert fetch(f"{s.url}/").status == 200
    assert "cookie" not in s.heard[1].headers


def test_the_certificate_is_checked_against_the_name_and_not_the_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path, name="tools.example")
    monkeypatch.setattr(addresses, "look_up", lambda *_: ["127.0.0.1"])
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    names: list[str | None] = []
    serving.sni_callback = lambda _socket, name, _context: names.append(name)
    trusting = ssl.create_default_context(cafile=str(certificate))

    def over_tls(heard_plain: socket.socket) -> None:
        with serving.wrap_socket(heard_plain, server_side=True) as secure:
            secure.recv(65536)
            secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    with TlsServer(over_tls) as port:
        with pytest.raises(Unreachable, match="certificate"):
            fetch(f"https://tools.example:{port}/")
        monkeypatch.setattr(client, "_tls", lambda: trusting)
        assert fetch(f"https://tools.example:{port}/").body == b"ok"
        with pytest.raises(Unreachable, match="certificate"):
            fetch(f"https://other.example:{port}/")
    assert names == ["tools.example", "tools.example", "other.example"]


class TlsServer(RawServer):
    """Hands each connection over before anything is read of it."""

    def __init__(self, speak: object) -> None:
        super().__init__(reply())
        self._speak = speak

    def __enter__(self) -> int:  # type: ignore[override]
        super().__enter__()
        return self.port

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self._speak(connection)  # type: ignore[operator]
