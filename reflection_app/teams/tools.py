"""Registering, changing, removing and trying the tools of a project."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field, JsonValue, SecretStr, ValidationError

from reflection_app.adapters.outgoing import AddressRefused, OutgoingError, check_url, origin_of
from reflection_app.adapters.tools.builtin import LONGEST_PROGRAM_S, SPECS
from reflection_app.adapters.tools.config import (
    BY_KIND,
    SECRET_NAME,
    AnyConfig,
    BuiltinConfig,
    HttpConfig,
    secrets_named,
)
from reflection_app.adapters.tools.secrets import encrypt
from reflection_app.adapters.tools.url_template import example_of, placeholders
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput, NotFound, wrong
from reflection_app.core.models import Project
from reflection_app.loops.storable import is_storable, only_storable
from reflection_app.loops.tool_calls import SchemaUnusable, ToolResult, is_too_deep, violations
from reflection_app.loops.values import Value
from reflection_app.runs.tool_calling import call_registered
from reflection_app.tasks.submission import invalid_input
from reflection_app.teams.models import EffectSetting, Secret, Tool, ToolKind

# What a registration of a tool must hold, whoever hands it in.

LONGEST_SCHEMA = 50_000
LONGEST_DESCRIPTION = 4_000
TOOL_NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"
LONGEST_TIMEOUT_S = 120.0
IMPORT_ADDRESS = "import-mcp"


def schema_problem(schema: dict[str, Any]) -> str:
    """Why arguments cannot be checked against `schema`; nothing where they can."""
    if is_too_deep(schema) or len(json.dumps(schema)) > LONGEST_SCHEMA:
        return f"a schema has at most {LONGEST_SCHEMA:,} characters and 64 levels"
    if not is_storable(schema):
        return "it holds characters or numbers that cannot be stored"
    if schema and schema.get("type") != "object":
        return 'arguments are an object: the schema begins with {"type": "object"}'
    if not isinstance(schema.get("properties", {}), dict):
        return "properties: a JSON object"
    try:
        violations({}, schema=schema)
    except SchemaUnusable as error:
        return f"no JSON Schema that can be used: {error}"
    return ""


def usable_schema(schema: dict[str, Any]) -> dict[str, Any]:
    if problem := schema_problem(schema):
        raise ValueError(problem)
    return schema


def _free(name: str) -> str:
    if name == IMPORT_ADDRESS:
        raise ValueError("this word is the address of the import; choose another")
    return name


EFFECT_MEANS = (
    "how far a call reaches: `read`, `write` (in the project's own space) or `external`; `auto`: by the MCP "
    "annotations or the HTTP method, else external"
)
ALLOWED_MEANS = "whether calls that a model proposes are made without asking a reviewer"


class ToolInput(Value):
    """A tool to register. `config` defines how to call it, by kind.

    http: `{method, url, headers}`; mcp: `{url, tool_name, headers}`; builtin: `{name}`.
    """

    name: Annotated[str, AfterValidator(_free)] = Field(
        pattern=TOOL_NAME, description="letters, digits, _ and -, starting with a letter"
    )
    kind: Literal["http", "mcp", "builtin"]
    description: Annotated[str, Field(max_length=LONGEST_DESCRIPTION), AfterValidator(only_storable)] = ""
    parameters: Annotated[dict[str, JsonValue], AfterValidator(usable_schema)] = Field(
        default_factory=dict, description="JSON Schema of the arguments"
    )
    config: dict[str, JsonValue]
    timeout_s: float = Field(default=10.0, gt=0, le=LONGEST_TIMEOUT_S, allow_inf_nan=False)
    is_enabled: bool = True
    effect: EffectSetting = Field(default=EffectSetting.AUTO, description=EFFECT_MEANS)
    is_allowed: bool = Field(default=False, description=ALLOWED_MEANS)


def read_config(data: ToolInput) -> AnyConfig:
    """The config of the tool's kind. Raises InvalidInput, with fields below `config`."""
    try:
        return BY_KIND[data.kind].model_validate(data.config)
    except ValidationError as error:
        refusal = invalid_input(error, what=_("tool"))
        raise InvalidInput(
            str(refusal), errors=[one | {"field": f"config.{one['field']}".rstrip(".")} for one in refusal.errors]
        ) from None


