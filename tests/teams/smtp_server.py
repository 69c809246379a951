"""A mail server on loopback that keeps what it is sent, speaking just enough SMTP (RFC 5321)."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from pytest_django import Settings


class MailServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.letters: list[EmailMessage] = []
        # Addresses that it does not know, and whether it is out of order.
        self.refused: set[str] = set()
        self.is_broken = False

    @property
    def options(self) -> dict[str, object]:
        """What Django's backend reaches it by."""
        host, port = self.server_address[:2]
        return {"host": host, "port": port, "username": "", "password": "", "timeout": 30}


class _Session(socketserver.StreamRequestHandler):
    server: MailServer

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def handle(self) -> None:
        self.say("220 ready")
        for raw in self.rfile:
            line = raw.decode("ascii", "replace").strip()
            verb = line[:4].upper()
            if verb == "QUIT":
                self.say("221 bye")
                return
            if verb == "RCPT" and any(address in line for address in self.server.refused):
                self.say("550 no such mailbox")
            elif verb == "MAIL" and self.server.is_broken:
                self.say("451 try later")
            elif verb == "DATA":
                self.take()
            else:
                self.say("250 fine")

    def take(self) -> None:
        self.say("354 go on")
        lines = []
        for raw in self.rfile:
            if raw == b".\r\n":
                break
            lines.append(raw.removeprefix(b".") if raw.startswith(b"..") else raw)
        self.server.letters.append(message_from_bytes(b"".join(lines), policy=policy.default))
        self.say("250 kept")


@contextmanager
def mail_server() -> Iterator[MailServer]:
    server = MailServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server(settings: Settings) -> Iterator[MailServer]:
    """The mail server of the settings."""
    with mail_server() as running:
        settings.MAIL_OPTIONS = running.options
        settings.MAIL_FROM = "Reflection Desk <desk@example.org>"
        settings.PUBLIC_URL = "https://desk.example"
        yield running
