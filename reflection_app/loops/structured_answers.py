"""Reading typed values out of what models say, and asking again when they say something else."""

import json
from collections.abc import Callable
from typing import Any

import json_repair
from pydantic import BaseModel, ValidationError

from reflection_app.loops.effects import EffectFailed, Generate
from reflection_app.loops.messages import assistant, user
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt

MOST_REASKS = 2
LONGEST_QUOTE = 500


class UnusableAnswerError(ValueError):
    """The model's answer is not of the form asked for."""


def read_answer[T: BaseModel](text: str, *, schema: type[T]) -> T:
    """The value in `text`, mended where it is nearly JSON. Raises UnusableAnswerError, which says what is wrong."""
    try:
        return schema.model_validate(_json_in(text))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc']) or 'the answer'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)[:8]
        )
        raise UnusableAnswerError(problems) from None


def _json_in(text: str) -> Any:
    """The JSON object in `text`. Prose without any object is refused: repairing it would invent an answer."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    start = text.find("{")
    if start < 0:
        raise UnusableAnswerError("there is no JSON object in it")
    try:
        found = json_repair.loads(text[start:])
    except (ValueError, RecursionError):
        raise UnusableAnswerError("its JSON could not be read") from None
    if isinstance(found, list):  # prose after the object makes json_repair return all pieces that it found
        found = next((piece for piece in found if isinstance(piece, dict)), None)
    if not isinstance(found, dict) or not found:
        raise UnusableAnswerError("there is no JSON object in it")
    return found


async def ask[T: BaseModel](run: Progress, first: Callable[[], Generate], *, schema: type[T]) -> T:
    """The model's answer to `first()` as a `schema`. Each call to the model is an effect of its own.

    After `MOST_REASKS` further calls, each shown what was wrong, raises EffectFailed with what was said.
    """
    request = first()
    key, messages = request.key, request.messages
    for reask in range(MOST_REASKS + 1):
        generation = await run.perform(request)
        try:
            return read_answer(generation.text, schema=schema)
        except UnusableAnswerError as error:
            problem = str(error)
        # Only the newest bad answer is shown again: sending all of them costs tokens and teaches nothing.
        again = (*messages, assistant(generation.text[:4000]), user(prompt("structured_again", error=problem)))
        request = first().model_copy(update={"key": f"{key}/again-{reask + 1}", "messages": again})
    said = generation.text[:LONGEST_QUOTE]
    raise EffectFailed(
        f"the {request.role} gave no usable answer in {MOST_REASKS + 1} tries ({problem}); it said: {said!r}"
    )
