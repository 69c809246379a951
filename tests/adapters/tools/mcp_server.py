"""A real MCP server on loopback, of the official SDK, with tools that behave and tools that do not."""

import asyncio
import socket
import threading
import time
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.pace import PATIENCE_S

TOKEN = "mcp-token-7Hq2"


def make_server() -> MCPServer:
    server = MCPServer("test tools")

    @server.tool(description="Adds two numbers.")
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool(description="Looks something up.", annotations=ToolAnnotations(read_only_hint=True))
    def look_up(name: str) -> str:
        return f"nothing is known of {name}"

    @server.tool(description="Says what it was given.")
    def echo(text: str) -> str:
        return f"you said {text}"

    @server.tool(description="Always fails.")
    def fail() -> str:
        raise ToolError("the disk is full")

    @server.tool(description="Takes a while.")
    async def slow(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    @server.tool(description="Says a lot.", structured_output=False)
    def huge(characters: int) -> str:
        return "x" * characters

    @server.tool(description="Tells the headers that it was called with.", structured_output=False)
    def headers(context: Context[Any, Any]) -> str:
        request = context.request_context.request
        assert request is not None
        return "\n".join(f"{name}: {value}" for name, value in request.headers.items())

    return server


class McpServer:
    """Serves on a free port from a thread; `url` is that of the endpoint, `asked` the requests it got."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.asked: list[str] = []
        app = make_server().streamable_http_app()
        self._server = uvicorn.Server(uvicorn.Config(self._noting(app), log_config=None, lifespan="on"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    def _noting(self, app: ASGIApp) -> ASGIApp:
        async def noting(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                self.asked.append(scope["method"])
            await app(scope, receive, send)

        return noting

    def __enter__(self) -> "McpServer":
        self._thread.start()
        until = time.monotonic() + PATIENCE_S
        while not self._server.started:
            assert time.monotonic() < until, "the MCP server did not start"
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(PATIENCE_S)
        self._socket.close()
