"""Make an attempt under the protocol, and store what exists if it is interrupted.

A model call that fails for good is an interruption, and so is a truncated answer whose continuation failed. The attempt
goes back and is resumed. No content is invented: without an answer the stored attempt is empty and is not evaluated. A
model whose replies contain no answer is not asked again.
"""

import json
from dataclasses import replace

from reflection_app.loops.actor_critic import actor_messages
from reflection_app.loops.answers import NoAnswer
from reflection_app.loops.attempt_effects import Pick
from reflection_app.loops.attempts import keep_attempt, make_attempt
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.rounds import BrokenBy, Interruption, Made
from reflection_app.loops.task_spec import Execution, TaskSpec
from reflection_app.loops.texts import one_line
from reflection_app.loops.values import Message, system

LONGEST_MESSAGE = 2_000
BROKE_OFF = "The answer was cut off before its end."


async def first_attempt(spec: TaskSpec, run: Progress) -> Made:
    """Return attempt 1: a new one, or the answer that a person ordered to be redone."""
    messages = first_messages(spec)
    if spec.redo is not None and has_room(spec, after=1):
        made = Made(1, spec.redo.content, messages, is_ordered=True)
        await keep_attempt(run, number=1, content=made.content)
        return made
    return await make(spec, run, Made(1, "", messages), last_good_step="")


def first_messages(spec: TaskSpec) -> tuple[Message, ...]:
    """Return the messages with the task and the minimum requirements that code will check."""
    if spec.requirements is None:
        return actor_messages(spec.objective, [])
    listed = json.dumps(spec.requirements.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False, indent=1)
    return actor_messages(prompt("protocol_task", objective=spec.objective, requirements=listed), [])


def has_room(spec: TaskSpec, *, after: int) -> bool:
    """Return True if another attempt may follow attempt `after`."""
    return after < spec.limits.max_iterations


async def make(spec: TaskSpec, run: Progress, wanted: Made, *, last_good_step: str) -> Made:
    """Return `wanted` with its content and any interruption. Re-raise a failed call that cannot be resumed."""
    number, phase = wanted.number, f"attempt-{wanted.number}/answer"
    is_resumable = has_room(spec, after=number) and spec.execution is Execution.MANAGED
    try:
        content = await make_attempt(spec, run, number=number, messages=messages_of(wanted), role=wanted.role)
    except (EffectTimedOut, PriceUnknown, NoAnswer):
        raise
    except EffectFailed as failure:
        # A partial answer from before the failed call is already stored.
        if not is_resumable or number in run.unfinished:
            raise
        await keep_attempt(run, number=number, content="")
        message = str(failure)[:LONGEST_MESSAGE] or "the call failed"
        return replace(wanted, interruption=Interruption(BrokenBy.FAILED_CALL, phase, message, last_good_step))
    if number not in run.unfinished and not (number in run.cut_off and is_resumable):
        return replace(wanted, content=content)
    return replace(wanted, content=content, interruption=Interruption(BrokenBy.CUT_OFF, phase, BROKE_OFF, phase))


def messages_of(made: Made) -> tuple[Message, ...]:
    """Return the messages of the attempt, with this run's own instructions, which no member has accepted yet."""
    first, *rest = made.messages
    if not made.instructions:
        return made.messages
    listed = "\n".join(f"- {one_line(text)}" for text in made.instructions)
    return (system(prompt("protocol_instructions", system=first.content, instructions=listed)), *rest)


async def prefer_an_answer(run: Progress, *, empty: list[int]) -> None:
    """If nothing was judged, prefer an attempt with an answer to an empty earlier one."""
    whole = [number for number in run.attempts if number not in empty]
    if run.judgements or not empty or not whole or empty[0] > whole[0]:
        return
    why = f"Attempt {empty[0]} broke off before it had an answer, and no other was judged."
    await run.record_pick(
        Pick(attempt=whole[0], settled=False, confidence=0, reasons=(why,)), key=f"attempt-{whole[0]}/pick"
    )
