"""The tools of a project, its secrets, and the built-in tools by one click."""

import json
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.adapters.tools.builtin import SPECS
from reflection_app.adapters.tools.config import BODY_METHODS
from reflection_app.core.permissions import Permission
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.teams.import_tools import Imported, fetch_tools, keep_tools, read_server
from reflection_app.teams.models import EffectSetting, Secret, Tool, ToolKind
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
from reflection_app.web.access import DeskRequest, back_to, confirm_page, get_secret_for, get_tool_for, project_page
from reflection_app.web.forms import Form, NotJson, Problems, Refused, api_problems_of, read_form, read_typed_json
from reflection_app.web.middleware import post_only

# What is typed into the forms of tools, as the actions take it. JSON and headers are typed as text.

OWN = ("name", "description", "timeout_s", "effect", "is_allowed")
BY_KIND = {
    ToolKind.HTTP: ("method", "url", "headers", "parameters"),
    ToolKind.MCP: ("url", "tool_name", "headers", "parameters"),
    ToolKind.BUILTIN: (),
}
NEW_TOOL = {
    "timeout_s": "10",
    "method": "GET",
    "effect": "auto",
    "parameters": '{\n  "type": "object",\n  "properties": {}\n}',
}
SENTENCES = {
    "name": gettext_noop("Use letters, digits, _ and -; start with a letter; at most 64."),
    "timeout_s": gettext_noop("Enter a number above 0, at most 120."),
    "description": gettext_noop("At most 4,000 characters."),
    "url": gettext_noop("At most 2,000 characters."),
    "tool_name": gettext_noop("Enter the tool's name on the server, at most 200 characters."),
    "method": gettext_noop("Choose a method."),
    "value": gettext_noop("Enter the secret value."),
    "origin": gettext_noop("Enter an address such as https://api.example.com."),
}
OF_PYDANTIC = ("String should", "Input should", "Field required", "Value should")


def fields_of(kind: ToolKind) -> tuple[str, ...]:
    return (*OWN, *BY_KIND[kind])


def texts_of(tool: Tool) -> dict[str, str]:
    """The tool as its form shows it."""
    config = tool.config
    return {
        "name": tool.name,
        "description": tool.description,
        "timeout_s": f"{tool.timeout_s:g}",
        "effect": tool.effect,
        "is_allowed": "on" if tool.is_allowed else "",
        "method": config.get("method", "GET"),
        "url": config.get("url", ""),
        "tool_name": config.get("tool_name", ""),
        "headers": "\n".join(f"{name}: {value}" for name, value in config.get("headers", {}).items()),
        "parameters": json.dumps(tool.parameters, indent=2, ensure_ascii=False),
    }


def read_tool(form: Form, kind: ToolKind, *, is_enabled: bool = True, config: Any = None) -> ToolInput | None:
    """The tool that was typed; None where the fields hold what is wrong with them. `config` is the one it has."""
    body: dict[str, Any] = {"kind": kind.value, "is_enabled": is_enabled, "name": form.values["name"]}
    body |= {"description": form.values["description"], "timeout_s": form.values["timeout_s"] or "10"}
    body |= {"effect": form.values["effect"] or "auto", "is_allowed": bool(form.values["is_allowed"])}
    if kind == ToolKind.BUILTIN:
        body["config"] = config
    else:
        body["parameters"] = read_json(form, "parameters")
        own = [name for name in ("method", "url", "tool_name") if name in BY_KIND[kind]]
        body["config"] = {**form.given(*own), "headers": read_headers(form)}
        # What a server said of its tool is true of that tool alone.
        if config and all(config.get(name) == form.values[name] for name in own) and "annotations" in config:
            body["config"]["annotations"] = config["annotations"]
    if not form.errors:
        with form.collect_errors(in_plain_words):
            return ToolInput.model_validate(body)
    return None


def read_json(form: Form, name: str) -> Any:
    """The JSON object that was typed, an empty one for nothing; a problem goes to the field."""
    text = form.values[name]
    if not text:
        return {}
    try:
        value = read_typed_json(text)
    except NotJson as error:
        form.add_error(name, str(error))
        return {}
    if not isinstance(value, dict):
        form.add_error(name, _("Enter a JSON object in braces."))
        return {}
    return value


