"""`/mcp` as an ASGI application: streamable HTTP by the official SDK, without sessions, so any process may answer."""

from reflection_app.mcp_server.in_process import Application, Caller, Receive, RestAnswer, RestRequest, Scope, Send

PATH = "/mcp"
# As for REST: Django's DATA_UPLOAD_MAX_MEMORY_SIZE, which the request that a tool makes would meet anyway.
LARGEST_BODY = 10_000_000


class McpEndpoint:
    """Answers MCP where the gate, which is a path of REST, lets the caller in; else with the gate's refusal."""

    def __init__(self, rest: Application) -> None:
        self.rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = Caller(self.rest, scope)
        gate = await caller.ask(RestRequest(method=scope["method"], path=PATH, query={}))
        if gate.is_refusal or scope["method"] != "POST":
            await _pass_on(gate, send)
        else:
            await _serve(caller, scope, receive, send)


async def _serve(caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
    # The SDK takes its time to load, and not every desk is asked by agents.
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    from reflection_app.mcp_server.server import make_server

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


async def _pass_on(answer: RestAnswer, send: Send) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": "http.response.body", "body": answer.content})
