"""One request of MCP, served by the official SDK. Takes its time to load, so endpoint.py does that when first asked."""

import json
from collections import deque
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from reflection_app.api.mcp.in_process import Caller, Receive, Scope, Send
from reflection_app.api.mcp.server import make_server
from reflection_app.loops.json_paths import MOST_VALUES, has_more_values

# As for REST: Django's DATA_UPLOAD_MAX_MEMORY_SIZE, which the request that a tool makes would meet anyway.
LARGEST_BODY = 10_000_000
INVALID_REQUEST = -32600


async def serve(caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers the request; its tools act for the caller."""
    heard = await _whole(receive)
    if has_more_values(b"".join(message.get("body", b"") for message in heard)):
        await _refuse(send)
        return

    async def again() -> Any:
        return heard.popleft() if heard else await receive()

    # One per request: it keeps nothing between them, and daphne has no lifespan in which one for all could live.
    manager = StreamableHTTPSessionManager(
        make_server(caller),
        stateless=True,
        json_response=True,
        max_request_body_size=LARGEST_BODY,
        # Host and origin were checked before: by Django at the gate, and by whoever mounts this.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    async with manager.run():
        await manager.handle_request(scope, again, send)


async def _whole(receive: Receive) -> deque[Any]:
    """What comes of the request up to its end, or to where the SDK refuses it as too large."""
    heard: deque[Any] = deque()
    size = 0
    while size <= LARGEST_BODY:
        message = await receive()
        heard.append(message)
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    return heard


async def _refuse(send: Send) -> None:
    why = f"The message has more than {MOST_VALUES:,} values. Send less at once; nothing was done."
    answer = {"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": why}}
    await send({"type": "http.response.start", "status": 413, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
