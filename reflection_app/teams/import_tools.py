"""Registering the tools of an MCP server: asking it for them, then keeping them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import Field, ValidationError

from reflection_app.adapters.outgoing import OutgoingError
from reflection_app.adapters.tools.config import Headers, McpConfig, McpTool, ServerUrl, secrets_named
from reflection_app.adapters.tools.errors import Misconfigured
from reflection_app.adapters.tools.secrets import Secrets, load_secrets
from reflection_app.core.audit import Actor, audit
from reflection_app.core.connections import released
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.tasks.submission import invalid_input
from reflection_app.teams.models import Tool, ToolKind
from reflection_app.teams.tools import (
    IMPORT_ADDRESS,
    LONGEST_DESCRIPTION,
    check_address,
    check_secrets,
    schema_problem,
)

ASK_WITHIN_S = 10.0
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")


class McpServerInput(Value):
    """An MCP server. Headers refer to secrets as {secret:NAME}."""

    url: ServerUrl
    headers: Headers = Field(default_factory=dict)


@dataclass
class Imported:
    """What became of each of the server's tools, by name."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def read_server(given: object) -> McpServerInput:
    """The server. Raises InvalidInput."""
    try:
        return McpServerInput.model_validate(given)
    except ValidationError as error:
        raise invalid_input(error, what=_("server")) from None


def fetch_tools(project: Project, server: McpServerInput) -> list[McpTool]:
    """The tools that the server offers. Raises InvalidInput. Call it outside of transactions: it asks the server."""
    from reflection_app.adapters.tools.mcp import list_tools  # the SDK takes its time to load

    check_address(server.url, field="url")
    check_secrets(project, server.headers, url=server.url, field="headers")
    try:
        secrets = load_secrets(project.pk, secrets_named(server.headers.values()))
        with released():
            found = list_tools(server.url, server.headers, secrets=secrets, deadline_s=ASK_WITHIN_S)
    except (OutgoingError, Misconfigured) as error:
        message = storable(str(error))
        raise InvalidInput(
            _("Nothing was imported: the server did not return its tools."),
            errors=[{"field": "url", "message": message}],
        ) from None
    return [
        McpTool.model_construct(
            name=secrets.redact(tool.name),
            description=secrets.redact(tool.description),
            parameters=_redacted_value(tool.parameters, secrets),
            annotations=tool.annotations,
        )
        for tool in found
    ]


def _redacted_value(value: Any, secrets: Secrets) -> Any:
    """A JSON value with every text in it redacted."""
    match value:
        case str():
            return secrets.redact(value)
        case dict():
            return {secrets.redact(key): _redacted_value(inner, secrets) for key, inner in value.items()}
        case list():
            return [_redacted_value(inner, secrets) for inner in value]
    return value


@transaction.atomic
def keep_tools(project: Project, server: McpServerInput, found: Sequence[McpTool], *, actor: Actor) -> Imported:
    """Registers what is new and renews what came from this server before; another tool's name is never taken over."""
    Project.objects.select_for_update().get(pk=project.pk)  # two imports at once would trip over each other's names
    imported = Imported()
    seen: set[str] = set()
    for spec in found:
        name = usable_name(spec.name)
        problem = schema_problem(spec.parameters)
        if not name or name == IMPORT_ADDRESS or name in seen or problem:
            why = problem or ("two tools come to this name" if name in seen else "its name cannot be used")
            imported.skipped.append((storable(spec.name)[:64], why))
            continue
        seen.add(name)
        config = McpConfig(
            url=server.url,
            tool_name=storable(spec.name)[:200],
            headers=server.headers,
            annotations=spec.annotations,
        )
        fields = {
            "description": storable(spec.description)[:LONGEST_DESCRIPTION],
            "parameters": spec.parameters,
            "config": config.model_dump(mode="json"),
        }
        tool = Tool.objects.filter(project=project, name=name).first()
        if tool is None:
            tool = Tool.objects.create(project=project, name=name, kind=ToolKind.MCP, created_by=actor.user, **fields)
            audit(project.pk, actor, "tool.imported", target=tool, after={"name": name, **fields})
            imported.added.append(name)
        elif tool.kind != ToolKind.MCP or tool.config.get("url") != server.url:
            imported.skipped.append((name, "another tool has this name already"))
        elif all(getattr(tool, field_name) == value for field_name, value in fields.items()):
            imported.unchanged.append(name)
        else:
            before = {field_name: getattr(tool, field_name) for field_name in fields}
            for field_name, value in fields.items():
                setattr(tool, field_name, value)
            tool.save()
            audit(project.pk, actor, "tool.changed", target=tool, before=before, after={"name": name, **fields})
            imported.updated.append(name)
    return imported


def usable_name(name: str) -> str:
    """The name as tools are named here: what models cannot call by becomes an underscore; nothing where all is lost."""
    return _UNUSABLE.sub("_", name)[:64].lstrip("0123456789_-")
