"""What is typed into the forms of tools, as the actions take it. JSON and headers are typed as text."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import ValidationError

from reflection_app.tasks.submission import invalid_input
from reflection_app.teams.models.tool import Tool, ToolKind
from reflection_app.teams.tool_input import ToolInput
from reflection_app.web.forms import Typed, blame
from reflection_app.web.typed_json import NotJson, read_typed_json

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
