"""Try a tool call: check it, make it and, if it fails, ask the model for another one.

The diagnosis of a failed call (diagnosis/acting.py) decides what follows, and is shown to the model.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import Field, JsonValue, field_validator

from reflection_app.loops.answer_reading import Lenient
from reflection_app.loops.answer_schemas import TEXT, open_object
from reflection_app.loops.answers import ask
from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.completeness.file_checks import required_in_words
from reflection_app.loops.diagnosis.diagnoses import Diagnosis, Source
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.framing import framed
from reflection_app.loops.permission_asking import permit
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.storable import is_storable
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_calls import (
    DEEPEST,
    SchemaUnusable,
    ToolCall,
    ToolFailure,
    ToolResult,
    ToolSpec,
    is_too_deep,
    violations,
)
from reflection_app.loops.tool_permission import Ground
from reflection_app.loops.values import Message, assistant, system, user
from reflection_app.loops.verdicts import Issue, IssueCategory, Severity

MOST_RETRIES = 2
TEMPERATURE = 0.2
LONGEST_DESCRIPTION = 8_000
LONGEST_ARGUMENTS = 4_000
LONGEST_FAILURE = 2_000
LONGEST_QUOTE = 1_000
MOST_FILES_NAMED = 100


class NothingNew(EffectFailed):
    """The model proposes only calls that have already failed."""


class CallAnswer(Lenient):
    """A call proposed by a model or an external agent. With a single tool, its name may be omitted."""

    tool: str = Field(default="", max_length=64)
    arguments: dict[str, JsonValue]

    @field_validator("arguments", mode="before")
    @classmethod
    def check_it_can_be_kept(cls, value: object) -> object:
        if is_too_deep(value):
            raise ValueError(f"must not be nested more than {DEEPEST} levels deep")
        if not is_storable(value):
            raise ValueError("must hold no infinite number and no NUL character")
        return value

    def call(self, tools: Sequence[ToolSpec]) -> ToolCall:
        only = tools[0].name if len(tools) == 1 else ""
        return ToolCall(tool=self.tool.strip() or only or "(none)", arguments=self.arguments)


ANSWER_SCHEMA = open_object(tool=TEXT, arguments={"type": "object"})


@dataclass(frozen=True)
class Try:
    """A proposed call and its result. `issues` is empty if it succeeded.

    A failed try that was closed has a `diagnosis`. `ground` is the reason why the call was permitted.
    """

    call: ToolCall
    result: ToolResult
    issues: tuple[Issue, ...] = ()
    was_called: bool = True
    diagnosis: Diagnosis | None = None
    ground: Ground | None = None

    @property
    def known_diagnosis(self) -> Diagnosis:
        """The diagnosis of a failed try that was closed."""
        assert self.diagnosis is not None, "a failed try is closed with its diagnosis"
        return self.diagnosis

    @property
    def is_unheard(self) -> bool:
        """True if no reply came, so it is unknown whether the call was executed."""
        return self.was_called and self.result.failure in {ToolFailure.TIMED_OUT, ToolFailure.UNREACHABLE}


async def try_call(
    run: Progress,
    call: ToolCall,
    *,
    tools: Sequence[ToolSpec],
    key: str,
    attempt: int,
    repeats: str = "",
    ground: Ground | None = None,
    purpose: str = "",
) -> Try:
    """Make `call` and return the try. It must name one of `tools`, fit its schema and be permitted.

    `repeats` is the key of this call's earlier step, if that one may have been executed without a reply. `ground` is
    that of an earlier failed try of this call, whose permission is still valid. `purpose` is shown to the reviewer.
    This is the only place in the loops that calls a project's tool.

    Raise LimitReached or EffectTimedOut if no further call is possible, and NotPermitted if it must not be made.
    """
    tool = next((tool for tool in tools if tool.name == call.tool), None)
    if tool is None:
        there_are = ", ".join(tool.name for tool in tools)
        problem = f"There is no tool named {call.tool!r} here. There are: {there_are}."
        return refused_call(call, problem, failure=ToolFailure.UNKNOWN_TOOL)
    try:
        wrong = violations(call.arguments, schema=tool.parameters)
    except SchemaUnusable as error:
        problem = f"The tool's own schema cannot be used: {error}"
        return refused_call(call, problem, failure=ToolFailure.MISCONFIGURED)
    if wrong:
        problem = "; ".join(f"{issue.path}: {issue.description}" for issue in wrong)
        refusal = f"The arguments do not fit the tool's schema. {problem}"
        result = ToolResult(ok=False, failure=ToolFailure.INVALID_ARGUMENTS, error=refusal)
        return Try(call, result, wrong, was_called=False)
    if ground is None:
        ground = await permit(run, call, tool=tool, key=key, attempt=attempt, purpose=purpose)
    run.check_limits()
    effect = CallTool(
        key=key,
        tool=call.tool,
        arguments=call.arguments,
        timeout_s=run.time_left_s(),
        attempt=attempt,
        repeats=repeats,
        ground=ground,
    )
    result = await run.perform(effect)
    run.has_produced_files = run.has_produced_files or bool(result.files)
    if not result.ok:
        tried = replace(_failed(call, result), ground=ground)
        if tried.is_unheard:
            run.note_call(call)
        return tried
    run.note_call(call)
    for text in (result.content, *(file.name for file in result.files)):
        run.note_result(text)
    return Try(call, result, ground=ground)


async def ask_for_call(
    run: Progress, *, key: str, task: str, tools: Sequence[ToolSpec], tries: Sequence[Try]
) -> ToolCall:
    """Return the next call that the model proposes. Raise NothingNew if it only repeats failed calls."""
    messages = call_messages(task, tools=tools, tries=tries)
    call = await _ask(run, key=key, messages=messages, tools=tools)
    if not failed_before(call, tries):
        return call
    again = (*messages, assistant(_json(call)), user(prompt("tool_repeated")))
    call = await _ask(run, key=f"{key}-anew", messages=again, tools=tools)
    if not failed_before(call, tries):
        return call
    raise NothingNew(f"The model proposed a call of {call.tool} that had failed, and proposed it again when told.")


async def _ask(run: Progress, *, key: str, messages: tuple[Message, ...], tools: Sequence[ToolSpec]) -> ToolCall:
    run.check_limits()
    answer = await ask(
        run,
        run.model_call(key=key, role="actor", messages=messages, temperature=TEMPERATURE, json_schema=ANSWER_SCHEMA),
        schema=CallAnswer,
        judges=False,
    )
    return answer.call(tools)


def fits(call: ToolCall, tool: ToolSpec) -> bool:
    """Return True if the arguments fit the tool's schema. Return False if the schema is unusable."""
    try:
        return not violations(call.arguments, schema=tool.parameters)
    except SchemaUnusable:
        return False