def check_config(project: Project, config: AnyConfig, *, parameters: dict[str, Any]) -> None:
    """Raises InvalidInput where calls could not work. Asks the name server: call it outside of transactions."""
    if isinstance(config, BuiltinConfig):
        return
    url = config.url
    if isinstance(config, HttpConfig):
        unknown = [name for name in placeholders(url) if name not in parameters.get("properties", {})]
        if unknown:
            raise refused("config.url", f"{{{unknown[0]}}} is no argument: the schema has no property of this name")
        url = example_of(url)
    check_address(url, field="config.url")
    check_secrets(project, config.headers, url=url, field="config.headers")


def check_address(url: str, *, field: str) -> None:
    """Raises InvalidInput where requests cannot be sent to the address."""
    try:
        check_url(url)
    except OutgoingError as error:
        raise refused(field, str(error)) from None


def check_secrets(project: Project, headers: dict[str, str], *, url: str, field: str) -> None:
    """Raises InvalidInput where a secret that the headers name is not there, or not for this origin."""
    named = secrets_named(headers.values())
    origins = dict(Secret.objects.filter(project=project, name__in=named).values_list("name", "origin"))
    for name in sorted(named):
        if name not in origins:
            raise refused(field, f"there is no secret named {name}; add it first")
        if origins[name] != origin_of(url):
            raise refused(field, f"the secret {name} is for {origins[name]}, and the tool calls {origin_of(url)}")


def refused(field: str, message: str) -> InvalidInput:
    return wrong(field, message, said=_("The tool was not saved."))


LONGEST_TRY_S = 10.0
FIELDS = ("name", "kind", "description", "parameters", "config", "timeout_s", "is_enabled", "effect", "is_allowed")
TAKEN = "there is a tool of this name already"


class ToolChange(Value):
    """Changes to a tool. Omitted fields stay unchanged."""

    name: str | None = None
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None
    config: dict[str, JsonValue] | None = None
    timeout_s: float | None = None
    is_enabled: bool | None = Field(default=None, description="whether runs may call the tool")
    effect: EffectSetting | None = Field(default=None, description=EFFECT_MEANS)
    is_allowed: bool | None = Field(default=None, description=ALLOWED_MEANS)


def create_tool(project: Project, data: ToolInput, *, actor: Actor) -> Tool:
    """The new tool. Raises InvalidInput."""
    fields = _checked(project, data)
    try:
        with transaction.atomic():
            tool = Tool.objects.create(project=project, created_by=actor.user, **fields)
            audit(project.pk, actor, "tool.created", target=tool, after=fields)
    except IntegrityError:
        raise refused("name", TAKEN) from None
    return tool


def change_tool(tool: Tool, change: ToolChange, *, actor: Actor) -> Tool:
    """The changed tool. Raises InvalidInput, or NotFound where it was deleted meanwhile.

    Runs under way call it as it is now.
    """
    wanted = change.model_dump(exclude_none=True)
    # Switching off and asking first must work even if the tool's server or secrets are gone.
    if wanted.keys() <= {"is_enabled", "effect", "is_allowed"} and not wanted.get("is_enabled"):
        return _write(tool, wanted, actor=actor)
    try:
        given = ToolInput.model_validate({name: getattr(tool, name) for name in FIELDS} | wanted)
    except ValidationError as error:
        raise invalid_input(error, what=_("tool")) from None
    return _write(tool, _checked(tool.project, given), actor=actor)


def _checked(project: Project, data: ToolInput) -> dict[str, Any]:
    config = read_config(data)
    fields = data.model_dump(mode="json") | {"config": config.model_dump(mode="json")}
    if isinstance(config, BuiltinConfig):
        # Its arguments are what our code reads; another schema would only mislead.
        fields["parameters"] = SPECS[config.name].parameters
    check_config(project, config, parameters=fields["parameters"])
    return fields


def _write(tool: Tool, fields: Mapping[str, Any], *, actor: Actor) -> Tool:
    try:
        with transaction.atomic():
            locked = Tool.objects.select_for_update(of=("self",)).filter(pk=tool.pk).first()
            if locked is None:
                raise NotFound(_("This tool was deleted."))
            before = {name: getattr(locked, name) for name in fields}
            for name, value in fields.items():
                setattr(locked, name, value)
            changed = [name for name in fields if before[name] != fields[name]]
            if changed:
                locked.save()
                told = {"name": locked.name} | {name: fields[name] for name in changed}
                old = {name: before[name] for name in changed}
                audit(locked.project_id, actor, "tool.changed", target=locked, before=old, after=told)
    except IntegrityError:
        raise refused("name", TAKEN) from None
    return locked


