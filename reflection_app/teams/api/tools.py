"""The registry of tools: what a project's runs may call."""

from typing import ClassVar

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_body, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.teams.answers import (
    SecretAnswer,
    SecretPage,
    ToolAnswer,
    ToolImportAnswer,
    ToolPage,
    import_answer,
    secret_answer,
    tool_answer,
)
from reflection_app.teams.import_tools import McpServerInput, fetch_tools, keep_tools, read_server
from reflection_app.teams.models import Secret, Tool, ToolKind
from reflection_app.teams.tools import (
    SecretInput,
    ToolChange,
    ToolInput,
    change_tool,
    create_tool,
    delete_secret,
    delete_tool,
    save_secret,
)

EXAMPLES = {
    "An HTTP request": {
        "name": "get_weather",
        "kind": "http",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "config": {
            "method": "GET",
            "url": "https://api.example.com/weather/{city}",
            "headers": {"Authorization": "Bearer {secret:WEATHER_TOKEN}"},
        },
    },
    "A tool of an MCP server": {
        "name": "search",
        "kind": "mcp",
        "config": {"url": "https://mcp.example.com/mcp", "tool_name": "search"},
    },
    "A built-in tool": {"name": "python", "kind": "builtin", "config": {"name": "python"}},
}


class ToolFilters(PageQuery):
    kind: ToolKind | None = None
    is_enabled: bool | None = Field(default=None, description="only tools that runs may call, or only the others")


def get_tool_for(project: Project, name: str) -> Tool:
    """The tool. Raises NotFound."""
    tool = Tool.objects.select_related("project").filter(project=project, name=name).first()
    if tool is None:
        raise NotFound("There is no such tool.")
    return tool


class ToolList(DeskView):
    permissions = needs(get=Permission.READ, post=Permission.CHANGE_TOOLS)

    @described_get("list_tools", summary="Tools, newest first", query=ToolFilters, answer=ToolPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, ToolFilters)
        wanted = query.model_dump(exclude_none=True, include={"kind", "is_enabled"})
        page = get_page(
            Tool.objects.filter(project=self.project, **wanted), request=request, query=query, order=NEWEST_FIRST
        )
        return Response(page.with_results([tool_answer(tool) for tool in page.rows]))

    @described_post(
        "create_tool", summary="Register a tool", body=ToolInput, answers={201: ToolAnswer}, examples=EXAMPLES
    )
    @idempotent
    def post(self, request: Request) -> Response:
        tool = create_tool(self.project, read_input(request, ToolInput, what="tool"), actor=self.actor)
        return Response(tool_answer(tool).model_dump(mode="json"), 201)


class ToolDetail(DeskView):
    http_method_names: ClassVar[list[str]] = ["get", "patch", "delete", "head"]  # type: ignore[misc]
    permissions = needs(get=Permission.READ, patch=Permission.CHANGE_TOOLS, delete=Permission.CHANGE_TOOLS)

    @described_get("get_tool", summary="One tool", answer=ToolAnswer, problems=(404,))
    def get(self, request: Request, name: str) -> Response:
        read_query(request, NoParameters)
        return Response(tool_answer(get_tool_for(self.project, name)).model_dump(mode="json"))

    @described_post(
        "change_tool",
        summary="Change a tool; what is left out stays",
        body=ToolChange,
        answers={200: ToolAnswer},
        problems=(404,),
        examples={"Switch it off": {"is_enabled": False}},
    )
    @idempotent
    def patch(self, request: Request, name: str) -> Response:
        change = read_input(request, ToolChange, what="change")
        tool = change_tool(get_tool_for(self.project, name), change, actor=self.actor)
        return Response(tool_answer(tool).model_dump(mode="json"))

    @described_post("delete_tool", summary="Delete a tool", answers={204: None}, problems=(404,))
    @idempotent
    def delete(self, request: Request, name: str) -> Response:
        delete_tool(get_tool_for(self.project, name), actor=self.actor)
        return Response(status=204)


class ImportMcp(DeskView):
    permissions = needs(post=Permission.CHANGE_TOOLS)

    @described_post(
        "import_mcp_tools",
        summary="Register all tools of an MCP server",
        body=McpServerInput,
        answers={200: ToolImportAnswer},
        examples={"A server": {"url": "https://mcp.example.com/mcp"}},
    )
    def post(self, request: Request) -> Response:
        """Asks the server (within 10 s) before anything is written. Tools that came from it before are renewed."""
        server = read_server(read_body(request))
        found = fetch_tools(self.project, server)
        return self.keep(request, server=server, found=found)

    @idempotent
    def keep(self, request: Request, *, server: McpServerInput, found: list[ToolSpec]) -> Response:
        imported = keep_tools(self.project, server, found, actor=self.actor)
        return Response(import_answer(imported).model_dump(mode="json"))


# Secrets of tools: their names and origins; values go in and never come out.


class SecretList(DeskView):
    permissions = needs(get=Permission.CHANGE_TOOLS, post=Permission.CHANGE_TOOLS)

    @described_get("list_secrets", summary="Secrets without their values", query=PageQuery, answer=SecretPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, PageQuery)
        secrets = Secret.objects.filter(project=self.project).defer("ciphertext")
        page = get_page(secrets, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([secret_answer(secret) for secret in page.rows]))

    @described_post(
        "save_secret",
        summary="Keep a secret; one of the same name is replaced",
        body=SecretInput,
        answers={201: SecretAnswer},
        examples={
            "A token": {"name": "WEATHER_TOKEN", "origin": "https://api.example.com", "value": "the token itself"}
        },
    )
    @idempotent
    def post(self, request: Request) -> Response:
        secret = save_secret(self.project, read_input(request, SecretInput, what="secret"), actor=self.actor)
        return Response(secret_answer(secret).model_dump(mode="json"), 201)


class SecretDetail(DeskView):
    http_method_names: ClassVar[list[str]] = ["delete"]  # type: ignore[misc]
    permissions = needs(delete=Permission.CHANGE_TOOLS)

    @described_post(
        "delete_secret",
        summary="Delete a secret; tools that name it fail from then on",
        answers={204: None},
        problems=(404,),
    )
    @idempotent
    def delete(self, request: Request, name: str) -> Response:
        secret = Secret.objects.filter(project=self.project, name=name).first()
        if secret is None:
            raise NotFound("There is no such secret.")
        delete_secret(secret, actor=self.actor)
        return Response(status=204)
