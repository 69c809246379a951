"""Adding and changing tools, and taking over all tools of an MCP server."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from reflection_app.adapters.tools.config import BODY_METHODS
from reflection_app.core.errors import InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.teams.import_tools import Imported, fetch_tools, keep_tools, read_server
from reflection_app.teams.models.tool import Tool, ToolKind
from reflection_app.teams.pages.tool_forms import blame_plainly, blank, fields_of, read_headers, read_tool, typed_of
from reflection_app.teams.tools import ToolChange, change_tool, create_tool
from reflection_app.web.access import DeskRequest, get_tool_for, project_page
from reflection_app.web.forms import Typed, read_typed

METHODS = ("GET", *BODY_METHODS, "DELETE")


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_tool(request: DeskRequest) -> HttpResponse:
    """The form of one kind; another kind is another form."""
    kind = ToolKind.MCP if request.GET.get("kind") == "mcp" else ToolKind.HTTP
    if request.method != "POST":
        return _form(request, blank(kind), kind=kind)
    typed = read_typed(request.POST, fields_of(kind))
    given = read_tool(typed, kind)
    try:
        if given is not None:
            tool = create_tool(request.place.project, given, actor=request.place.actor)
            messages.success(request, _("%(name)s is registered. Try it before runs use it.") % {"name": tool.name})
            return redirect("tool", slug=request.place.project.slug, tool_id=tool.pk)
    except InvalidInput as error:
        blame_plainly(typed, error.errors)
    return _form(request, typed, kind=kind, status=400)


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_tool(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    tool = get_tool_for(request.place, tool_id)
    kind = ToolKind(tool.kind)
    if request.method != "POST":
        return _form(request, typed_of(tool), kind=kind, tool=tool)
    typed = read_typed(request.POST, fields_of(kind))
    given = read_tool(typed, kind, is_enabled=tool.is_enabled, config=tool.config)
    try:
        if given is not None:
            change = ToolChange.model_validate(given.model_dump(exclude={"kind", "is_enabled"}))
            change_tool(tool, change, actor=request.place.actor)
            messages.success(request, _("Saved. Runs under way call it as it is now."))
            return redirect("tool", slug=request.place.project.slug, tool_id=tool.pk)
    except InvalidInput as error:
        blame_plainly(typed, error.errors)
    return _form(request, typed, kind=kind, tool=tool, status=400)


def _form(
    request: DeskRequest, typed: Typed, *, kind: ToolKind, tool: Tool | None = None, status: int = 200
) -> HttpResponse:
    context = {"form": typed, "fields": typed.fields, "kind": kind, "tool": tool, "methods": METHODS}
    return render(request, "tools/form.html", context, status=status)


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: DeskRequest) -> HttpResponse:
    """Asks the server for its tools and registers them; the page tells what became of each."""
    typed = read_typed(request.POST, ("url", "headers"))
    imported: Imported | None = None
    if request.method == "POST":
        imported = _import(request, typed)
    context = {"form": typed, "fields": typed.fields, "imported": imported}
    return render(request, "tools/import.html", context, status=400 if typed.errors else 200)


def _import(request: DeskRequest, typed: Typed) -> Imported | None:
    headers = read_headers(typed)
    if typed.errors:
        return None
    project = request.place.project
    try:
        server = read_server({"url": typed.values["url"], "headers": headers})
        return keep_tools(project, server, fetch_tools(project, server), actor=request.place.actor)
    except InvalidInput as error:
        blame_plainly(typed, error.errors)
        return None
