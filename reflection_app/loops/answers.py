"""Asking for typed values, and asking again where the model says something else."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from reflection_app.loops.answer_reading import NONCE, UnusableAnswerError, read_answer
from reflection_app.loops.attempt_effects import LENGTH, AnswerFault, Generate, Generation
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.framing import inside_frames
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.values import NO_ANSWER, Message, assistant, user, with_last

# Getting a whole answer in prose: what is none is asked for again, what was cut off is asked to go on.
#
# Both a bounded number of times and within the run's limits. Answers of a given form are what `ask` is for.

MOST_REASKS = 2
MOST_CONTINUATIONS = 2
LONGEST_QUOTE = 500
LONGEST_OVERLAP = 400
SHORTEST_OVERLAP = 20
# Fewer different characters are a row of a table, or of zeros, that goes on.
FEWEST_DIFFERENT = 8


class NoAnswer(EffectFailed):
    """The model sent nothing that is an answer, however often it was asked."""


@dataclass
class Answer:
    """What has come of an answer so far: its text, from how many calls, and whether that is all of it."""

    text: str = ""
    parts: int = 0
    is_whole: bool = False
    # Of a whole one: it comes from a journal that did not tell such answers apart.
    reached_length: bool = False

    def add(self, generation: Generation) -> None:
        """Adds what was said as far as it is text of an answer."""
        if not generation.fault or (generation.fault is AnswerFault.CUT_OFF and generation.text.strip()):
            self.text = joined(self.text, generation.text)
            self.parts += 1
            self.is_whole = not generation.fault
            self.reached_length = generation.finish_reason == LENGTH


async def complete_answer(run: Progress, request: Generate, answer: Answer) -> None:
    """Fills `answer`, also where this raises: what there is of it can then be kept. It may still not be whole.

    Raises NoAnswer where nothing came that is one, and LimitReached or EffectFailed as any call does.
    """
    next_request, fault, room = request, "", request.room
    for tries in range(1, MOST_REASKS + 2):
        if fault:
            run.check_limits(why=fault)
        generation = await _generate(run, next_request, answer)
        if answer.parts:
            break
        fault = fault_in_words(generation)
        # What a filter stopped would be stopped again, so no more than a refusal is shown.
        shown = generation.refusal[:LONGEST_QUOTE] if generation.fault is AnswerFault.REFUSED else ""
        # Reasoning may take all the room before the first word.
        room *= 2 if generation.fault is AnswerFault.CUT_OFF else 1
        next_request = request.model_copy(
            update={
                "key": f"{request.key}/again-{tries}",
                "messages": (*request.messages, assistant(shown or NO_ANSWER), user(prompt("answer_again", why=fault))),
                "room": room,
                "max_tokens": run.tokens_left,
            }
        )
    else:
        raise NoAnswer(f"The {request.role} gave no answer in {MOST_REASKS + 1} tries. {fault}")
    for more in range(1, MOST_CONTINUATIONS + 1):
        parts = answer.parts
        if answer.is_whole:
            return
        run.check_limits(why="The answer was cut off before its end.")
        goes_on = request.model_copy(
            update={
                "key": f"{request.key}/more-{more}",
                "messages": (*request.messages, assistant(answer.text), user(prompt("protocol_continue"))),
                "max_tokens": run.tokens_left,
                "attempt": None,
            }
        )
        await _generate(run, goes_on, answer)
        if answer.parts == parts:
            return


async def _generate(run: Progress, request: Generate, answer: Answer) -> Generation:
    try:
        generation = await run.perform(request.model_copy(update={"timeout_s": run.time_left_s()}))
    except PriceUnknown as stop:
        # What came is kept all the same.
        if isinstance(stop.value, Generation):
            answer.add(stop.value)
        raise
    answer.add(generation)
    return generation


def fault_in_words(generation: Generation) -> str:
    """What was sent in place of an answer, in a sentence."""
    match generation.fault:
        case AnswerFault.REFUSED:
            words = " ".join(generation.refusal.split())[:LONGEST_QUOTE]
            return f"It refused: {words}" if words else "It refused without a word."
        case AnswerFault.FILTERED:
            return "The provider's content filter stopped it."
        case AnswerFault.TOOL_CALL:
            return f"It called a tool in place of answering: {', '.join(generation.tool_calls)[:LONGEST_QUOTE]}."
        case AnswerFault.CUT_OFF:
            if generation.finish_reason == LENGTH:
                return "It was cut off: the most tokens were reached before the answer's end."
            return f"It was cut off before its end: the provider ended it with {generation.finish_reason[:80]!r}."
    return "It sent nothing."


def joined(begun: str, rest: str) -> str:
    """Both parts as one text. What the second says again of the end of the first is there once."""
    for length in range(min(len(begun), len(rest), LONGEST_OVERLAP), SHORTEST_OVERLAP - 1, -1):
        if begun.endswith(rest[:length]) and len(set(rest[:length])) >= FEWEST_DIFFERENT:
            return begun + rest[length:]
    return begun + rest


LONGEST_SHOWN_AGAIN = 4_000
# 64 bits: whoever wants a text to hold its own hash tries for centuries.
NONCE_LENGTH = 16
# Of which the role is no name that a sentence can begin with.
SAID_BY = {"self": "The model, judging itself,", "vision": "The model that looked"}


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
        if reask:
            # Said again among prose and without the nonce, it may be quoted in a spelling that code does not know.
            # With a confidence of 0 a person is asked, by the policy.
            with suppress(UnusableAnswerError):
                value = read_generation(generation, schema=schema, asked=asked, nonce=nonce)
                return value.model_copy(update={"confidence": 0.0}) if "confidence" in schema.model_fields else value
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
    tries = f"{most_reasks + 1} tries" if most_reasks else "one try"
    raise NoUsableAnswer(
        f"{who} gave no usable answer in {tries} ({problem}). "
        f"It said: {' '.join((generation.text or generation.refusal).split())[:LONGEST_QUOTE] or 'nothing'}",
        role=request.role,
    )


def read_generation[T: BaseModel](
    generation: Generation, *, schema: type[T], asked: str = "", nonce: str = "", needs_nonce: bool = False
) -> T:
    """The value in what a model sent. Raises UnusableAnswerError also where that was no whole answer."""
    if generation.fault:
        raise UnusableAnswerError(fault_in_words(generation))
    return read_answer(generation.text, schema=schema, asked=asked, nonce=nonce, needs_nonce=needs_nonce)


def shown_again(generation: Generation) -> str:
    """What a model is shown of what it sent; what a filter stopped would be stopped again."""
    text = "" if generation.fault is AnswerFault.FILTERED else generation.text or generation.refusal
    return text[:LONGEST_SHOWN_AGAIN] or NO_ANSWER


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
    question = prompt("structured_nonce", question=messages[-1].content, field=NONCE, nonce=nonce)
    return with_last(messages, question)
