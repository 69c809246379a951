"""The web server as it is started, spoken to by a bare socket."""

import gzip
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from io import BufferedReader
from pathlib import Path

import pytest
from django.conf import settings

from reflection_app.config.up.desk import answers
from reflection_app.config.up.preconditions import free_port
from reflection_app.config.up.processes import ASGI, WEB_SERVER
from tests.config.talkative import LONG_MESSAGE
from tests.config.waiting import wait_until
from tests.pace import PATIENCE_S

ANSWERS_WITHIN_S = PATIENCE_S
HEAD = b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@dataclass(frozen=True)
class Server:
    port: int
    log: Path

    def speak(self, *parts: bytes) -> HTTPResponse:
        """The answer to these bytes, read as soon as it comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWERS_WITHIN_S) as connection:
            for part in parts:
                connection.sendall(part)
            response = HTTPResponse(connection)
            response.begin()
            response.kept = response.read()  # type: ignore[attr-defined]
            return response


@contextmanager
def running(application: str, *, log: Path) -> Iterator[Server]:
    port = free_port()
    with log.open("wb") as output:
        argv = (sys.executable, "-m", WEB_SERVER, "-p", str(port), application)
        process = subprocess.Popen(argv, stdout=output, stderr=output, env=dict(os.environ), cwd=settings.BASE_DIR)
    try:
        wait_until(lambda: answers(f"127.0.0.1:{port}"), process=process, log=log)
        yield Server(port, log)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server(collected: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(ASGI, log=tmp_path_factory.mktemp("server") / "log") as server:
        yield server


def masked(payload: bytes) -> bytes:
    """A text frame as a client sends it, with a mask of zeros."""
    return (
        b"\x81\xfe" + len(payload).to_bytes(2) + bytes(4) + payload
        if len(payload) > 125
        else (bytes([0x81, 0x80 | len(payload)]) + bytes(4) + payload)
    )


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
    with socket.create_connection(("127.0.0.1", server.port), timeout=ANSWERS_WITHIN_S) as connection:
        connection.sendall(HEAD + b"Content-Length: 300000000\r\n\r\n")
        with pytest.raises(ConnectionError):
            send_for_ever(connection)


def test_a_body_within_the_limit_reaches_the_application(server: Server) -> None:
    assert server.speak(HEAD + b"Content-Length: 2\r\n\r\n{}").status == 401
    body = b"x" * 10_000_000
    assert server.speak(HEAD + b"Content-Length: %d\r\n\r\n" % len(body), body).status == 401


def read_on(reader: BufferedReader) -> None:
    """Raises EOFError where the server has closed the connection."""
    if not reader.read(1):
        raise EOFError


def test_a_long_message_is_sent_and_none_received(tmp_path: Path) -> None:
    with (
        running("tests.config.talkative:application", log=tmp_path / "log") as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=ANSWERS_WITHIN_S) as connection,
        connection.makefile("rb") as reader,
    ):
        connection.sendall(HANDSHAKE % server.port)
        while reader.readline() != b"\r\n":
            pass
        assert reader.read(2) == b"\x81\x7f"
        length = int.from_bytes(reader.read(8))
        assert reader.read(length) == b"x" * LONG_MESSAGE
        connection.sendall(masked(b"look"))
        assert reader.read(6) == b"\x81\x04look"
        connection.sendall(masked(b"y" * 5000))
        with pytest.raises((ConnectionError, EOFError)):
            read_on(reader)


def test_login_links_do_not_come_into_the_log(server: Server) -> None:
    for method in ("GET", "HEAD", "POST", "PUT"):
        path = f"http://127.0.0.1:{server.port}/login/link/MQ/secret-{method}-token/?more=1"
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(path, method=method), timeout=ANSWERS_WITHIN_S)
    said = server.log.read_text()
    assert "/login/link/…" in said
    assert "-token" not in said


FOREIGN = (b"evil.example", b"[::1", b"localhost:abc", b"localhost@evil.example", b"\xff\xfe", b"x" * 5_000)


def test_a_foreign_host_is_refused_without_a_traceback(server: Server) -> None:
    for host in FOREIGN:
        for path in (b"/login/", b"/api/v1/tasks", b"/mcp"):
            response = server.speak(b"GET " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
            assert response.status == 400, host
        key = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        upgrade = b"Upgrade: websocket\r\nConnection: Upgrade\r\n" + key + b"Origin: http://" + host + b"\r\n"
        response = server.speak(b"GET /ws/p/demo/reviews HTTP/1.1\r\nHost: " + host + b"\r\n" + upgrade + b"\r\n")
        assert response.status in {400, 403}, host
    said = server.log.read_text()
    assert "Traceback" not in said
    assert "Invalid HTTP_HOST header" in said


def test_the_login_page_takes_few_requests_each_kept_and_compressed(server: Server) -> None:
    def get(path: str) -> tuple[HTTPResponse, bytes]:
        address = f"http://127.0.0.1:{server.port}{path}"
        asked = urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(asked, timeout=ANSWERS_WITHIN_S) as response:
            return response, response.read()

    response, body = get("/login/")
    page = gzip.decompress(body).decode()
    parts = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)

    assert response.headers["Content-Encoding"] == "gzip"
    assert {"desk", "favicon"} <= {Path(part).name.split(".")[0] for part in parts}
    assert len(parts) + 1 <= 8
    collected = json.loads((settings.STATIC_ROOT / "staticfiles.json").read_text())["paths"]
    script = next(hashed for name, hashed in collected.items() if name.endswith("plotly.min.js"))
    for part in [*parts, f"/static/{script}"]:
        response, body = get(part)
        assert response.headers["Cache-Control"] == "max-age=315360000, public, immutable"
        assert response.headers["Content-Encoding"] == "gzip"
        assert len(body) < len(gzip.decompress(body))
