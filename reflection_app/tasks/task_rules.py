"""What has to come with a task for its mode to make sense, checked before anything is stored."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from reflection_app.core.errors import InvalidInput
from reflection_app.loops.json_schema import SchemaRefused, check_schema
from reflection_app.loops.scripts.checking import check_script
from reflection_app.loops.scripts.syntax import ScriptRefused
from reflection_app.loops.task_spec import Execution, Mode, TaskKind
from reflection_app.tasks.requirement_rules import problems_of

if TYPE_CHECKING:
    from reflection_app.tasks.task_submission import TaskSubmission

# Each decides in a way of its own whether an attempt is right; of two, one would be ignored.
SIGNALS = ("tests", "output_schema", "tool_call", "tools")
# What is handed in by a call of its own, and which.
OTHER_CALLS = {
    Mode.INLINE_REFLECTION: "is for sessions of an agent: post a transcript instead (POST /transcripts)",
    Mode.TOOL_DIAGNOSIS: "is for a tool that failed: post a tool failure instead (POST /tool-failures)",
    Mode.ERROR_REFLECTION: "is what the desk does after a run or a session: ask for it by `reflection`",
    Mode.MEMORY_REFLECTION: "is what the desk does after a run or a session: ask for it by `reflection`",
    Mode.MERGE_SUGGESTION: "is what the desk does about two entries of the notebook: ask for it there",
    Mode.COMPLETENESS_CHECK: (
        "is for a task that an agent has worked on: post a completeness check instead (POST /completeness-checks)"
    ),
}
# What a loop would pass over in silence.
UNUSED = {
    Mode.REFLECTION_PROTOCOL: ("tests", "output_schema", "tool_call"),
    Mode.EXTERNAL_LOOP: ("requirements",),
    Mode.PLANNING: ("tests", "output_schema", "tool_call", "requirements"),
    Mode.ACTOR_CRITIC: (*SIGNALS, "requirements"),
    Mode.REFLEXION: (*SIGNALS, "requirements"),
}

NEEDS_A_SIGNAL = (
    "external_loop needs something that can check the answer: tests, an output_schema, a tool_call, tools, or the kind "
    "code_generation, for which a model writes tests"
)


def check_it_can_run(submission: "TaskSubmission") -> None:
    """Raises InvalidInput, which names each field that keeps the task from being run in its mode."""
    errors = [{"field": field, "message": message} for field, message in _problems(submission)]
    if errors:
        raise InvalidInput(_("The task was not accepted; nothing was stored."), errors=errors)


def _problems(submission: "TaskSubmission") -> Iterator[tuple[str, str]]:
    if submission.tests is not None and submission.tests.script is not None:
        try:
            check_script(submission.tests.script, entry_point=submission.tests.entry_point)
        except ScriptRefused as error:
            yield "tests.script", str(error)
    if submission.output_schema is not None:
        try:
            check_schema(submission.output_schema)
        except SchemaRefused as error:
            yield "output_schema", str(error)
    if submission.requirements is not None:
        yield from problems_of(submission.requirements)
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
    mode = submission.mode
    if mode in OTHER_CALLS:
        yield "mode", f"{mode.value} {OTHER_CALLS[mode]}"
    if mode is Mode.EXTERNAL_LOOP and not signals and submission.kind != TaskKind.CODE_GENERATION:
        yield "mode", NEEDS_A_SIGNAL
    if mode is Mode.PLANNING and not submission.tools:
        yield "tools", "planning needs the tools that the plan may use"
    if mode is Mode.PLANNING and submission.execution is Execution.EXTERNAL:
        yield "execution", "planning calls the tools itself; an agent hands in its calls by external_loop"
    given = [*signals, "requirements"] if submission.requirements is not None else signals
    for name in given:
        if name in UNUSED.get(mode, ()):
            yield name, f"{mode.value} does not use it; choose adaptive or leave it out"
    others = [name for name in signals if name != "tools"]
    if mode is Mode.ADAPTIVE and others and "requirements" in given:
        yield "requirements", f"cannot be given together with {others[0]}: only one of them can decide"
