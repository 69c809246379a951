"""One request of MCP, served by the official SDK. Takes its time to load, so endpoint.py does that when first asked."""

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from reflection_app.mcp_server.in_process import Caller, Receive, Scope, Send
from reflection_app.mcp_server.server import make_server

# As for REST: Django's DATA_UPLOAD_MAX_MEMORY_SIZE, which the request that a tool makes would meet anyway.
LARGEST_BODY = 10_000_000


async def serve(caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers the request; its tools act for the caller."""
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
        await manager.handle_request(scope, receive, send)
