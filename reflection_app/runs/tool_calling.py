"""One call of a tool: found by name in the run's project, arguments checked, then called the way it was registered."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import F
from pydantic import ValidationError

from reflection_app.adapters.outgoing import AddressRefused, OutgoingError, TimedOut, TooLarge, Unreachable
from reflection_app.adapters.tools.builtin import READING, SPECS, Files, call_builtin
from reflection_app.adapters.tools.config import (
    BY_KIND,
    AnyConfig,
    BuiltinConfig,
    HttpConfig,
    McpConfig,
    failed,
    secrets_named,
)
from reflection_app.adapters.tools.errors import Misconfigured, UnusableArguments
from reflection_app.adapters.tools.http import call_http
from reflection_app.adapters.tools.secrets import Secrets, load_secrets
from reflection_app.attachments.produced import keep_tool_files
from reflection_app.core.connections import released
from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.tool_calls import SchemaUnusable, ToolFailure, ToolResult, violations
from reflection_app.loops.tool_failures import reports_failure
from reflection_app.runs.models import Run
from reflection_app.tasks.models import TaskFile
from reflection_app.teams.models import Tool

LONGEST_KEY = 200
FAILURES: tuple[tuple[type[Exception], ToolFailure], ...] = (
    (AddressRefused, ToolFailure.ADDRESS_REFUSED),
    (TimedOut, ToolFailure.TIMED_OUT),
    (TooLarge, ToolFailure.TOO_LARGE),
    (Unreachable, ToolFailure.UNREACHABLE),
    (UnusableArguments, ToolFailure.INVALID_ARGUMENTS),
    (Misconfigured, ToolFailure.MISCONFIGURED),
)


@dataclass(frozen=True)
class Prepared:
    """All that a call needs of the database."""

    config: AnyConfig
    secrets: Secrets
    parameters: dict[str, Any]
    timeout_s: float
    files: Files = field(default_factory=dict)


def call_tool(effect: CallTool, *, run_id: UUID) -> ToolResult:
    """Make the call and return its result; every failure of the tool is one. No database connection is held meanwhile.

    Raises EffectFailed for a call without a ground, whichever loop asks for it.
    """
    run = Run.objects.only("project_id", "task_id").annotate(rules=F("spec__tool_rules")).get(pk=run_id)
    if run.rules is not None and effect.ground is None:
        raise EffectFailed(f"The call of {effect.tool} has no permission; it was not made.")
    tool = Tool.objects.filter(project_id=run.project_id, name=effect.tool, is_enabled=True).first()
    if tool is None:
        return failed(ToolFailure.UNKNOWN_TOOL, f"There is no tool named {effect.tool!r} any more.")
    key = idempotency_key(run_id, effect.repeats or effect.key)
    result = call_registered(tool, effect.arguments, key=key, task_id=run.task_id, most_s=effect.timeout_s)
    return keep_tool_files(result, project_id=run.project_id)


def call_on_files(name: str, arguments: Mapping[str, Any], *, files: Files, deadline_s: float) -> ToolResult:
    """What a built-in tool that reads came to on these files and no others, registered or not."""
    spec = SPECS.get(name)
    if spec is None or name not in READING:
        return failed(ToolFailure.UNKNOWN_TOOL, f"There is no tool named {name!r} here.")
    config = BuiltinConfig.model_validate({"name": name})
    prepared = Prepared(config, Secrets({}), spec.parameters, deadline_s, files)
    with released():
        return _call(prepared, arguments, key="", deadline_s=deadline_s)


def call_registered(
    tool: Tool, arguments: Mapping[str, Any], *, key: str, task_id: UUID | None = None, most_s: float
) -> ToolResult:
    """What the tool came to within `most_s` and its own time, the shorter of them."""
    try:
        prepared = prepare(tool, task_id=task_id)
    except Misconfigured as error:
        return failed(ToolFailure.MISCONFIGURED, str(error))
    with released():
        result = _call(prepared, arguments, key=key, deadline_s=min(most_s, prepared.timeout_s))
    # A built-in tool knows if it failed, and the files that it reads may be about errors.
    if result.ok and not isinstance(prepared.config, BuiltinConfig) and reports_failure(result.content):
        why = result.content or "The tool answered with an error."
        result = result.model_copy(update={"ok": False, "failure": ToolFailure.TOOL_ERROR, "error": why})
    redact = prepared.secrets.redact
    return result.model_copy(update={"content": redact(result.content), "error": redact(result.error)})


def prepare(tool: Tool, *, task_id: UUID | None) -> Prepared:
    """The tool with its secrets and the task's files. Raises Misconfigured."""
    try:
        config = BY_KIND[tool.kind].model_validate(tool.config)
    except (KeyError, ValidationError):
        raise Misconfigured("The tool's registration cannot be used; save it again on the page Tools.") from None
    headers = {} if isinstance(config, BuiltinConfig) else config.headers
    named = secrets_named(headers.values())
    secrets = load_secrets(tool.project_id, named) if named else Secrets({})
    files = {}
    if isinstance(config, BuiltinConfig) and config.name != "python" and task_id is not None:
        files = dict(TaskFile.objects.filter(task_id=task_id).values_list("path", "content"))
    return Prepared(config, secrets, tool.parameters, tool.timeout_s, files)


def _call(prepared: Prepared, arguments: Mapping[str, Any], *, key: str, deadline_s: float) -> ToolResult:
    try:
        try:
            found = violations(dict(arguments), schema=prepared.parameters)
        except SchemaUnusable as error:
            raise Misconfigured(f"The schema of the tool's arguments cannot be used: {error}") from None
        if found:
            raise UnusableArguments("; ".join(f"{issue.path}: {issue.description}" for issue in found))
        secrets = prepared.secrets
        match prepared.config:
            case HttpConfig() as config:
                return call_http(config, arguments, secrets=secrets, idempotency_key=key, deadline_s=deadline_s)
            case McpConfig() as config:
                # The SDK takes its time to load, and few projects use it.
                from reflection_app.adapters.tools.mcp import call_mcp

                return call_mcp(config, arguments, secrets=secrets, idempotency_key=key, deadline_s=deadline_s)
            case BuiltinConfig(name=name):
                return call_builtin(name, arguments, files=prepared.files, deadline_s=deadline_s)
    except tuple(kind for kind, _ in FAILURES) as error:
        return failed(next(failure for kind, failure in FAILURES if isinstance(error, kind)), str(error))
    except OutgoingError as error:
        return failed(ToolFailure.UNREACHABLE, str(error))


def idempotency_key(run_id: UUID, step_key: str) -> str:
    """The same for the same step of the same run, whenever it is performed; short and plain enough for a header."""
    key = f"{run_id}/{step_key}"
    if len(key) <= LONGEST_KEY and key.isascii() and key.isprintable():
        return key
    return f"{run_id}/{hashlib.sha256(step_key.encode('utf-8', 'surrogatepass')).hexdigest()}"
