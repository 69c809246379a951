"""The registry of tools: what a project's runs may call."""

from collections.abc import Sequence

from django.db.models import QuerySet
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import PageQuery
from reflection_app.api.reading import read_body
from reflection_app.api.schema import described_post
from reflection_app.api.viewset import (
    DeskViewSet,
    answer_body,
    answers_get,
    answers_list,
    answers_post,
    get_row,
    needing,
)
from reflection_app.core.permissions import Permission
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.teams.answers import (
    SecretAnswer,
    SecretPage,
    ToolAnswer,
    ToolImportAnswer,
    ToolPage,
    import_answer,
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


class Tools(DeskViewSet):
    def get_tool(self, name: str) -> Tool:
        """The tool. Raises NotFound."""
        return get_row(Tool.objects.select_related("project").filter(project=self.project), "tool", name=name)

    @answers_list("list_tools", Permission.READ, summary="Tools, newest first", query=ToolFilters, answer=ToolPage)
    def list(self, query: ToolFilters) -> QuerySet[Tool]:
        return Tool.objects.filter(project=self.project, **query.get_filters())

    @answers_post(
        "create_tool",
        Permission.CHANGE_TOOLS,
        summary="Register a tool",
        body=ToolInput,
        what="tool",
        answer=ToolAnswer,
        status=201,
        examples=EXAMPLES,
    )
    def create(self, given: ToolInput) -> Tool:
        return create_tool(self.project, given, actor=self.actor)

    @answers_get("get_tool", Permission.READ, summary="One tool", answer=ToolAnswer, problems=(404,))
    def detail(self, name: str) -> Tool:
        return self.get_tool(name)

    @answers_post(
        "change_tool",
        Permission.CHANGE_TOOLS,
        summary="Change a tool; what is left out stays",
        body=ToolChange,
        what="change",
        answer=ToolAnswer,
        problems=(404,),
        examples={"Switch it off": {"is_enabled": False}},
    )
    def change(self, change: ToolChange, name: str) -> Tool:
        return change_tool(self.get_tool(name), change, actor=self.actor)

    @answers_post("delete_tool", Permission.CHANGE_TOOLS, summary="Delete a tool", problems=(404,))
    def delete_one(self, name: str) -> None:
        delete_tool(self.get_tool(name), actor=self.actor)

    @needing(Permission.CHANGE_TOOLS)
    @described_post(
        "import_mcp_tools",
        summary="Register all tools of an MCP server",
        body=McpServerInput,
        answers={200: ToolImportAnswer},
        examples={"A server": {"url": "https://mcp.example.com/mcp"}},
    )
    def import_mcp(self, request: Request) -> Response:
        """Asks the server (within 10 s) before anything is written. Tools that came from it before are renewed."""
        server = read_server(read_body(request))
        found = fetch_tools(self.project, server)
        return self._keep(request, server=server, found=found)

    @idempotent
    def _keep(self, _request: Request, *, server: McpServerInput, found: Sequence[ToolSpec]) -> Response:
        imported = keep_tools(self.project, server, found, actor=self.actor)
        return Response(answer_body(ToolImportAnswer, import_answer(imported)))


class Secrets(DeskViewSet):
    @answers_list("list_secrets", Permission.CHANGE_TOOLS, summary="Secrets without their values", answer=SecretPage)
    def list(self, _query: PageQuery) -> QuerySet[Secret]:
        return Secret.objects.filter(project=self.project).defer("ciphertext")

    @answers_post(
        "save_secret",
        Permission.CHANGE_TOOLS,
        summary="Keep a secret; one of the same name is replaced",
        body=SecretInput,
        what="secret",
        answer=SecretAnswer,
        status=201,
        examples={
            "A token": {"name": "WEATHER_TOKEN", "origin": "https://api.example.com", "value": "the token itself"}
        },
    )
    def save(self, given: SecretInput) -> Secret:
        return save_secret(self.project, given, actor=self.actor)

    @answers_post(
        "delete_secret",
        Permission.CHANGE_TOOLS,
        summary="Delete a secret; tools that name it fail from then on",
        problems=(404,),
    )
    def delete_one(self, name: str) -> None:
        delete_secret(get_row(Secret.objects.filter(project=self.project), "secret", name=name), actor=self.actor)
