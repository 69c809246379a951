"""An HTTP server on loopback that does what a test tells it to, byte by byte."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

Reply = Callable[["Heard", socket.socket], None]


@dataclass(frozen=True)
class Heard:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class RawServer:
    """Answers every connection with `reply`; `heard` keeps the requests."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.heard: list[Heard] = []
        self._stopping = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "RawServer":
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        self._socket.close()

    def _serve(self) -> None:
        while not self._stopping:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        # A client that hangs up in the middle is what most of these tests are about.
        with connection, suppress(OSError, ValueError, IndexError):
            heard = _read(connection)
            self.heard.append(heard)
            self._reply(heard, connection)


def _read(connection: socket.socket) -> Heard:
    data = b""
    while b"\r\n\r\n" not in data:
        block = connection.recv(65536)
        if not block:
            raise ValueError("hung up")
        data += block
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    return Heard(method, path, headers, body)


def reply(body: bytes = b"ok", *, status: str = "200 OK", **headers: str) -> Reply:
    """Always this answer; headers are given with underscores."""
    named = {"Content-Type": "text/plain", "Content-Length": str(len(body))}
    named |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())

    def answer(_: Heard, connection: socket.socket) -> None:
        connection.sendall(f"HTTP/1.1 {status}\r\nConnection: close\r\n{lines}\r\n".encode("latin-1") + body)

    return answer


def by_path(replies: dict[str, Reply]) -> Reply:
    """The reply of the request's path, without its query."""

    def answer(heard: Heard, connection: socket.socket) -> None:
        replies.get(heard.path.partition("?")[0], reply(b"no such path", status="404 Not Found"))(heard, connection)

    return answer
