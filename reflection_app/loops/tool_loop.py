"""One tool call, made until the tool says that it worked: called, and on failure called with corrected arguments.

After "External-Loop" of the design seeds. The first call is the one that came with the task, or else the model's
choice among the task's tools; then come at most two more, each as the diagnosis of the failure before says. Each call
is an attempt of its own, so original and corrected arguments are all kept. An attempt's content is JSON, and whoever
handed the task in finds the result in it: `{"tool", "arguments", "result"}` where the tool did it (`result` is the text
that the tool said, `is_shortened` stands beside it where not all of it was kept), `{"tool", "arguments", "failure",
"error"}` where it did not, with `said` where the tool said something all the same.

An outside agent hands in its calls as `{"tool", "arguments"}`. They are kept as they came, the verdict's feedback says
what the tool answered, and what is asked for next holds the diagnosis. Nobody waits or calls in the agent's place.
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
from reflection_app.loops.diagnosis.acting import Calls
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
    """Calls until one works or the corrections are used up. Where no further call makes sense, it ends as failed.

    So it does where a person was asked for a permission and says to go on without.
    """
    is_external = spec.execution is Execution.EXTERNAL
    task = task_of(spec)
    if not _is_given(spec, 1):
        task = await task_with_lessons(spec, run, task=task, prompts=1 + MOST_RETRIES)
    # A task that brought a call may call that tool alone.
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
            except (LimitReached, EffectTimedOut):
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
            # A call that a person sends back has not failed: the next one follows their words, not a diagnosis.
            calls.task = prompt("call_sent_back", task=task, call=content_of(tried.call), problems=issues_of(judgement))
            calls.tries.clear()
    return Outcome.EXHAUSTED


def _is_given(spec: TaskSpec, number: int) -> bool:
    """Whether the task says itself what to call; done again by a person's order, it is to be called otherwise."""
    return number == 1 and spec.tool_call is not None and spec.redo is None


async def _handed_in(spec: TaskSpec, run: Progress, calls: Calls, *, number: int) -> Try:
    """The outside agent's call, made. What is no call, or failed and is not to be tried again, is a failed try."""
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
    """The attempt as it is kept: the call and, once it was made, what it came to."""
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
    """PASS with 100 where the tool did it, else REVISE with 0 and what was wrong. A tool is sure of itself."""
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
