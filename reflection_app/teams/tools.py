"""Registering, changing, removing and trying the tools of a project."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from pydantic import Field, JsonValue, ValidationError

from reflection_app.adapters.tools.builtin import LONGEST_PROGRAM_S, SPECS
from reflection_app.adapters.tools.calling import call_registered
from reflection_app.adapters.tools.config import BuiltinConfig
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.loops.values import Value
from reflection_app.tasks.submission import invalid_input
from reflection_app.teams.models.tool import Tool, ToolKind
from reflection_app.teams.tool_input import ToolInput, check_config, read_config, refused

LONGEST_TRY_S = 10.0
FIELDS = ("name", "kind", "description", "parameters", "config", "timeout_s", "is_enabled")
TAKEN = "there is a tool of this name already"


class ToolChange(Value):
    """What is to be changed of a tool; what is left out stays."""

    name: str | None = None
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None
    config: dict[str, JsonValue] | None = None
    timeout_s: float | None = None
    is_enabled: bool | None = Field(default=None, description="a tool that is not enabled is called by no run")


def create_tool(project: Project, given: ToolInput, *, actor: Actor) -> Tool:
    """The new tool. Raises InvalidInput."""
    fields = _checked(project, given)
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
    # Switching off must work whatever state the tool's server and secrets are in.
    if wanted.keys() <= {"is_enabled"} and not wanted.get("is_enabled"):
        return _write(tool, wanted, actor=actor)
    try:
        given = ToolInput.model_validate({name: getattr(tool, name) for name in FIELDS} | wanted)
    except ValidationError as error:
        raise invalid_input(error, what=_("tool")) from None
    return _write(tool, _checked(tool.project, given), actor=actor)


def _checked(project: Project, given: ToolInput) -> dict[str, Any]:
    config = read_config(given)
    fields = given.model_dump(mode="json") | {"config": config.model_dump(mode="json")}
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
                raise NotFound(_("This tool was deleted meanwhile."))
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
        raise NotFound(_("There is no such tool."))
    before = {name: getattr(locked, name) for name in FIELDS}
    audit(locked.project_id, actor, "tool.deleted", target=locked, before=before)
    locked.delete()


@transaction.atomic
def add_builtin_tools(project: Project, *, actor: Actor) -> list[Tool]:
    """The built-in tools that the project did not have yet, registered now."""
    there = set(project.tools.values_list("name", flat=True))
    return [_add_builtin(project, name, actor=actor) for name in SPECS if name not in there]


def _add_builtin(project: Project, name: str, *, actor: Actor) -> Tool:
    spec = SPECS[name]
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
    return tool


def try_tool(tool: Tool, arguments: dict[str, Any], *, actor: Actor) -> ToolResult:
    """What one real call comes to, within LONGEST_TRY_S, also of a tool that is not enabled."""
    with transaction.atomic():
        audit(tool.project_id, actor, "tool.tried", target=tool, after={"name": tool.name})
    return call_registered(tool, arguments, key=f"try/{uuid4()}", most_s=LONGEST_TRY_S)
