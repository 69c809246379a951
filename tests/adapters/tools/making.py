"""Tools, secrets and calls for tests, by the actions that make them in life."""

from typing import Any

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.loops.tool_permission import Ground
from reflection_app.runs.models import Run
from reflection_app.runs.tool_calling import call_tool
from reflection_app.teams.models import Secret, Tool
from reflection_app.teams.tools import SecretInput, ToolInput, create_tool, save_secret
from tests import given

SECRET_VALUE = "s3cret+value/with=%signs"
ANYTHING: dict[str, Any] = {"type": "object"}


def http_tool(project: Project, url: str, *, name: str = "lookup", **sent: Any) -> Tool:
    """A tool that asks `url`; arguments named in the address are texts."""
    config: dict[str, Any] = {"url": url, **{key: sent.pop(key) for key in ("method", "headers") if key in sent}}
    parameters = sent.pop("parameters", {"type": "object", "properties": {"city": {"type": "string"}}})
    tool = ToolInput(name=name, kind="http", config=config, parameters=parameters, **sent)
    return create_tool(project, tool, actor=Actor())


def secret(project: Project, origin: str, *, name: str = "TOKEN", value: str = SECRET_VALUE) -> Secret:
    return save_secret(project, SecretInput(name=name, origin=origin, value=value), actor=Actor())


def run_of(project: Project, **submission: Any) -> Run:
    return given.submitted_run(project, **submission)


def call(run: Run, tool: str, *, key: str = "call-1", timeout_s: float = 5, **arguments: Any) -> ToolResult:
    """What the run's worker would get, once the call is permitted."""
    effect = CallTool(key=key, tool=tool, arguments=arguments, timeout_s=timeout_s, ground=Ground.REVIEWER)
    return call_tool(effect, run_id=run.pk)
