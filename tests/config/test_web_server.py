"""The web server as it is started, spoken to by a bare socket."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path

import pytest
from django.conf import settings

from reflection_app.config import web_server
from reflection_app.config.answering import answers
from reflection_app.config.preconditions import free_port
from reflection_app.config.processes import ASGI, WEB_SERVER

START_S = 30
HEAD = b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


@dataclass(frozen=True)
class Server:
    port: int
    log: Path

    def speak(self, *parts: bytes) -> HTTPResponse:
        """The answer to these bytes, read as soon as it comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=START_S) as connection:
            for part in parts:
                connection.sendall(part)
            response = HTTPResponse(connection)
            response.begin()
            response.kept = response.read()  # type: ignore[attr-defined]
            return response


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    port, log = free_port(), tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as output:
        argv = (sys.executable, "-m", WEB_SERVER, "-p", str(port), ASGI)
        process = subprocess.Popen(argv, stdout=output, stderr=output, env=dict(os.environ), cwd=settings.BASE_DIR)
    try:
        deadline = time.monotonic() + START_S
        while not answers(f"127.0.0.1:{port}"):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield Server(port, log)
    finally:
        process.kill()
        process.wait()


def test_the_limit_is_just_above_what_the_application_reads() -> None:
    assert 0 < web_server.LARGEST_BODY - settings.DATA_UPLOAD_MAX_MEMORY_SIZE <= 200_000


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(server: Server) -> None:
    for expects in (b"", b"Expect: 100-continue\r\n"):
        response = server.speak(HEAD + expects + b"Content-Length: 300000000\r\n\r\n")
        assert response.status == 413
        assert response.headers["Content-Type"] == "application/problem+json"
        assert b'"status": 413' in response.kept  # type: ignore[attr-defined]


def test_a_body_without_a_length_is_refused_once_it_is_too_large(server: Server) -> None:
    chunk = b"%x\r\n" % 100_000 + b"x" * 100_000 + b"\r\n"
    assert server.speak(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 103).status == 413


def send_for_ever(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"x" * 10_000)
        time.sleep(0.01)


def test_who_goes_on_sending_is_cut_off(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=START_S) as connection:
        connection.sendall(HEAD + b"Content-Length: 300000000\r\n\r\n")
        with pytest.raises(ConnectionError):
            send_for_ever(connection)


def test_a_body_within_the_limit_reaches_the_application(server: Server) -> None:
    assert server.speak(HEAD + b"Content-Length: 2\r\n\r\n{}").status == 401
    body = b"x" * 10_000_000
    assert server.speak(HEAD + b"Content-Length: %d\r\n\r\n" % len(body), body).status == 401


def test_a_message_that_no_page_sends_ends_the_socket(server: Server) -> None:
    lines = (
        "GET /ws/none HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Origin: http://127.0.0.1:{server.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {KEY}",
    )
    options = web_server.LimitedCommandLine().parser.parse_args(["application"])
    assert options.websocket_max_message_size == options.websocket_max_frame_size == 4096
    assert server.speak("\r\n".join((*lines, "", "")).encode()).status == 101


def test_login_links_do_not_come_into_the_log(server: Server) -> None:
    for method in ("GET", "HEAD", "POST", "PUT"):
        path = f"http://127.0.0.1:{server.port}/login/link/MQ/secret-{method}-token/?more=1"
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(path, method=method), timeout=START_S)
    said = server.log.read_text()
    assert "/login/link/…" in said
    assert "-token" not in said
