"""The registry of tools: what a project's runs may call."""

from pydantic import Field
from rest_framework.response import Response

from reflection_app.api.actions import change, read, response_of
from reflection_app.api.idempotency import answer_once
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, get_row
from reflection_app.core.permissions import Permission
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
    is_enabled: bool | None = Field(
        default=None, description="true: only tools that runs may call; false: only the others"
    )


class Tools(DeskView):
    def get_object(self, name: str) -> Tool:
        return get_row(Tool.objects.select_related("project").filter(project=self.project, name=name), "tool")

    def get_edited(self, tool: Tool) -> dict[str, object]:
        return {name: getattr(tool, name) for name in ToolChange.model_fields}

    @read("list_tools", "List tools, newest first", may=Permission.READ)
    def list(self, query: ToolFilters) -> ToolPage:
        return self.page(ToolPage, Tool.objects.filter(project=self.project, **query.get_filters()), query)

    @change(
        "create_tool",
        "Register a tool",
        may=Permission.CHANGE_TOOLS,
        what="tool",
        status=201,
        examples=EXAMPLES,
        location="tools/{name}",
    )
    def create(self, body: ToolInput) -> ToolAnswer:
        return ToolAnswer.from_row(create_tool(self.project, body, actor=self.actor))

    @read(
        "get_tool",
        "Get a tool",
        may=Permission.READ,
        tagged=True,
    )
    def retrieve(self, tool: Tool) -> ToolAnswer:
        return ToolAnswer.from_row(tool)

    @change(
        "change_tool",
        "Change a tool",
        may=Permission.CHANGE_TOOLS,
        what="change",
        examples={"Disable": {"is_enabled": False}},
        guarded=True,
    )
    def partial_update(self, tool: Tool, body: ToolChange) -> ToolAnswer:
        return ToolAnswer.from_row(change_tool(tool, body, actor=self.actor))

    @change(
        "delete_tool",
        "Delete a tool",
        may=Permission.CHANGE_TOOLS,
        guarded=True,
    )
    def destroy(self, tool: Tool) -> None:
        delete_tool(tool, actor=self.actor)

    @change(
        "import_mcp_tools",
        "Register all tools of an MCP server",
        may=Permission.CHANGE_TOOLS,
        reader=read_server,
        answers={200: ToolImportAnswer},
        examples={"MCP server": {"url": "https://mcp.example.com/mcp"}},
        once=False,
    )
    def import_mcp(self, body: McpServerInput) -> Response:
        """Queries the server (within 10 s) before anything is written. Tools imported from it earlier are updated."""
        found = fetch_tools(self.project, body)

        def keep() -> Response:
            return response_of(import_answer(keep_tools(self.project, body, found, actor=self.actor)))

        return answer_once(self, keep)


class Secrets(DeskView):
    def get_object(self, name: str) -> Secret:
        return get_row(Secret.objects.filter(project=self.project, name=name), "secret")

    @read("list_secrets", "List secrets without their values", may=Permission.CHANGE_TOOLS)
    def list(self, query: PageQuery) -> SecretPage:
        return self.page(SecretPage, Secret.objects.filter(project=self.project).defer("ciphertext"), query)

    @change(
        "save_secret",
        "Save a secret, replacing one of that name",
        may=Permission.CHANGE_TOOLS,
        what="secret",
        status=201,
        examples={
            "A token": {"name": "WEATHER_TOKEN", "origin": "https://api.example.com", "value": "the token itself"}
        },
    )
    def create(self, body: SecretInput) -> SecretAnswer:
        return SecretAnswer.from_row(save_secret(self.project, body, actor=self.actor))

    @change("delete_secret", "Delete a secret; tools that use it fail", may=Permission.CHANGE_TOOLS)
    def destroy(self, secret: Secret) -> None:
        delete_secret(secret, actor=self.actor)
