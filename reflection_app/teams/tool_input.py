"""What a registration of a tool must hold, whoever hands it in."""

import json
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field, JsonValue, ValidationError

from reflection_app.adapters.outgoing import OutgoingError, check_url, origin_of
from reflection_app.adapters.tools.config import BY_KIND, AnyConfig, BuiltinConfig, HttpConfig
from reflection_app.adapters.tools.headers import secrets_named
from reflection_app.adapters.tools.url_template import example_of, placeholders
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_arguments import SchemaUnusable, is_too_deep, violations
from reflection_app.loops.values import Value
from reflection_app.tasks.submission import invalid_input
from reflection_app.teams.models.tool import Secret

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


def _usable_schema(schema: dict[str, Any]) -> dict[str, Any]:
    if problem := schema_problem(schema):
        raise ValueError(problem)
    return schema


def _free(name: str) -> str:
    if name == IMPORT_ADDRESS:
        raise ValueError("this word is the address of the import; choose another")
    return name


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("it holds characters that cannot be stored")
    return text


class ToolInput(Value):
    """A tool as it is registered. `config` says how it is called, by kind.

    http: `{method, url, headers}`; mcp: `{url, tool_name, headers}`; builtin: `{name}`.
    """

    name: Annotated[str, AfterValidator(_free)] = Field(
        pattern=TOOL_NAME, description="letters, digits, _ and -, beginning with a letter"
    )
    kind: Literal["http", "mcp", "builtin"]
    description: Annotated[str, Field(max_length=LONGEST_DESCRIPTION), AfterValidator(_storable)] = ""
    parameters: Annotated[dict[str, JsonValue], AfterValidator(_usable_schema)] = Field(
        default_factory=dict, description="JSON Schema of the arguments"
    )
    config: dict[str, JsonValue]
    timeout_s: float = Field(default=10.0, gt=0, le=LONGEST_TIMEOUT_S, allow_inf_nan=False)
    is_enabled: bool = True


def read_config(given: ToolInput) -> AnyConfig:
    """The config of the tool's kind. Raises InvalidInput, with fields below `config`."""
    try:
        return BY_KIND[given.kind].model_validate(given.config)
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
    return InvalidInput(_("The tool was not saved."), errors=[{"field": field, "message": message}])
