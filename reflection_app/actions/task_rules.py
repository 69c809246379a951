"""What has to come with a task for its mode to make sense, checked before anything is stored."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reflection_app.actions.errors import InvalidInput
from reflection_app.loops.json_schema import SchemaRefused, check_schema
from reflection_app.loops.task_spec import Execution, Mode, TaskKind

if TYPE_CHECKING:
    from reflection_app.actions.task_submission import TaskSubmission

# Each decides in a way of its own whether an attempt is right; of two, one would be ignored.
SIGNALS = ("tests", "output_schema", "tool_call", "tools")

NEEDS_A_SIGNAL = (
    "external_loop needs something that can check the answer: tests, an output_schema, a tool_call, tools, or the kind "
    "code_generation, for which a model writes tests"
)


def check_it_can_run(submission: "TaskSubmission") -> None:
    """Raises InvalidInput, which names each field that keeps the task from being run in its mode."""
    errors = [{"field": field, "message": message} for field, message in _problems(submission)]
    if errors:
        raise InvalidInput("The task was not accepted; nothing was stored.", errors=errors)


def _problems(submission: "TaskSubmission") -> Iterator[tuple[str, str]]:
    if submission.output_schema is not None:
        try:
            check_schema(submission.output_schema)
        except SchemaRefused as error:
            yield "output_schema", str(error)
    signals = _signals(submission)
    if len(signals) > 1:
        yield signals[1], f"cannot be given together with {signals[0]}: only one of them can decide"
    yield from _problems_of_mode(submission, signals)


def _signals(submission: "TaskSubmission") -> list[str]:
    """The real signals that came with the task. A tool call may name further tools."""
    given = [name for name in SIGNALS if getattr(submission, name)]
    if submission.output_schema is not None and "output_schema" not in given:
        given.append("output_schema")
    return [name for name in given if name != "tools" or "tool_call" not in given]


def _problems_of_mode(submission: "TaskSubmission", signals: list[str]) -> Iterator[tuple[str, str]]:
    match submission.mode:
        case Mode.INLINE_REFLECTION:
            yield "mode", "inline_reflection is for sessions of an agent: post a transcript instead"
        case Mode.EXTERNAL_LOOP:
            if not signals and submission.kind != TaskKind.CODE_GENERATION:
                yield "mode", NEEDS_A_SIGNAL
        case Mode.PLANNING:
            if not submission.tools:
                yield "tools", "planning needs the tools that the plan may use"
            if submission.execution is Execution.EXTERNAL:
                yield "execution", "planning calls the tools itself; an agent hands in its calls by external_loop"
            yield from _unused(submission, [name for name in signals if name != "tools"])
        case Mode.ACTOR_CRITIC | Mode.REFLEXION:
            yield from _unused(submission, signals)


def _unused(submission: "TaskSubmission", signals: list[str]) -> Iterator[tuple[str, str]]:
    mode = submission.mode.value
    yield from ((name, f"{mode} does not use it; choose adaptive or leave it out") for name in signals)
