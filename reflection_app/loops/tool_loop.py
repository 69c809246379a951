"""Tool loop: make one tool call, and repeat it with corrected arguments until the tool succeeds.

Source: "External-Loop" of the design seeds. The first call came with the task, or is the model's choice among the
task's tools. At most two more follow, each guided by the diagnosis of the previous failure. Each call is a separate
attempt, so original and corrected arguments are all stored.

An attempt's content is JSON, from which the submitter reads the result. On success it is `{"tool", "arguments",
"result"}`, where `result` is the tool's output. On failure it is `{"tool", "arguments", "failure", "error"}`, with
`said` if the tool returned output. `is_shortened` is added if the output was cut.

An external agent submits its calls as `{"tool", "arguments"}`. They are stored unchanged. The verdict's feedback
contains the tool's answer, and the next request contains the diagnosis. The server neither waits nor corrects calls on
the agent's behalf.
"""

import json
from typing import Any

from reflection_app.loops.answer_reading import UnusableAnswerError, read_answer
from reflection_app.loops.attempts import (
    confirm,
    end_by,
    keep_attempt,
    look_at_files,
    make_attempt,
    task_with_lessons,
)
from reflection_app.loops.diagnosis.acting import Calls, Refused
from reflection_app.loops.effect import EffectTimedOut
from reflection_app.loops.progress import LimitReached, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.reflexion import issues_of
from reflection_app.loops.task_spec import Execution, TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolResult
from reflection_app.loops.tool_tries import (
    MOST_RETRIES,
    CallAnswer,
    Try,
    call_messages,
    failed_before,
    refused_call,
    task_of,
)
from reflection_app.loops.verdicts import LONGEST_TEXT, Feedback, Judgement, Outcome, Referee, Verdict


async def tool_loop(spec: TaskSpec, run: Progress) -> Outcome:
    """Make calls until one succeeds or the corrections are used up. Raise EffectFailed if no call makes sense.

    The latter also occurs if a reviewer refuses a call or decides to go on without a permission.
    """
    is_external = spec.execution is Execution.EXTERNAL
    task = task_of(spec)
    if not _is_given(spec, 1):
        task = await task_with_lessons(spec, run, task=task, prompts=1 + MOST_RETRIES)
    # A task submitted with a call may use only that call's tool.
    brought = spec.tool_call
    calls = Calls(
        run,
        task=task,
        tools=tuple(tool for tool in spec.tools if brought is None or tool.name == brought.tool),
        key=lambda what, number: f"attempt-{number}/{what}",
        attempt=lambda number: number,
        is_agents=is_external,
    )
    most = min(spec.limits.max_iterations, 1 + MOST_RETRIES)
    for number in range(1, most + 1):
        if is_external and not _is_given(spec, number):
            tried = await _handed_in(spec, run, calls, number=number)
        else:
            given = spec.tool_call if _is_given(spec, number) else None
            call = given or await calls.next_call(number)
            try:
                tried = await calls.make(call, number)
            except (LimitReached, EffectTimedOut, Refused):
                await keep_attempt(run, number=number, content=content_of(call))
                raise
            await keep_attempt(run, number=number, content=content_of(call, tried.result))
            await look_at_files(spec, run, number=number, content="", came=bool(tried.result.files))
        tried = await calls.close(tried, number, is_last=number == most)
        judgement = judge_call(tried, attempt=number, tells_result=is_external)
        judgement = await run.record(judgement, key=f"attempt-{number}/verdict")
        if judgement.passed:
            judgement = await confirm(spec, run, judgement)
            if (end := end_by(judgement, run)) is not None:
                return end
            # A call that a reviewer sends back did not fail: the next one follows the feedback, not a diagnosis.
            calls.task = prompt("call_sent_back", task=task, call=content_of(tried.call), problems=issues_of(judgement))
            calls.tries.clear()
    return Outcome.EXHAUSTED


def _is_given(spec: TaskSpec, number: int) -> bool:
    """Return True if the task itself specifies the first call. In a redo, another call is expected."""
    return number == 1 and spec.tool_call is not None and spec.redo is None


async def _handed_in(spec: TaskSpec, run: Progress, calls: Calls, *, number: int) -> Try:
    """Make the external agent's call and return the try.

    Invalid calls, and repeated calls that must not be repeated, are failed tries.
    """
    if calls.tries:
        await calls.get_ready(number)
    messages = call_messages(calls.task, tools=calls.tools, tries=calls.tries)
    text = await make_attempt(spec, run, number=number, messages=messages)
    try:
        call = read_answer(text, schema=CallAnswer).call(calls.tools)
    except UnusableAnswerError as error:
        return refused_call(ToolCall(tool="(none)"), f"That is no call of a tool: {error}")
    if failed_before(call, calls.tries) and not calls.may_repeat(call):
        return refused_call(call, "The same call failed before, so it was not made again.")
    return await calls.make(call, number)


def content_of(call: ToolCall, result: ToolResult | None = None) -> str:
    """Return the attempt's content: the call and, once made, its result."""
    content: dict[str, Any] = call.model_dump(mode="json")
    if result is not None and result.ok:
        content["result"] = result.content
    elif result is not None:
        content["failure"] = result.failure.value if result.failure else None
        content["error"] = result.error
        if result.content:
            content["said"] = result.content
    if result is not None and result.is_shortened:
        content["is_shortened"] = True
    return json.dumps(content, ensure_ascii=False, indent=2)


def judge_call(tried: Try, *, attempt: int, tells_result: bool = False) -> Judgement:
    """Return PASS with score 100 if the tool succeeded, else REVISE with 0 and the issues. Confidence is 1."""
    strengths = (
        (f"The tool answered: {tried.result.content}"[:LONGEST_TEXT],) if tells_result and tried.result.ok else ()
    )
    return Judgement(
        attempt=attempt,
        referee=Referee.TOOL,
        verdict=Verdict.PASS if tried.result.ok else Verdict.REVISE,
        score=100 if tried.result.ok else 0,
        confidence=1.0,
        issues=tried.issues,
        feedback=Feedback(strengths=strengths),
    )
