"""Reading typed values out of what models say, and asking again when they say something else."""

import json
from typing import Any

import json_repair
from pydantic import BaseModel, ValidationError

from reflection_app.loops.effects import EffectFailed, Generate
from reflection_app.loops.messages import NO_ANSWER, assistant, user
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.storable import storable, storable_value
from reflection_app.loops.tool_arguments import is_too_deep

MOST_REASKS = 2
MOST_OBJECTS = 50
LONGEST_ANSWER = 100_000
# Mending takes time with the square of the length where the text is hostile.
LONGEST_MENDED = 6_000
LONGEST_SHOWN_AGAIN = 4_000
LONGEST_QUOTE = 500
# Of which the role is no name that a sentence can begin with.
SAID_BY = {"self": "The model, judging itself,"}


class UnusableAnswerError(ValueError):
    """The model's answer is not of the form asked for."""


class NoUsableAnswer(EffectFailed):
    """The model of `role` gave no answer of the form asked for, however often it was asked."""

    def __init__(self, message: str, *, role: str) -> None:
        super().__init__(message)
        self.role = role


def read_answer[T: BaseModel](text: str, *, schema: type[T]) -> T:
    """The value in `text`, mended where it is nearly JSON. Raises UnusableAnswerError, which says what is wrong.

    Prose may stand around the object. Two different objects that would both do are refused: one of them may be quoted
    from the very work that is being judged.
    """
    problem, found = "there is no JSON object in it", list[T]()
    for candidate in _objects_in(text[:LONGEST_ANSWER]):
        try:
            value = schema.model_validate(candidate)
        except ValidationError as error:
            problem = _problems(error)
        else:
            found += [value] if value not in found else []
    if len(found) > 1:
        raise UnusableAnswerError("it holds several different JSON objects; answer with one")
    if not found:
        raise UnusableAnswerError(problem)
    return found[0]


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in problem['loc']) or 'the answer'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)[:8]
    )


def _objects_in(text: str) -> list[Any]:
    """All JSON objects in `text`, its texts made storable; what cannot be read as it is comes mended, too.

    Prose without any object gives none: mending it would invent an answer.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_without_twins)
    objects: list[Any] = []
    is_clean = True
    start = first = text.find("{")
    for _ in range(MOST_OBJECTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except UnusableAnswerError:
            raise
        except (ValueError, RecursionError):
            is_clean, end = False, start + 1
        else:
            objects += _kept(value)
        start = text.find("{", end)
    return objects if is_clean else objects + _mended(text[first:])


def _mended(text: str) -> list[Any]:
    if len(text) > LONGEST_MENDED:
        return []
    try:
        found = json_repair.loads(text)
    except (ValueError, RecursionError):
        return []
    pieces = found if isinstance(found, list) else [found]
    return [kept for piece in pieces if isinstance(piece, dict) and piece for kept in _kept(piece)]


def _kept(value: Any) -> list[Any]:
    """The value with its texts made storable, alone in a list; nothing where it is nested deeper than any answer."""
    return [] if is_too_deep(value) else [storable_value(value)]


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of `pairs`. Raises UnusableAnswerError for a key given twice: which of the two would hold?"""
    if len({storable(key) for key, _ in pairs}) < len(pairs):
        raise UnusableAnswerError("a key stands twice in its JSON")
    return dict(pairs)


async def ask[T: BaseModel](run: Progress, request: Generate, *, schema: type[T], most_reasks: int = MOST_REASKS) -> T:
    """The model's answer to `request` as a `schema`. Each call to the model is an effect of its own.

    After `most_reasks` further calls, each shown what was wrong, raises NoUsableAnswer with what was said; where a
    limit is reached before that, raises LimitReached.
    """
    key, messages = request.key, request.messages
    for reask in range(most_reasks + 1):
        if reask:
            run.check_limits()
        generation = await run.perform(request)
        try:
            return read_answer(generation.text, schema=schema)
        except UnusableAnswerError as error:
            problem = str(error)
        # Only the newest bad answer is shown again: sending all of them costs tokens and teaches nothing.
        said = generation.text[:LONGEST_SHOWN_AGAIN] or NO_ANSWER
        again = (*messages, assistant(said), user(prompt("structured_again", error=problem)))
        request = request.model_copy(
            update={
                "key": f"{key}/again-{reask + 1}",
                "messages": again,
                "max_tokens": run.tokens_left,
                "timeout_s": run.time_left_s(),
            }
        )
    who = SAID_BY.get(request.role, f"The {request.role}")
    raise NoUsableAnswer(
        f"{who} gave no usable answer in {_tries(most_reasks + 1)} ({problem}). "
        f"It said: {' '.join(generation.text.split())[:LONGEST_QUOTE] or 'nothing'}",
        role=request.role,
    )


def _tries(count: int) -> str:
    return "one try" if count == 1 else f"{count} tries"