@transaction.atomic
def delete_tool(tool: Tool, *, actor: Actor) -> None:
    """Removes the tool; runs that still call it are told that it is gone. Raises NotFound the second time."""
    locked = Tool.objects.select_for_update(of=("self",)).filter(pk=tool.pk).first()
    if locked is None:
        raise NotFound(_("Tool not found."))
    before = {name: getattr(locked, name) for name in FIELDS}
    audit(locked.project_id, actor, "tool.deleted", target=locked, before=before)
    locked.delete()


@transaction.atomic
def add_builtin_tools(project: Project, *, actor: Actor) -> list[Tool]:
    """The built-in tools that the project did not have yet, registered now."""
    there = set(project.tools.values_list("name", flat=True))
    added = []
    for name, spec in SPECS.items():
        if name in there:
            continue
        tool = Tool.objects.create(
            project=project,
            name=name,
            description=spec.description,
            parameters=spec.parameters,
            kind=ToolKind.BUILTIN,
            config={"name": name},
            timeout_s=LONGEST_PROGRAM_S if name == "python" else 10.0,
            created_by=actor.user,
        )
        audit(project.pk, actor, "tool.created", target=tool, after={"name": name, "kind": tool.kind})
        added.append(tool)
    return added


def try_tool(tool: Tool, arguments: dict[str, Any], *, actor: Actor) -> ToolResult:
    """What one real call comes to, within LONGEST_TRY_S, also of a tool that is not enabled."""
    with transaction.atomic():
        audit(tool.project_id, actor, "tool.tried", target=tool, after={"name": tool.name})
    return call_registered(tool, arguments, key=f"try/{uuid4()}", most_s=LONGEST_TRY_S)


# Secrets of tools: kept, replaced, deleted. A value goes in and is never told again.

# Shorter ones could not be found in what servers echo without spoiling ordinary words.
_USABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{6,3998})[\x21-\x7e]")


class SecretInput(Value):
    """A secret, and the one origin (scheme, host and port) that it may be sent to."""

    name: str = Field(description="letters, digits, _ and -; headers refer to it as {secret:NAME}")
    origin: str = Field(description="address of the server, such as https://api.example.com")
    value: SecretStr = Field(description="never returned")


def save_secret(project: Project, data: SecretInput, *, actor: Actor) -> Secret:
    """The secret; one of the same name is replaced, value and origin.

    Raises InvalidInput, whose texts never hold the value.
    """
    errors = []
    origin = ""
    if not SECRET_NAME.fullmatch(data.name):
        errors.append({"field": "name", "message": _("letters, digits, _ and -, starting with a letter; at most 64")})
    try:
        origin = origin_of(data.origin)
    except AddressRefused as error:
        errors.append({"field": "origin", "message": str(error)})
    if not _USABLE.fullmatch(data.value.get_secret_value()):
        errors.append(
            {"field": "value", "message": _("8 to 4000 printable ASCII characters, no leading or trailing space")}
        )
    if errors:
        raise InvalidInput(_("The secret was not saved."), errors=errors)
    fields = {"origin": origin, "ciphertext": encrypt(data.value.get_secret_value(), origin=origin)}
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        before = Secret.objects.filter(project=project, name=data.name).first()
        secret, is_new = Secret.objects.update_or_create(
            project=project, name=data.name, defaults=fields, create_defaults={**fields, "created_by": actor.user}
        )
        audit(
            project.pk,
            actor,
            "secret.created" if is_new else "secret.replaced",
            target=secret,
            before={"origin": before.origin} if before else {},
            after={"name": secret.name, "origin": origin},
        )
    return secret


@transaction.atomic
def delete_secret(secret: Secret, *, actor: Actor) -> None:
    """Deletes the secret; tools that name it fail from then on and say so. Raises NotFound the second time."""
    locked = Secret.objects.select_for_update(of=("self",)).filter(pk=secret.pk).first()
    if locked is None:
        raise NotFound(_("Secret not found."))
    told = {"name": locked.name, "origin": locked.origin}
    audit(locked.project_id, actor, "secret.deleted", target=locked, before=told)
    locked.delete()


def tools_with(secret: Secret) -> list[Tool]:
    """The project's tools whose headers name the secret."""
    tools = Tool.objects.filter(project_id=secret.project_id)
    return [tool for tool in tools if secret.name in secrets_named(dict(tool.config.get("headers", {})).values())]
