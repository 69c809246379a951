"""Request typed values from models, and repeat the request if the reply is unusable."""

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

# Complete prose answers: a missing answer is requested again, a truncated one is continued.
#
# Both are bounded, and stay within the run's limits. For answers of a given schema, use `ask`.

MOST_REASKS = 2
MOST_CONTINUATIONS = 2
LONGEST_QUOTE = 500
LONGEST_OVERLAP = 400
SHORTEST_OVERLAP = 20
# A repeated stretch with fewer different characters may be a table row or zeros that simply go on.
FEWEST_DIFFERENT = 8


class NoAnswer(EffectFailed):
    """The model returned no answer in any try."""


@dataclass
class Answer:
    """The answer so far: its text, the number of calls that produced it, and whether it is complete."""

    text: str = ""
    parts: int = 0
    is_whole: bool = False
    # For a complete answer: it comes from a journal that did not mark truncated answers.
    reached_length: bool = False

    def add(self, generation: Generation) -> None:
        """Append the generation's text if it is part of an answer."""
        if not generation.fault or (generation.fault is AnswerFault.CUT_OFF and generation.text.strip()):
            self.text = joined(self.text, generation.text)
            self.parts += 1
            self.is_whole = not generation.fault
            self.reached_length = generation.finish_reason == LENGTH


async def complete_answer(run: Progress, request: Generate, answer: Answer) -> None:
    """Fill `answer`, also when this raises, so that a partial answer can be stored.

    The result may still be incomplete. Raise NoAnswer if no answer came, and LimitReached or EffectFailed like any
    call.
    """
    next_request, fault, room = request, "", request.room
    for tries in range(1, MOST_REASKS + 2):
        if fault:
            run.check_limits(why=fault)
        generation = await _generate(run, next_request, answer)
        if answer.parts:
            break
        fault = fault_in_words(generation)
        # A quoted text that a content filter stopped would be stopped again. Only a refusal is shown.
        shown = generation.refusal[:LONGEST_QUOTE] if generation.fault is AnswerFault.REFUSED else ""
        # Reasoning may use up the token limit before the answer starts.
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
        # Store the partial result despite the error.
        if isinstance(stop.value, Generation):
            answer.add(stop.value)
        raise
    answer.add(generation)
    return generation


def fault_in_words(generation: Generation) -> str:
    """Return a sentence that describes what was sent instead of an answer."""
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
    """Return both parts as one text. An overlap between the end of the first and the second appears once."""
    for length in range(min(len(begun), len(rest), LONGEST_OVERLAP), SHORTEST_OVERLAP - 1, -1):
        if begun.endswith(rest[:length]) and len(set(rest[:length])) >= FEWEST_DIFFERENT:
            return begun + rest[length:]
    return begun + rest


LONGEST_SHOWN_AGAIN = 4_000
# 64 bits: finding a text that contains its own hash would take centuries.
NONCE_LENGTH = 16
# Subjects of error messages for roles that cannot start a sentence.
SAID_BY = {"self": "The model, judging itself,", "vision": "The model that looked"}


class NoUsableAnswer(EffectFailed):
    """The model of `role` gave no answer of the requested form in any try."""

    def __init__(self, message: str, *, role: str) -> None:
        super().__init__(message)
        self.role = role


async def ask[T: BaseModel](
    run: Progress, request: Generate, *, schema: type[T], most_reasks: int = MOST_REASKS, judges: bool = True
) -> T:
    """Return the model's answer to `request`, parsed as `schema`. Each model call is a separate effect.

    If the model `judges` content, objects quoted from that content do not count as its answer. Each further call shows
    the model what was wrong. After `most_reasks` further calls, raise NoUsableAnswer with the last reply. Raise
    LimitReached if a limit is reached before that.
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
            # A repeated answer among prose and without the nonce may be a quotation in an unknown spelling. With a
            # confidence of 0, the review policy requests a review.
            with suppress(UnusableAnswerError):
                value = read_generation(generation, schema=schema, asked=asked, nonce=nonce)
                return value.model_copy(update={"confidence": 0.0}) if "confidence" in schema.model_fields else value
        # Show only the newest bad answer: sending all of them costs tokens and does not help.
        again = (*messages, assistant(shown_again(generation)), user(prompt("structured_again", error=problem)))
        request = request.model_copy(
            update={
                "key": f"{key}/again-{reask + 1}",
                "messages": again,
                "max_tokens": run.tokens_left,
                "timeout_s": run.time_left_s(),
                # Reasoning may use up the token limit before the answer starts.
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
    """Parse the value in a generation. Raise UnusableAnswerError, also if the answer is not complete."""
    if generation.fault:
        raise UnusableAnswerError(fault_in_words(generation))
    return read_answer(generation.text, schema=schema, asked=asked, nonce=nonce, needs_nonce=needs_nonce)


def shown_again(generation: Generation) -> str:
    """Return the excerpt of a reply to show to its model. Text that a content filter stopped is omitted."""
    text = "" if generation.fault is AnswerFault.FILTERED else generation.text or generation.refusal
    return text[:LONGEST_SHOWN_AGAIN] or NO_ANSWER


def shown_in(messages: tuple[Message, ...]) -> str:
    """Return the framed content of the messages, which others wrote."""
    return inside_frames("\n".join(message.content for message in messages if message.role != "assistant"))


def nonce_of(key: str, messages: tuple[Message, ...]) -> str:
    """Return the nonce that identifies an answer: a hash of the messages, which none of them can contain."""
    text = "\n".join([key, *(message.content for message in messages)])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:NONCE_LENGTH]


def with_nonce(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return `schema` with the nonce as a field of any value. Providers cache each compiled schema."""
    if schema is None:
        return None
    required = [NONCE, *schema["required"]] if schema.get("required") else []
    # Bounded: small models constrained to a schema may emit digits without end.
    field = {"type": "string", "maxLength": NONCE_LENGTH}
    return {**schema, "required": required, "properties": {NONCE: field, **schema["properties"]}}


def asking_for(nonce: str, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages with a request for the nonce added to the last one."""
    question = prompt("structured_nonce", question=messages[-1].content, field=NONCE, nonce=nonce)
    return with_last(messages, question)
