"""Making an attempt: by a model of ours or by the outside agent, in the same place of every loop."""

from reflection_app.loops.chain_of_thought import asking_for_parts
from reflection_app.loops.effects import AwaitAttempt, Generate
from reflection_app.loops.messages import Message
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.task_spec import Execution, TaskSpec


async def make_attempt(spec: TaskSpec, run: Progress, *, number: int, messages: tuple[Message, ...]) -> str:
    """The text of attempt `number`, made from `messages` by the actor or handed in by the outside agent.

    Raises LimitReached where there is no room for another attempt.
    """
    run.check_limits()
    key = f"attempt-{number}/answer"
    if spec.chain_of_thought:
        messages = asking_for_parts(messages)
    if spec.execution is Execution.EXTERNAL:
        handed_in = await run.perform(AwaitAttempt(key=key, attempt=number, messages=messages))
        text = handed_in.content
    else:
        request = Generate(
            key=key,
            role="actor",
            messages=messages,
            max_tokens=run.tokens_left,
            timeout_s=run.time_left_s(),
            attempt=number,
        )
        try:
            text = (await run.perform(request)).text
        except PriceUnknown:
            # The answer came and is kept: no other attempt can have its number.
            run.attempts.append(number)
            raise
    run.attempts.append(number)
    return text
