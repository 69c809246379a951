"""Tools of MCP servers over streamable HTTP, spoken by the official SDK on our own client."""

import base64
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from mimetypes import guess_extension
from typing import Any
from urllib.parse import unquote

from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import ValidationError

from reflection_app.adapters.outgoing import HttpClient, Unreachable, origin_of, run_with_client
from reflection_app.adapters.tools.config import MOST_BYTES, McpAnnotations, McpConfig, McpTool, failed, told
from reflection_app.adapters.tools.secrets import Secrets
from reflection_app.loops.tool_calls import ToolFailure, ToolResult

MOST_TOOLS = 200
MOST_PAGES = 20
IDEMPOTENCY_META = "reflection-desk/idempotency-key"


def call_mcp(
    config: McpConfig, arguments: Mapping[str, Any], *, secrets: Secrets, idempotency_key: str, deadline_s: float
) -> ToolResult:
    """What the server's tool said. Raises OutgoingError or Misconfigured."""

    async def call(client: Client) -> CallToolResult:
        meta: Any = {IDEMPOTENCY_META: idempotency_key}
        return await client.call_tool(config.tool_name, dict(arguments), meta=meta)

    try:
        said = _talk(call, config.url, config.headers, secrets=secrets, deadline_s=deadline_s)
        return result_of(said, redact=secrets.redact)
    except MCPError as error:
        return failed(ToolFailure.TOOL_ERROR, f"The server refused the call: {secrets.redact(error.error.message)}")


def list_tools(url: str, headers: Mapping[str, str], *, secrets: Secrets, deadline_s: float) -> list[McpTool]:
    """The tools that the server offers, at most MOST_TOOLS. Raises OutgoingError or Misconfigured."""

    async def list_all(client: Client) -> list[McpTool]:
        found: list[McpTool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            found += [
                McpTool.model_construct(
                    name=tool.name,
                    description=tool.description or "",
                    parameters=tool.input_schema,
                    annotations=annotations_of(tool.annotations),
                )
                for tool in page.tools
            ]
            cursor = page.next_cursor
            if cursor is None or len(found) >= MOST_TOOLS:
                break
        return found[:MOST_TOOLS]

    try:
        return _talk(list_all, url, headers, secrets=secrets, deadline_s=deadline_s)
    except MCPError as error:
        raise Unreachable(f"The server does not tell its tools: {secrets.redact(error.error.message)}") from None


def annotations_of(hints: ToolAnnotations | None) -> McpAnnotations | None:
    """Return what the server says of the tool's effects; None where it says nothing."""
    if hints is None:
        return None
    found = McpAnnotations(
        read_only=hints.read_only_hint, destructive=hints.destructive_hint, open_world=hints.open_world_hint
    )
    return found if found != McpAnnotations() else None


def _talk[T](
    talk: Callable[[Client], Awaitable[T]], url: str, headers: Mapping[str, str], *, secrets: Secrets, deadline_s: float
) -> T:
    origin = origin_of(url)

    async def converse(http: HttpClient) -> T:
        async with Client(streamable_http_client(url, http_client=http, max_sse_event_size=None), cache=None) as client:
            return await talk(client)

    try:
        return run_with_client(
            converse,
            deadline_s=deadline_s,
            most_bytes=MOST_BYTES,
            headers=secrets.fill(headers, origin=origin),
            only_origin=origin,
        )
    except ExceptionGroup as group:
        # What really went wrong: the SDK's task groups wrap it, more than once.
        first = group.exceptions[0]
        while isinstance(first, ExceptionGroup):
            first = first.exceptions[0]
        raise (first if isinstance(first, MCPError) else _no_mcp(first, secrets)) from None
    except (ValidationError, RuntimeError) as error:
        raise _no_mcp(error, secrets) from None


def _no_mcp(error: Exception, secrets: Secrets) -> Unreachable:
    """The refusal. Pydantic quotes what came, cut short: half a secret would not be found any more."""
    told = f"no valid {error.title} came" if isinstance(error, ValidationError) else secrets.redact(str(error))
    return Unreachable(f"The server does not speak MCP: {told}")


def result_of(said: CallToolResult, *, redact: Callable[[str], str]) -> ToolResult:
    """The blocks as text; structured content as JSON where no block says the same. Redacted before it is shortened."""
    parts = []
    files: list[tuple[str, bytes]] = []
    for block in said.content:
        match block:
            case TextContent(text=part) | EmbeddedResource(resource=TextResourceContents(text=part)):
                parts.append(part)
            case EmbeddedResource(resource=BlobResourceContents(blob=blob) as resource):
                parts.append(f"(a file: {resource.uri}, {resource.mime_type or 'of an unknown kind'})")
                files += _file(blob, name=str(resource.uri).rsplit("/", 1)[-1], media_type=resource.mime_type or "")
            case ResourceLink(uri=uri, name=name):
                parts.append(f"({name}: {uri})")
            case ImageContent(mime_type=kind, data=data) | AudioContent(mime_type=kind, data=data):
                parts.append(f"({kind}, which is no text)")
                files += _file(data, name=f"file-{len(files) + 1}", media_type=kind)
    text = "\n\n".join(filter(None, parts))
    if said.structured_content is not None and not text:
        text = json.dumps(said.structured_content, ensure_ascii=False)
    text = redact(text)
    if not said.is_error:
        return told(text).with_files(files)
    return told(text, failure=ToolFailure.TOOL_ERROR, error=text or "The tool says that it failed, and not why.")


def _file(data: str, *, name: str, media_type: str) -> Iterator[tuple[str, bytes]]:
    """The file by its name, with an ending for its type where it has none; nothing where the data is no Base64."""
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        return
    if content:
        name = unquote(name) or "file"
        yield (name if "." in name else f"{name}{guess_extension(media_type) or ''}"), content
