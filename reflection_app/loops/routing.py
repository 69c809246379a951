"""Which loop a task gets: a real signal first, then a critic, and the model's own judgement last."""

from collections.abc import Container

from reflection_app.loops.plan_effects import Route
from reflection_app.loops.task_spec import Execution, Mode, TaskKind, TaskSpec


def can_check(spec: TaskSpec, kind: TaskKind | None) -> bool:
    """Whether the external loop can check attempts at this task: code without tests is given tests by a model."""
    brought = spec.tests is not None or spec.output_schema is not None or spec.tool_call is not None
    return brought or kind is TaskKind.CODE_GENERATION


def route_by_facts(spec: TaskSpec, *, built: Container[Mode]) -> Route | None:
    """The loop of a task by what came with it, or None where a model has to say what the task is about."""
    kind = kind_of(spec)
    said = kind.value if kind else spec.kind
    hands_in_calls = bool(spec.tools) and spec.execution is Execution.EXTERNAL
    can_plan = bool(spec.tools) and Mode.PLANNING in built
    brought = (
        (spec.tests is not None, Mode.EXTERNAL_LOOP, "Tests came with the task."),
        (spec.output_schema is not None, Mode.EXTERNAL_LOOP, "A schema of the answer came with the task."),
        (spec.requirements is not None, Mode.REFLECTION_PROTOCOL, "Minimum requirements came with the task."),
        (spec.tool_call is not None, Mode.EXTERNAL_LOOP, "A call of a tool came with the task."),
        (hands_in_calls, Mode.EXTERNAL_LOOP, "Tools came with the task; its agent hands in calls."),
        (can_plan, Mode.PLANNING, "Tools came with the task."),
    )
    for is_there, mode, why in brought:
        if is_there:
            return Route(mode=mode, task_kind=said, why=why)
    return route_by_kind(spec, kind) if kind else None


def route_by_kind(spec: TaskSpec, kind: TaskKind, *, why: str = "") -> Route:
    """The loop of a task of this kind; `why` is what a classifier said of it."""
    mode, reason = _mode_and_reason(spec, kind)
    return Route(mode=mode, task_kind=kind.value, why=" ".join(text for text in (why.strip(), reason) if text))


def kind_of(spec: TaskSpec) -> TaskKind | None:
    """The kind that the task was handed in with, where it is one that decides something."""
    return TaskKind(spec.kind) if spec.kind in TaskKind else None


def _mode_and_reason(spec: TaskSpec, kind: TaskKind) -> tuple[Mode, str]:
    if can_check(spec, kind):
        return Mode.EXTERNAL_LOOP, "Running it shows whether it works."
    if kind is TaskKind.REASONING:
        return Mode.REFLEXION, "Reasoning is checked by thinking it through again."
    if not spec.has_critic:
        return Mode.REFLEXION, "Nothing can check it and there is no critic, so the model judges itself."
    if kind is TaskKind.CREATIVE_WRITING:
        return Mode.ACTOR_CRITIC, "A text is best judged by a critic."
    return Mode.ACTOR_CRITIC, "Nothing can check it by running it, so a critic judges."
