"""Daphne, with a limit on bodies: `python -m reflection_app.config.web_server` takes the arguments of `daphne`.

Daphne keeps a request's body in memory or in a temporary file before it asks the application, so that whoever has no
key could fill the disk. Here a body that is too large is refused as soon as that is known; what still comes is let go.
"""

import json
from typing import Any

from daphne import server as daphne_server
from daphne.cli import CommandLineInterface
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from django.apps import apps

from reflection_app.config.log_filter import without_tokens

# DATA_UPLOAD_MAX_MEMORY_SIZE and what a multipart form adds. Settings are not read here: Django is set up later.
LARGEST_BODY = 10_100_000
LARGEST_MESSAGE = 4096
# How long a client may go on sending before the connection is cut: until then it can read the answer.
PATIENCE_S = 2.0

PROBLEM = json.dumps(
    {
        "type": "urn:reflection-desk:content-too-large",
        "title": "Content too large",
        "status": 413,
        "detail": f"The body is larger than {LARGEST_BODY:,} bytes.",
        "errors": [],
    }
).encode()
ANSWER = (
    b"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(PROBLEM), PROBLEM)
)


class LimitedRequest(WebRequest):  # type: ignore[misc]
    """A request whose body is kept only up to the limit."""

    received = 0
    refused = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - Twisted's name
        too_large = length is not None and length > LARGEST_BODY
        super().gotLength(0 if too_large else length)
        if too_large:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        self.received += len(data)
        if self.refused:
            return
        if self.received > LARGEST_BODY:
            self.content.close()
            self._refuse()
        else:
            super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802 - Twisted's name
        if not self.refused:
            super().requestReceived(command, path, version)

    def _refuse(self) -> None:
        self.refused = True
        # What asks before it sends is not to be told to go on.
        self.requestHeaders.removeHeader(b"Expect")
        self.channel.write(ANSWER)
        self.channel.callLater(PATIENCE_S, self.channel.transport.abortConnection)


class LimitedFactory(HTTPFactory):  # type: ignore[misc]
    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802 - Twisted's name
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = LimitedRequest
        return protocol


class LimitedSocket(WebSocketProtocol):  # type: ignore[misc]
    """A socket whose limit is for what it receives. Autobahn would hold a page's snapshot to it as well."""

    maxMessagePayloadSize: int  # noqa: N815 - Autobahn's name

    def sendMessage(self, *args: Any, **kwargs: Any) -> None:  # noqa: N802 - Autobahn's name
        limit, self.maxMessagePayloadSize = self.maxMessagePayloadSize, 0
        try:
            super().sendMessage(*args, **kwargs)
        finally:
            self.maxMessagePayloadSize = limit


class LimitedSocketFactory(WebSocketFactory):  # type: ignore[misc]
    protocol = LimitedSocket


class LimitedServer(Server):  # type: ignore[misc]
    """Daphne's server, which first checks the database's version, and logs no login tokens."""

    def run(self) -> None:
        # By now the application is loaded, and Django with it where it is ours.
        if apps.ready:
            from reflection_app.config.services import exit_if_database_is_newer

            exit_if_database_is_newer()
        super().run()

    def log_action(self, protocol: str, action: str, details: dict[str, Any]) -> None:
        super().log_action(protocol, action, details | {"path": without_tokens(details["path"])})


class LimitedCommandLine(CommandLineInterface):  # type: ignore[misc]
    server_class = LimitedServer

    def __init__(self) -> None:
        super().__init__()
        # Pages send a single word over their sockets.
        self.parser.set_defaults(websocket_max_message_size=LARGEST_MESSAGE, websocket_max_frame_size=LARGEST_MESSAGE)


def main() -> None:
    # The server makes its factories by these names, and offers no other way to choose them.
    daphne_server.WebSocketFactory = LimitedSocketFactory
    daphne_server.HTTPFactory = LimitedFactory
    LimitedCommandLine.entrypoint()


if __name__ == "__main__":
    main()