def failed_before(call: ToolCall, tries: Sequence[Try]) -> bool:
    """Return True if exactly this call is among the failed ones."""
    return any(tried.call == call and not tried.result.ok for tried in tries)


def call_messages(task: str, *, tools: Sequence[ToolSpec], tries: Sequence[Try]) -> tuple[Message, ...]:
    """Return the messages that request a call: the task, the tools and all earlier tries with their errors."""
    described = describe(tools)
    if not tries:
        return (system(prompt("tool_system")), user(prompt("tool_call", task=task, tools=described)))
    parts = []
    for number, tried in enumerate(tries, start=1):
        result = tried.result
        answer = f"{result.error}\n{result.content}".strip()
        answer = answer or (result.failure.value if result.failure else "it failed")
        parts.append(
            prompt(
                "tool_tried",
                number=number,
                call=_json(tried.call)[:LONGEST_ARGUMENTS],
                failure=framed(answer, name="failure", most=LONGEST_FAILURE),
                diagnosis=_diagnosis_in_words(tried.diagnosis),
            )
        )
    again = prompt("tool_again", task=task, tools=described, tries="\n\n".join(parts))
    return (system(prompt("tool_system")), user(again))


def task_of(spec: TaskSpec) -> str:
    """Return the objective with instructions, redo order, submitted files and required files.

    For prompts other than an attempt's own: plans, their steps, tool calls.
    """
    parts = [spec.objective]
    if spec.instructions:
        listed = "\n".join(f"- {text}" for text in spec.instructions)
        parts.append(prompt("task_instructions", instructions=listed))
    if spec.redo is not None:
        parts.append(prompt("redo_task", instructions=spec.redo.instructions))
    if spec.file_names:
        named = "\n".join(f"- {name}" for name in spec.file_names[:MOST_FILES_NAMED])
        parts.append(f"Files that came with the task:\n{named}")
    if spec.requirements is not None and spec.requirements.files:
        required = "\n".join(f"- {required_in_words(one)}" for one in spec.requirements.files)
        parts.append(f"Files that have to be there in the end, which a program opens and checks:\n{required}")
    return "\n\n".join(parts)


def describe(tools: Sequence[ToolSpec]) -> str:
    """Return the tools as text for a prompt: name, description and argument schema of each."""
    return "\n\n".join(
        framed(
            f"Tool: {tool.name}\n{tool.description}\nArguments (JSON Schema): "
            f"{json.dumps(tool.parameters, ensure_ascii=False)}",
            name="tool",
            most=LONGEST_DESCRIPTION,
        )
        for tool in tools
    )


def _diagnosis_in_words(diagnosis: Diagnosis | None) -> str:
    """Return the diagnosis and corrective action as text for a prompt; "" without a diagnosis."""
    if diagnosis is None or diagnosis.source is Source.NONE:
        return ""
    action = diagnosis.action
    params = json.dumps(action.modified_params, ensure_ascii=False) if action.modified_params is not None else ""
    lines = [
        f"{diagnosis.error_type.value}: {diagnosis.root_cause}",
        f"What to do: {action.action}",
        f"Parameters: {params}" if params else "",
        f"As in an earlier fix: {'; '.join(action.carried_over)}" if action.carried_over else "",
        f"Tool to use instead: {action.fallback_tool}" if action.fallback_tool else "",
        f"Wait before: {action.retry_delay_seconds:g} seconds" if action.retry_delay_seconds else "",
        f"Alternative: {action.alternative}" if action.alternative else "",
    ]
    text = "\n".join(line for line in lines if line)
    return "\n" + prompt("tool_diagnosed", diagnosis=framed(text, name="diagnosis", most=LONGEST_FAILURE))


def refused_call(call: ToolCall, error: str, *, failure: ToolFailure = ToolFailure.INVALID_ARGUMENTS) -> Try:
    """Return a try that failed before any call was made."""
    return _failed(call, ToolResult(ok=False, failure=failure, error=error), was_called=False)


def _failed(call: ToolCall, result: ToolResult, *, was_called: bool = True) -> Try:
    description = (result.error or (result.failure.value if result.failure else "The tool failed."))[:LONGEST_FAILURE]
    if answer := result.content.strip():
        description += f" It said: {answer[:LONGEST_QUOTE]}"
    issue = Issue(category=IssueCategory.CORRECTNESS, severity=Severity.HIGH, description=description)
    return Try(call, result, issues=(issue,), was_called=was_called)


def _json(call: ToolCall) -> str:
    return json.dumps(call.model_dump(mode="json"), ensure_ascii=False)
