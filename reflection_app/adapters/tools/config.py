"""How a tool is called, by kind: what `Tool.config` holds. Nothing here is secret; headers name secrets."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from reflection_app.adapters.tools.headers import header_problems
from reflection_app.adapters.tools.url_template import template_problems
from reflection_app.loops.storable import is_storable
from reflection_app.loops.values import Value

LONGEST_URL = 2000
BODY_METHODS = ("POST", "PUT", "PATCH")
BUILTINS = ("python", "read_file", "grep_search")


def _checked_template(url: str) -> str:
    for problem in template_problems(url):
        raise ValueError(problem)
    return _stored(url)


def _plain_url(url: str) -> str:
    if "{" in url or "}" in url:
        raise ValueError("the address of a server has no {arguments}")
    return _checked_template(url)


def _checked_headers(headers: dict[str, str]) -> dict[str, str]:
    problems = "; ".join(header_problems(headers))
    if problems:
        raise ValueError(problems)
    return headers


def _stored(text: str) -> str:
    if not is_storable(text):
        raise ValueError("it holds characters that cannot be stored")
    return text


Headers = Annotated[dict[str, str], AfterValidator(_checked_headers)]
ServerUrl = Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_plain_url)]


class HttpConfig(Value):
    """A request. Arguments that the address does not name go into the body (JSON), or the query without a body."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    url: Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_checked_template)]
    headers: Headers = Field(default_factory=dict)


class McpConfig(Value):
    """A tool of an MCP server that speaks streamable HTTP."""

    url: ServerUrl
    tool_name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_stored)]
    headers: Headers = Field(default_factory=dict)


class BuiltinConfig(Value):
    name: Literal["python", "read_file", "grep_search"]


AnyConfig = HttpConfig | McpConfig | BuiltinConfig
BY_KIND: dict[str, type[AnyConfig]] = {"http": HttpConfig, "mcp": McpConfig, "builtin": BuiltinConfig}
HEADERS: TypeAdapter[dict[str, str]] = TypeAdapter(Headers)
SERVER_URL: TypeAdapter[str] = TypeAdapter(ServerUrl)
