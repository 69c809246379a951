"""The pages of one tool: what it is, trying it, and removing it."""

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.permissions import Permission
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.teams.models.tool import Tool
from reflection_app.teams.pages.tool_forms import read_json
from reflection_app.teams.tools import LONGEST_TRY_S, ToolChange, change_tool, delete_tool, try_tool
from reflection_app.web.access import DeskRequest, get_tool_for, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.forms import Typed, read_typed

EXAMPLES: dict[str, Any] = {"string": "", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


@project_page()
@require_safe
def tool_page(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    return _page(request, get_tool_for(request.place, tool_id))


def _page(
    request: DeskRequest, tool: Tool, *, form: Typed | None = None, result: ToolResult | None = None, status: int = 200
) -> HttpResponse:
    form = form or Typed({"arguments": example_arguments(tool.parameters)})
    context = {
        "tool": tool,
        "schema": json.dumps(tool.parameters, indent=2, ensure_ascii=False),
        "headers": tool.config.get("headers", {}).items(),
        "form": form,
        "field": form.fields["arguments"],
        "result": result,
        "longest_s": LONGEST_TRY_S,
        "may_change": request.place.may(Permission.CHANGE_TOOLS),
    }
    return render(request, "tools/tool.html", context, status=status)


def example_arguments(schema: dict[str, Any]) -> str:
    """Arguments to begin with: what the schema requires, with empty values of its types."""
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    found = {name: _example_of(properties.get(name)) for name in names}
    return json.dumps(found, indent=2, ensure_ascii=False)


def _example_of(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return ""
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    kind = schema.get("type")
    return schema.get("default", EXAMPLES.get(kind, "") if isinstance(kind, str) else "")


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tool")
def try_it(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    """Calls the tool once and shows what came back, on the tool's own page."""
    tool = get_tool_for(request.place, tool_id)
    typed = read_typed(request.POST, ("arguments",))
    arguments = read_json(typed, "arguments")
    if typed.errors:
        return _page(request, tool, form=typed, status=400)
    result = try_tool(tool, arguments, actor=request.place.actor)
    return _page(request, tool, form=typed, result=result)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tool")
def switch_tool(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    """Switches the tool on or off, as the form says."""
    tool = get_tool_for(request.place, tool_id)
    on = request.POST.get("is_enabled") == "yes"
    change_tool(tool, ToolChange(is_enabled=on), actor=request.place.actor)
    messages.success(
        request,
        (_("%(name)s is switched on.") if on else _("%(name)s is switched off.")) % {"name": tool.name},
    )
    return redirect("tool", slug=request.place.project.slug, tool_id=tool.pk)


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_tool(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    """Asks first; the POST deletes."""
    tool = get_tool_for(request.place, tool_id)
    if request.method != "POST":
        return render(request, "tools/delete.html", {"tool": tool})
    delete_tool(tool, actor=request.place.actor)
    messages.success(request, _("The tool %(name)s is deleted.") % {"name": tool.name})
    return redirect("tools", slug=request.place.project.slug)
