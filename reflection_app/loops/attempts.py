"""Making an attempt: by a model of ours or by the outside agent, in the same place of every loop."""

from reflection_app.loops.chain_of_thought import asking_for_parts
from reflection_app.loops.effects import AwaitAttempt, Generate
from reflection_app.loops.lessons import Lessons, recall_for, with_lessons
from reflection_app.loops.messages import Message, assistant, user
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import Execution, TaskSpec
from reflection_app.loops.ticketing import send_back
from reflection_app.loops.tool_frames import framed

LONGEST_REDONE = 24_000
LONGEST_HINTS = 4_000
# What providers call it when the most tokens are reached before the answer's end.
CUT_OFF = "length"


async def make_attempt(
    spec: TaskSpec, run: Progress, *, number: int, messages: tuple[Message, ...], role: str = "actor"
) -> str:
    """The text of attempt `number`, made from `messages` by the model of `role` or handed in by the outside agent.

    The attempt before it is sent back first. Raises LimitReached where there is no room for another attempt.
    """
    run.check_limits()
    if number > 1:
        await send_back(spec, run, number=number - 1)
    key = f"attempt-{number}/answer"
    messages = told(spec, messages, number=number, lessons=await _lessons(spec, run, number=number))
    if spec.execution is Execution.EXTERNAL:
        handed_in = await run.perform(AwaitAttempt(key=key, attempt=number, messages=messages))
        run.handed_in[number] = handed_in
        text = handed_in.content
    else:
        request = Generate(
            key=key,
            role=role,
            messages=messages,
            max_tokens=run.tokens_left,
            timeout_s=run.time_left_s(),
            attempt=number,
        )
        try:
            answer = await run.perform(request)
        except PriceUnknown:
            # The answer came and is kept: no other attempt can have its number.
            run.attempts.append(number)
            raise
        text = answer.text
        if answer.finish_reason == CUT_OFF:
            run.cut_off.add(number)
    run.attempts.append(number)
    return text


async def _lessons(spec: TaskSpec, run: Progress, *, number: int) -> Lessons | None:
    """What the notebook has for the first attempt of our own models; an outside agent recalls by itself.

    A run whose specification names no lessons performs just the effects that it performed before there were any: the
    loops' versions stay as they are, and what waited meanwhile goes on.
    """
    recall = recall_for(spec) if number == 1 and spec.execution is Execution.MANAGED else None
    if recall is None:
        return None
    return await run.perform(recall)


def told(
    spec: TaskSpec, messages: tuple[Message, ...], *, number: int, lessons: Lessons | None = None
) -> tuple[Message, ...]:
    """The messages with what holds in every loop: accepted instructions, and for the first attempt a person's order.

    The first attempt is told lessons as well and, where its work was not ordered again, what earlier runs noted for a
    better start.
    """
    messages = with_lessons(messages, lessons)
    if spec.instructions and messages and messages[0].role == "system":
        listed = "\n".join(f"- {text}" for text in spec.instructions)
        first = messages[0].model_copy(
            update={"content": prompt("agent_instructions", system=messages[0].content, instructions=listed)}
        )
        messages = (first, *messages[1:])
    if spec.redo is not None and number == 1:
        again = prompt("redo_order", instructions=spec.redo.instructions)
        messages = (*messages, assistant(spec.redo.content[:LONGEST_REDONE]), user(again))
    elif spec.hints and number == 1 and messages:
        listed = framed("\n".join(f"- {hint}" for hint in spec.hints), name="notes", most=LONGEST_HINTS)
        task = prompt("start_hints", task=messages[-1].content, hints=listed)
        messages = (*messages[:-1], messages[-1].model_copy(update={"content": task}))
    return asking_for_parts(messages) if spec.chain_of_thought else messages
