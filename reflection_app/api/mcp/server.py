"""The MCP server of the official SDK, for one caller: lists the tools, and calls REST for them."""

import json
from collections import deque
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from reflection_app.api.mcp.catalogue import TOOLS, BadArgument, DeskTool, request_of
from reflection_app.api.mcp.in_process import Caller, Receive, RestAnswer, Scope, Send
from reflection_app.loops.json_paths import MOST_VALUES, has_more_values

PROBLEM_META = "reflection-desk/problem"

INSTRUCTIONS = (
    "Reflection Desk judges work, says what went wrong with it and keeps what was learned. Recall lessons before you "
    "begin; report a tool's failure before you try it again; check for completeness before you sum up."
)


def make_server(caller: Caller) -> Server[Any]:
    """A server whose tools act with the caller's key."""

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[described(tool) for tool in TOOLS.values()])

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            return refused(f"There is no tool {params.name[:100]!r}.")
        try:
            request = request_of(tool, params.arguments or {}, meta=dict(params.meta or {}))
        except BadArgument as error:
            return refused(f"Nothing was done. {error}")
        return result_of(await caller.ask(request))

    return Server(
        "reflection-desk",
        version="1",
        title="Reflection Desk",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: TOOLS[name].input_schema if name in TOOLS else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def described(tool: DeskTool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations(
            read_only_hint=tool.is_reading,
            destructive_hint=False,
            idempotent_hint=tool.is_reading,
            open_world_hint=False,
        ),
    )


def result_of(answer: RestAnswer) -> CallToolResult:
    """REST's answer as a tool's; a refusal is the tool's error, in the problem's words."""
    value = answer.value()
    if not answer.is_refusal:
        text = answer.content.decode("utf-8", "replace")
        return CallToolResult(content=[TextContent(text=text)], structured_content=value)
    problem = value if isinstance(value, dict) else {}
    return refused(words_of(problem, status=answer.status), problem=problem)


def words_of(problem: dict[str, Any], *, status: int) -> str:
    """What the problem says, with a line for each field that is wrong."""
    head = f"{problem.get('title', 'Refused')} ({status}): {problem.get('detail', 'no reason was given')}"
    return "\n".join([head, *(f"- {error['field']}: {error['message']}" for error in problem.get("errors", ()))])


def refused(text: str, *, problem: dict[str, Any] | None = None) -> CallToolResult:
    meta: Any = {PROBLEM_META: problem} if problem else None
    return CallToolResult(content=[TextContent(text=text)], is_error=True, _meta=meta)


# One request of MCP, served by the official SDK. Takes its time to load, so endpoint.py does that when first asked.

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
