"""The MCP server of the official SDK, for one caller: lists the tools, and calls REST for them."""

from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from reflection_app.api.mcp.arguments import BadArgument, request_of
from reflection_app.api.mcp.catalogue import TOOLS, DeskTool
from reflection_app.api.mcp.in_process import Caller, RestAnswer

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