def read_headers(form: Form) -> dict[str, str]:
    """The headers that were typed, one a line."""
    found: dict[str, str] = {}
    for line in form.values["headers"].splitlines():
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon:
            form.add_error("headers", _("Write each header as Name: value on its own line."))
            continue
        found[name.strip()] = value.strip()
    return found


def in_plain_words(error: Refused) -> Problems:
    """What is wrong with a tool or a secret, in plain words where pydantic speaks."""
    problems = [dict(one) for one in api_problems_of(error)]
    for problem in problems:
        message = problem["message"]
        sentence = SENTENCES.get(problem["field"].rpartition(".")[2])
        if sentence and message.startswith(OF_PYDANTIC):
            message = _(sentence)
        # Headers and schemas are one field each here: what is wrong says where.
        problem["message"] = message[:1].upper() + message[1:]
    return problems


SECRET_FIELDS = ("secret_name", "origin", "value")


@project_page()
@require_safe
def tools(request: DeskRequest) -> HttpResponse:
    return _page(request, read_form(request, SECRET_FIELDS))


def _page(request: DeskRequest, form: Form) -> HttpResponse:
    project = request.place.project
    rows = list(Tool.objects.filter(project=project))
    context = {
        "tools": rows,
        "missing_builtins": [name for name in SPECS if name not in {tool.name for tool in rows}],
        "secrets": list(Secret.objects.filter(project=project).select_related("created_by").defer("ciphertext")),
        "secret_form": form,
        "secret_fields": form.fields,
        "may_change": request.place.may(Permission.CHANGE_TOOLS),
    }
    return render(request, "teams/tools/list.html", context, status=form.status)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tools")
def add_builtins(request: DeskRequest) -> HttpResponse:
    added = add_builtin_tools(request.place.project, actor=request.place.actor)
    names = ", ".join(tool.name for tool in added)
    message = _("Added: %(names)s.") % {"names": names} if added else _("All tools already exist.")
    return back_to(request, "tools", message=message)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tools")
def keep_secret(request: DeskRequest) -> HttpResponse:
    """Keeps the secret. Its value is not shown again, also where another field is wrong."""
    form = read_form(request, SECRET_FIELDS)
    given = {
        "name": form.values["secret_name"],
        "origin": form.values["origin"],
        "value": request.POST.get("value", ""),
    }
    form.values["value"] = ""
    with form.collect_errors(_problems_of_secret):
        secret = save_secret(request.place.project, SecretInput.model_validate(given), actor=request.place.actor)
        message = _("Secret %(name)s saved. Use it in a header as {secret:%(name)s}.")
        return back_to(request, "tools", message=message % {"name": secret.name})
    return _page(request, form)


def _problems_of_secret(error: Refused) -> Problems:
    """Both forms of the page have a name: that of the secret's is called otherwise."""
    return [one | {"field": "secret_name"} if one["field"] == "name" else one for one in in_plain_words(error)]


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_secret(request: DeskRequest, secret_id: UUID) -> HttpResponse:
    """Asks first, naming the tools that use it; the POST deletes."""
    secret = get_secret_for(request.place, secret_id)
    if request.method != "POST":
        return render(request, "teams/tools/delete_secret.html", {"secret": secret, "used_by": tools_with(secret)})
    delete_secret(secret, actor=request.place.actor)
    return back_to(request, "tools", message=_("Secret %(name)s deleted.") % {"name": secret.name})


# The pages of one tool: what it is, trying it, and removing it.

