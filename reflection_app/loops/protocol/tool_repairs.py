"""A repair step that a tool does: called as a model finds, and again as its diagnosis says."""

from dataclasses import dataclass

from reflection_app.loops.diagnosis.acting import call_with_diagnosis
from reflection_app.loops.progress import Progress
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_calls import ToolSpec


@dataclass(frozen=True)
class ToolRepair:
    """What the tool said, or why there is nothing that it said."""

    output: str = ""
    error: str = ""


async def repair_by_tool(spec: TaskSpec, run: Progress, *, tool: str, task: str, base: str, attempt: int) -> ToolRepair:
    """What came of calling one of the task's tools for `task`. Raises EffectFailed where no call makes sense."""
    tools = tuple(one for one in spec.tools if one.name == tool)
    if not tools:
        return ToolRepair(error=f"The task has no tool named {tool!r}.")
    return await call_for(run, tools=tools, task=task, base=base, attempt=attempt, fallbacks=spec.tools)


async def call_for(
    run: Progress,
    *,
    tools: tuple[ToolSpec, ...],
    task: str,
    base: str,
    attempt: int,
    fallbacks: tuple[ToolSpec, ...] = (),
) -> ToolRepair:
    tries = await call_with_diagnosis(run, task=task, tools=tools, base=base, attempt=attempt, fallbacks=fallbacks)
    last = tries[-1]
    return ToolRepair(output=last.result.content) if last.result.ok else ToolRepair(error=last.issues[0].description)
