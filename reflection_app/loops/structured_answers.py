"""Asking for typed values, and asking again where the model says something else."""

import hashlib
from typing import Any

from pydantic import BaseModel

from reflection_app.loops.answer_reading import NONCE, UnusableAnswerError, read_answer
from reflection_app.loops.answering import told_fault
from reflection_app.loops.attempt_effects import AnswerFault, Generate, Generation
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.messages import NO_ANSWER, Message, assistant, user
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.tool_frames import inside_frames

MOST_REASKS = 2
LONGEST_SHOWN_AGAIN = 4_000
# 64 bits: whoever wants a text to hold its own hash tries for centuries.
NONCE_LENGTH = 16
LONGEST_QUOTE = 500
# Of which the role is no name that a sentence can begin with.
SAID_BY = {"self": "The model, judging itself,"}


class NoUsableAnswer(EffectFailed):
    """The model of `role` gave no answer of the form asked for, however often it was asked."""

    def __init__(self, message: str, *, role: str) -> None:
        super().__init__(message)
        self.role = role


async def ask[T: BaseModel](
    run: Progress, request: Generate, *, schema: type[T], most_reasks: int = MOST_REASKS, judges: bool = True
) -> T:
    """The model's answer to `request` as a `schema`. Each call to the model is an effect of its own.

    Where it `judges` what it is shown, nothing of that counts as its answer. After `most_reasks` further calls, each
    shown what was wrong, raises NoUsableAnswer with what was said; where a limit is reached before that, raises
    LimitReached.
    """
    key, messages = request.key, request.messages
    asked = nonce = ""
    if judges:
        asked, nonce = shown_in(messages), nonce_of(key, messages)
        messages = asking_for(nonce, messages)
        request = request.model_copy(update={"messages": messages, "json_schema": with_nonce(request.json_schema)})
    for reask in range(most_reasks + 1):
        if reask:
            run.check_limits()
        generation = await run.perform(request)
        try:
            return read_generation(generation, schema=schema, asked=asked, nonce=nonce, needs_nonce=judges)
        except UnusableAnswerError as error:
            problem = str(error)
        if reask and (unproved := _unproved(generation, schema=schema, asked=asked, nonce=nonce)) is not None:
            return unproved
        # Only the newest bad answer is shown again: sending all of them costs tokens and teaches nothing.
        again = (*messages, assistant(shown_again(generation)), user(prompt("structured_again", error=problem)))
        request = request.model_copy(
            update={
                "key": f"{key}/again-{reask + 1}",
                "messages": again,
                "max_tokens": run.tokens_left,
                "timeout_s": run.time_left_s(),
                # Reasoning may take all the room before the first word.
                "room": request.room * (2 if generation.fault is AnswerFault.CUT_OFF else 1),
            }
        )
    who = SAID_BY.get(request.role, f"The {request.role}")
    raise NoUsableAnswer(
        f"{who} gave no usable answer in {_tries(most_reasks + 1)} ({problem}). "
        f"It said: {' '.join((generation.text or generation.refusal).split())[:LONGEST_QUOTE] or 'nothing'}",
        role=request.role,
    )


def read_generation[T: BaseModel](
    generation: Generation, *, schema: type[T], asked: str = "", nonce: str = "", needs_nonce: bool = False
) -> T:
    """The value in what a model sent. Raises UnusableAnswerError also where that was no whole answer."""
    if generation.fault:
        raise UnusableAnswerError(told_fault(generation))
    return read_answer(generation.text, schema=schema, asked=asked, nonce=nonce, needs_nonce=needs_nonce)


def _unproved[T: BaseModel](generation: Generation, *, schema: type[T], asked: str, nonce: str) -> T | None:
    """What a model says again among prose and without the nonce, as something that it is not sure of.

    It may be quoted in a spelling that code does not know. With a confidence of 0 a person is asked, by the policy.
    """
    try:
        value = read_generation(generation, schema=schema, asked=asked, nonce=nonce)
    except UnusableAnswerError:
        return None
    return value.model_copy(update={"confidence": 0.0}) if "confidence" in schema.model_fields else value


def shown_again(generation: Generation) -> str:
    """What a model is shown of what it sent; what a filter stopped would be stopped again."""
    said = "" if generation.fault is AnswerFault.FILTERED else generation.text or generation.refusal
    return said[:LONGEST_SHOWN_AGAIN] or NO_ANSWER


def shown_in(messages: tuple[Message, ...]) -> str:
    """What a model is shown of what others wrote: all that stands in frames."""
    return inside_frames("\n".join(message.content for message in messages if message.role != "assistant"))


def nonce_of(key: str, messages: tuple[Message, ...]) -> str:
    """What an answer to these messages is known by: a hash of them, which none of them can hold."""
    text = "\n".join([key, *(message.content for message in messages)])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:NONCE_LENGTH]


def with_nonce(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """The schema with the nonce's field, whatever its value: providers keep what each schema compiles to."""
    if schema is None:
        return None
    required = [NONCE, *schema["required"]] if schema.get("required") else []
    # Bounded, since small models that are held to a form go on with digits for ever.
    field = {"type": "string", "maxLength": NONCE_LENGTH}
    return {**schema, "required": required, "properties": {NONCE: field, **schema["properties"]}}


def asking_for(nonce: str, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with the last one asking for the nonce, too."""
    asked = prompt("structured_nonce", question=messages[-1].content, field=NONCE, nonce=nonce)
    return (*messages[:-1], messages[-1].model_copy(update={"content": asked}))


def _tries(count: int) -> str:
    return "one try" if count == 1 else f"{count} tries"