EXAMPLES: dict[str, Any] = {"string": "", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


@project_page()
@require_safe
def tool_page(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    tool = get_tool_for(request.place, tool_id)
    return _tool_page(request, tool, Form({"arguments": example_arguments(tool.parameters)}))


def _tool_page(request: DeskRequest, tool: Tool, form: Form, *, result: ToolResult | None = None) -> HttpResponse:
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
    return render(request, "teams/tools/tool.html", context, status=form.status)


def example_arguments(schema: dict[str, Any]) -> str:
    """Arguments to begin with: what the schema requires, with empty values of its types."""
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    found: dict[str, Any] = {}
    for name in names:
        wanted = properties.get(name)
        if not isinstance(wanted, dict):
            found[name] = ""
        elif isinstance(wanted.get("enum"), list) and wanted["enum"]:
            found[name] = wanted["enum"][0]
        else:
            kind = wanted.get("type")
            found[name] = wanted.get("default", EXAMPLES.get(kind, "") if isinstance(kind, str) else "")
    return json.dumps(found, indent=2, ensure_ascii=False)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tool")
def try_it(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    """Calls the tool once and shows what came back, on the tool's own page."""
    tool, form = get_tool_for(request.place, tool_id), read_form(request, ("arguments",))
    arguments = read_json(form, "arguments")
    result = None if form.errors else try_tool(tool, arguments, actor=request.place.actor)
    return _tool_page(request, tool, form, result=result)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tool")
def switch_tool(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    """Switches the tool on or off, as the form says."""
    tool = get_tool_for(request.place, tool_id)
    on = request.POST.get("is_enabled") == "yes"
    change_tool(tool, ToolChange(is_enabled=on), actor=request.place.actor)
    message = _("%(name)s enabled.") if on else _("%(name)s disabled.")
    return back_to(request, "tool", tool.pk, message=message % {"name": tool.name})


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_tool(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    """Asks first; the POST deletes."""
    tool = get_tool_for(request.place, tool_id)
    if request.method != "POST":
        return confirm_page(
            request,
            title=_("Delete “%(name)s”?") % {"name": tool.name},
            text=_(
                "Later calls to it fail as an unknown tool, and tasks that name it are rejected. To use it again "
                "later, disable it instead."
            ),
            button=_("Delete tool"),
            back=reverse("tool", args=(request.place.project.slug, tool.pk)),
        )
    delete_tool(tool, actor=request.place.actor)
    return back_to(request, "tools", message=_("Tool %(name)s deleted.") % {"name": tool.name})


# Adding and changing tools, and taking over all tools of an MCP server.

METHODS = ("GET", *BODY_METHODS, "DELETE")


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_tool(request: DeskRequest) -> HttpResponse:
    """The form of one kind; another kind is another form."""
    kind = ToolKind.MCP if request.GET.get("kind") == "mcp" else ToolKind.HTTP
    form = read_form(request, fields_of(kind), NEW_TOOL)
    if request.method == "POST" and (given := read_tool(form, kind)):
        with form.collect_errors(in_plain_words):
            tool = create_tool(request.place.project, given, actor=request.place.actor)
            message = _("%(name)s registered. Test it before runs use it.") % {"name": tool.name}
            return back_to(request, "tool", tool.pk, message=message)
    return _form(request, form, kind=kind)


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_tool(request: DeskRequest, tool_id: UUID) -> HttpResponse:
    tool = get_tool_for(request.place, tool_id)
    kind = ToolKind(tool.kind)
    form = read_form(request, fields_of(kind), texts_of(tool))
    if request.method == "POST" and (given := read_tool(form, kind, is_enabled=tool.is_enabled, config=tool.config)):
        with form.collect_errors(in_plain_words):
            change = ToolChange.model_validate(given.model_dump(exclude={"kind", "is_enabled"}))
            change_tool(tool, change, actor=request.place.actor)
            return back_to(request, "tool", tool.pk, message=_("Saved. Runs in progress use the new settings."))
    return _form(request, form, kind=kind, tool=tool)


def _form(request: DeskRequest, form: Form, *, kind: ToolKind, tool: Tool | None = None) -> HttpResponse:
    context = {"form": form, "fields": form.fields, "kind": kind, "tool": tool, "methods": METHODS}
    context["effects"] = EffectSetting.values
    return render(request, "teams/tools/form.html", context, status=form.status)


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: DeskRequest) -> HttpResponse:
    """Asks the server for its tools and registers them; the page tells what became of each."""
    project, form = request.place.project, read_form(request, ("url", "headers"))
    imported: Imported | None = None
    headers = read_headers(form)
    if request.method == "POST" and not form.errors:
        with form.collect_errors(in_plain_words):
            server = read_server({"url": form.values["url"], "headers": headers})
            imported = keep_tools(project, server, fetch_tools(project, server), actor=request.place.actor)
    context = {"form": form, "fields": form.fields, "imported": imported}
    return render(request, "teams/tools/import.html", context, status=form.status)
