"""The tools of a project, its secrets, and the built-in tools by one click."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from reflection_app.adapters.tools.builtin import SPECS
from reflection_app.adapters.tools.config import BODY_METHODS
from reflection_app.core.errors import InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.tasks.submission import invalid_input
from reflection_app.teams.import_tools import Imported, fetch_tools, keep_tools, read_server
from reflection_app.teams.models import Secret, Tool, ToolKind
from reflection_app.teams.tools import (
    LONGEST_TRY_S,
    SecretInput,
    ToolChange,
    ToolInput,
    add_builtin_tools,
    change_tool,
    create_tool,
    delete_secret,
    delete_tool,
    save_secret,
    tools_with,
    try_tool,
)
from reflection_app.web.access import DeskRequest, get_secret_for, get_tool_for, project_page
from reflection_app.web.forms import NotJson, Typed, blame, read_typed, read_typed_json
from reflection_app.web.middleware import post_only

# What is typed into the forms of tools, as the actions take it. JSON and headers are typed as text.

OWN = ("name", "description", "timeout_s")
BY_KIND = {
    ToolKind.HTTP: ("method", "url", "headers", "parameters"),
    ToolKind.MCP: ("url", "tool_name", "headers", "parameters"),
    ToolKind.BUILTIN: (),
}
NO_SCHEMA = '{\n  "type": "object",\n  "properties": {}\n}'
SENTENCES = {
    "name": gettext_noop("Letters, digits, _ and -, beginning with a letter; at most 64."),
    "timeout_s": gettext_noop("A number above 0, at most 120."),
    "description": gettext_noop("At most 4,000 characters."),
    "url": gettext_noop("At most 2,000 characters."),
    "tool_name": gettext_noop("The tool's name at the server, at most 200 characters."),
    "method": gettext_noop("Choose one of the methods."),
    "value": gettext_noop("The secret itself."),
    "origin": gettext_noop("An address such as https://api.example.com."),
}
OF_PYDANTIC = ("String should", "Input should", "Field required", "Value should")


def fields_of(kind: ToolKind) -> tuple[str, ...]:
    return (*OWN, *BY_KIND[kind])


def typed_of(tool: Tool) -> Typed:
    """The tool as its form shows it."""
    config = tool.config
    values = {
        "name": tool.name,
        "description": tool.description,
        "timeout_s": f"{tool.timeout_s:g}",
        "method": config.get("method", "GET"),
        "url": config.get("url", ""),
        "tool_name": config.get("tool_name", ""),
        "headers": "\n".join(f"{name}: {value}" for name, value in config.get("headers", {}).items()),
        "parameters": json.dumps(tool.parameters, indent=2, ensure_ascii=False),
    }
    return Typed({name: values[name] for name in fields_of(ToolKind(tool.kind))})


def blank(kind: ToolKind) -> Typed:
    """The form of a new tool."""
    usual = {"timeout_s": "10", "method": "GET", "parameters": NO_SCHEMA}
    return Typed({name: usual.get(name, "") for name in fields_of(kind)})


def read_tool(typed: Typed, kind: ToolKind, *, is_enabled: bool = True, config: Any = None) -> ToolInput | None:
    """The tool that was typed; None where the fields hold what is wrong with them. `config` is that of a built-in."""
    body: dict[str, Any] = {"kind": kind.value, "is_enabled": is_enabled, "name": typed.values["name"]}
    body |= {"description": typed.values["description"], "timeout_s": typed.values["timeout_s"] or "10"}
    if kind == ToolKind.BUILTIN:
        body["config"] = config
    else:
        body["parameters"] = read_json(typed, "parameters")
        body["config"] = (
            typed.given("method", "url", "tool_name") if kind == ToolKind.MCP else typed.given("method", "url")
        )
        body["config"] = {name: text for name, text in body["config"].items() if name in BY_KIND[kind]}
        body["config"]["headers"] = read_headers(typed)
    if typed.errors:
        return None
    try:
        return ToolInput.model_validate(body)
    except ValidationError as error:
        blame_plainly(typed, invalid_input(error, what="tool").errors)
        return None


def read_json(typed: Typed, name: str) -> Any:
    """The JSON object that was typed, an empty one for nothing; a problem goes to the field."""
    text = typed.values[name]
    if not text:
        return {}
    try:
        value = read_typed_json(text)
    except NotJson as error:
        typed.add_error(name, str(error))
        return {}
    if not isinstance(value, dict):
        typed.add_error(name, _("A JSON object, in braces."))
        return {}
    return value


def read_headers(typed: Typed) -> dict[str, str]:
    """The headers that were typed, one a line."""
    found: dict[str, str] = {}
    for line in typed.values["headers"].splitlines():
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon:
            typed.add_error("headers", _("Write each header as Name: value, on a line of its own."))
            continue
        found[name.strip()] = value.strip()
    return found


def blame_plainly(typed: Typed, errors: Iterable[Mapping[str, Any]]) -> None:
    """Puts each problem at its field, in plain words where pydantic speaks."""
    blame(typed, [_in_plain_words(error) for error in errors])


def _in_plain_words(error: Mapping[str, Any]) -> dict[str, str]:
    message = str(error["message"])
    sentence = SENTENCES.get(str(error["field"]).rpartition(".")[2])
    if sentence and message.startswith(OF_PYDANTIC):
        message = _(sentence)
    # Headers and schemas are one field each here: what is wrong says where.
    return {"field": str(error["field"]), "message": message[:1].upper() + message[1:]}


SECRET_FIELDS = ("secret_name", "origin")


@project_page()
@require_safe
def tools(request: DeskRequest) -> HttpResponse:
    return _page(request)


def _page(request: DeskRequest, *, secret_form: Typed | None = None, status: int = 200) -> HttpResponse:
    project = request.place.project
    rows = list(Tool.objects.filter(project=project))
    form = secret_form or Typed(dict.fromkeys((*SECRET_FIELDS, "value"), ""))
    missing = [name for name in SPECS if name not in {tool.name for tool in rows}]
    context = {
        "tools": rows,
        "missing_builtins": missing,
        "secrets": list(Secret.objects.filter(project=project).select_related("created_by").defer("ciphertext")),
        "secret_form": form,
        "secret_fields": form.fields,
        "may_change": request.place.may(Permission.CHANGE_TOOLS),
    }
    return render(request, "teams/tools/list.html", context, status=status)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tools")
def add_builtins(request: DeskRequest) -> HttpResponse:
    added = add_builtin_tools(request.place.project, actor=request.place.actor)
    names = ", ".join(tool.name for tool in added)
    messages.success(request, _("Added: %(names)s.") % {"names": names} if added else _("They were all there already."))
    return redirect("tools", slug=request.place.project.slug)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tools")
def keep_secret(request: DeskRequest) -> HttpResponse:
    """Keeps the secret. Its value is not shown again, also where another field is wrong."""
    typed = read_typed(request.POST, SECRET_FIELDS)
    given = {
        "name": typed.values["secret_name"],
        "origin": typed.values["origin"],
        "value": request.POST.get("value", ""),
    }
    typed.values["value"] = ""
    try:
        secret = save_secret(request.place.project, SecretInput.model_validate(given), actor=request.place.actor)
    except InvalidInput as error:
        renamed = {"name": "secret_name"}
        blame_plainly(typed, [one | {"field": renamed.get(one["field"], one["field"])} for one in error.errors])
        return _page(request, secret_form=typed, status=400)
    messages.success(
        request,
        _("The secret %(name)s is kept. Write {secret:%(name)s} in a header to use it.") % {"name": secret.name},
    )
    return redirect("tools", slug=request.place.project.slug)


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_secret(request: DeskRequest, secret_id: UUID) -> HttpResponse:
    """Asks first, naming the tools that use it; the POST deletes."""
    secret = get_secret_for(request.place, secret_id)
    if request.method != "POST":
        return render(request, "teams/tools/delete_secret.html", {"secret": secret, "used_by": tools_with(secret)})
    delete_secret(secret, actor=request.place.actor)
    messages.success(request, _("The secret %(name)s is deleted.") % {"name": secret.name})
    return redirect("tools", slug=request.place.project.slug)


# The pages of one tool: what it is, trying it, and removing it.

EXAMPLES: dict[str, Any] = {"string": "", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


@project_page()
@require_safe
def tool_page(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    return _tool_page(request, get_tool_for(request.place, tool_id))


def _tool_page(
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
    return render(request, "teams/tools/tool.html", context, status=status)


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
        return _tool_page(request, tool, form=typed, status=400)
    result = try_tool(tool, arguments, actor=request.place.actor)
    return _tool_page(request, tool, form=typed, result=result)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tool")
def switch_tool(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    """Switches the tool on or off, as the form says."""
    tool = get_tool_for(request.place, tool_id)
    on = request.POST.get("is_enabled") == "yes"
    change_tool(tool, ToolChange(is_enabled=on), actor=request.place.actor)
    messages.success(
        request,
        (_("%(name)s is enabled.") if on else _("%(name)s is disabled.")) % {"name": tool.name},
    )
    return redirect("tool", slug=request.place.project.slug, tool_id=tool.pk)


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_tool(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    """Asks first; the POST deletes."""
    tool = get_tool_for(request.place, tool_id)
    if request.method != "POST":
        return render(request, "teams/tools/delete.html", {"tool": tool})
    delete_tool(tool, actor=request.place.actor)
    messages.success(request, _("The tool %(name)s is deleted.") % {"name": tool.name})
    return redirect("tools", slug=request.place.project.slug)


# Adding and changing tools, and taking over all tools of an MCP server.

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
    return render(request, "teams/tools/form.html", context, status=status)


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: DeskRequest) -> HttpResponse:
    """Asks the server for its tools and registers them; the page tells what became of each."""
    typed = read_typed(request.POST, ("url", "headers"))
    imported: Imported | None = None
    if request.method == "POST":
        imported = _import(request, typed)
    context = {"form": typed, "fields": typed.fields, "imported": imported}
    return render(request, "teams/tools/import.html", context, status=400 if typed.errors else 200)


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
