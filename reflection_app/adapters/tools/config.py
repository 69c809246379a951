"""How a tool is called, by kind: what `Tool.config` holds. Nothing here is secret; headers name secrets."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from reflection_app.adapters.tools.url_template import template_problems
from reflection_app.loops.storable import only_storable, storable
from reflection_app.loops.tool_calls import ToolFailure, ToolResult, ToolSpec
from reflection_app.loops.values import Value

# Headers of tools: which may be set, and how they name secrets in place of holding them.

MOST_HEADERS = 20
LONGEST_HEADER = 2000
SECRET_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
REFERENCE = re.compile(r"\{secret:([^{}]*)\}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\x20-\x7e]*")
# Those that say how the message itself is read, and those that the desk sets.
OURS = {
    "accept-encoding", "connection", "content-encoding", "content-length", "cookie", "expect", "host",
    "idempotency-key", "keep-alive", "mcp-session-id", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
}  # fmt: skip
# What stands in these is a secret, so it must come from one.
SECRET = {"authorization", "x-api-key", "api-key", "x-auth-token"}


def header_problems(headers: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the headers, a sentence each."""
    if len(headers) > MOST_HEADERS:
        yield f"at most {MOST_HEADERS} headers"
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            problem = "this is no name of a header"
        elif name.lower() in OURS:
            problem = "this header is set by the desk or not at all"
        elif len(value) > LONGEST_HEADER or not _VALUE.fullmatch(value):
            problem = f"a value has at most {LONGEST_HEADER} printable ASCII characters"
        elif "{secret:" in REFERENCE.sub("", value) or any(
            not SECRET_NAME.fullmatch(one) for one in REFERENCE.findall(value)
        ):
            problem = "write a secret as {secret:NAME}, with the name of one"
        elif name.lower() in SECRET and not REFERENCE.search(value):
            problem = "put the value into a secret and write {secret:NAME} here; headers are shown to every member"
        else:
            continue
        yield f"{name[:100]}: {problem}"
    if len({name.lower() for name in headers}) < len(headers):
        yield "a header is given twice"


def secrets_named(headers: Iterable[str]) -> set[str]:
    """The names of the secrets that these values refer to."""
    return {name for value in headers for name in REFERENCE.findall(value)}


LONGEST_URL = 2000
BODY_METHODS = ("POST", "PUT", "PATCH")


def _checked_template(url: str) -> str:
    for problem in template_problems(url):
        raise ValueError(problem)
    return only_storable(url)


def _plain_url(url: str) -> str:
    if "{" in url or "}" in url:
        raise ValueError("the address of a server has no {arguments}")
    return _checked_template(url)


def _checked_headers(headers: dict[str, str]) -> dict[str, str]:
    problems = "; ".join(header_problems(headers))
    if problems:
        raise ValueError(problems)
    return headers


Headers = Annotated[dict[str, str], AfterValidator(_checked_headers)]
ServerUrl = Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_plain_url)]


class HttpConfig(Value):
    """A request. Arguments that the address does not name go into the body (JSON), or the query without a body."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    url: Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_checked_template)]
    headers: Headers = Field(default_factory=dict)


class McpAnnotations(Value):
    """What an MCP server says its tool does; null where it does not say."""

    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None


class McpConfig(Value):
    """A tool of an MCP server that speaks streamable HTTP."""

    url: ServerUrl
    tool_name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(only_storable)]
    headers: Headers = Field(default_factory=dict)
    annotations: McpAnnotations | None = Field(default=None, exclude_if=lambda annotations: annotations is None)


class BuiltinConfig(Value):
    name: Literal["python", "read_file", "grep_search"]


class McpTool(ToolSpec):
    """A tool as an MCP server offers it."""

    annotations: McpAnnotations | None = None


AnyConfig = HttpConfig | McpConfig | BuiltinConfig
BY_KIND: dict[str, type[AnyConfig]] = {"http": HttpConfig, "mcp": McpConfig, "builtin": BuiltinConfig}
HEADERS: TypeAdapter[dict[str, str]] = TypeAdapter(Headers)
SERVER_URL: TypeAdapter[str] = TypeAdapter(ServerUrl)


# Results of calls, short enough to be kept and shown to a model.

MOST_BYTES = 2_000_000
LONGEST_TEXT = 64_000
LONGEST_ERROR = 2_000


def told(
    content: str,
    *,
    failure: ToolFailure | None = None,
    error: str = "",
    status: int | None = None,
    retry_after_s: float | None = None,
) -> ToolResult:
    """A result; it failed where there is a failure. What is too long loses its middle, with a mark in its place."""
    text = storable(content)
    return ToolResult(
        ok=failure is None,
        content=shortened(text),
        failure=failure,
        error=storable(error)[:LONGEST_ERROR],
        status=status,
        retry_after_s=retry_after_s,
        is_shortened=len(text) > LONGEST_TEXT,
    )


def failed(failure: ToolFailure, error: str) -> ToolResult:
    return told("", failure=failure, error=error)


def shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    head, tail = LONGEST_TEXT * 3 // 4, LONGEST_TEXT // 5
    return f"{text[:head]}\n… [{len(text) - head - tail:,} characters left out] …\n{text[-tail:]}"
