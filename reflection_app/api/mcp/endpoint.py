"""`/mcp` as an ASGI application: streamable HTTP without sessions, so that any process may answer any request."""

import asyncio
from importlib import import_module

from reflection_app.api.mcp.in_process import Application, Caller, Receive, RestRequest, Scope, Send

PATH = "/mcp"
SERVING = "reflection_app.api.mcp.server"


class McpEndpoint:
    """Answers MCP where the gate, which is a path of REST, lets the caller in; else with the gate's refusal."""

    def __init__(self, rest: Application) -> None:
        self.rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = Caller(self.rest, scope)
        gate = await caller.ask(RestRequest(method=scope["method"], path=PATH, query={}))
        if gate.is_refusal or scope["method"] != "POST":
            await send({"type": "http.response.start", "status": gate.status, "headers": list(gate.headers)})
            await send({"type": "http.response.body", "body": gate.content})
            return
        # In a thread: the first time it takes a second, in which all sockets of the process would stand still.
        serving = await asyncio.to_thread(import_module, SERVING)
        await serving.serve(caller, scope, receive, send)
