"""An OpenID Connect provider on loopback that says of everybody that they are the person it was made with."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, cast
from urllib.parse import parse_qs

import jwt

CLIENT, SECRET = "desk-at-corp", "a-secret-of-the-provider-that-is-long-enough"


class Provider(ThreadingHTTPServer):
    def __init__(self, person: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.person = person
        self.asked: list[dict[str, str]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def app(self) -> dict[str, Any]:
        """What the settings know of it."""
        told = {"provider_id": "corp", "name": "Corp", "client_id": CLIENT, "secret": SECRET}
        return told | {"settings": {"server_url": self.address}}


class _Answers(BaseHTTPRequestHandler):
    @property
    def provider(self) -> Provider:
        return cast("Provider", self.server)

    def do_GET(self) -> None:
        base = self.provider.address
        configuration = {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "userinfo_endpoint": f"{base}/userinfo",
            "jwks_uri": f"{base}/keys",
        }
        self.say(self.provider.person if self.path == "/userinfo" else configuration)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.provider.asked.append({name: values[0] for name, values in parse_qs(body).items()})
        now = int(time.time())
        claims = {"iss": self.provider.address, "aud": CLIENT, "iat": now, "exp": now + 60, **self.provider.person}
        token = jwt.encode(claims, SECRET, algorithm="HS256")
        self.say({"access_token": "an-access-token", "token_type": "Bearer", "id_token": token})

    def say(self, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing between the lines of the tests."""


@contextmanager
def oidc_provider(**person: Any) -> Iterator[Provider]:
    server = Provider({"sub": "person-1", **person})
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
