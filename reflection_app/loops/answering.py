"""Getting a whole answer in prose: what is none is asked for again, what was cut off is asked to go on.

Both a bounded number of times and within the run's limits. Answers of a given form are structured_answers.py's.
"""

from dataclasses import dataclass

from reflection_app.loops.attempt_effects import LENGTH, AnswerFault, Generate, Generation
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.messages import NO_ANSWER, assistant, user
from reflection_app.loops.progress import LimitReached, PriceUnknown, Progress
from reflection_app.loops.prompts import prompt

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

    def add(self, said: Generation) -> None:
        """Adds what was said as far as it is text of an answer."""
        if not said.fault or (said.fault is AnswerFault.CUT_OFF and said.text.strip()):
            self.text = joined(self.text, said.text)
            self.parts += 1
            self.is_whole = not said.fault
            self.reached_length = said.finish_reason == LENGTH


async def complete_answer(run: Progress, request: Generate, answer: Answer) -> None:
    """Fills `answer`, also where this raises: what there is of it can then be kept. It may still not be whole.

    Raises NoAnswer where nothing came that is one, and LimitReached or EffectFailed as any call does.
    """
    wanted, told, room = request, "", request.room
    for tries in range(1, MOST_REASKS + 2):
        if told:
            _check_limits(run, told)
        said = await _say(run, wanted, answer)
        if answer.parts:
            break
        told = told_fault(said)
        # Reasoning may take all the room before the first word.
        room *= 2 if said.fault is AnswerFault.CUT_OFF else 1
        wanted = request.model_copy(
            update={
                "key": f"{request.key}/again-{tries}",
                "messages": (*request.messages, assistant(_shown(said)), user(prompt("answer_again", why=told))),
                "room": room,
                "max_tokens": run.tokens_left,
            }
        )
    else:
        raise NoAnswer(f"The {request.role} gave no answer in {MOST_REASKS + 1} tries. {told}")
    for more in range(1, MOST_CONTINUATIONS + 1):
        parts = answer.parts
        if answer.is_whole:
            return
        _check_limits(run, "The answer was cut off before its end.")
        goes_on = request.model_copy(
            update={
                "key": f"{request.key}/more-{more}",
                "messages": (*request.messages, assistant(answer.text), user(prompt("protocol_continue"))),
                "max_tokens": run.tokens_left,
                "attempt": None,
            }
        )
        await _say(run, goes_on, answer)
        if answer.parts == parts:
            return


async def _say(run: Progress, request: Generate, answer: Answer) -> Generation:
    try:
        said = await run.perform(request.model_copy(update={"timeout_s": run.time_left_s()}))
    except PriceUnknown as stop:
        # What came is kept all the same.
        if isinstance(stop.value, Generation):
            answer.add(stop.value)
        raise
    answer.add(said)
    return said


def _check_limits(run: Progress, why: str) -> None:
    limit = run.exceeded()
    if limit is not None:
        raise LimitReached(limit, why=why)


def told_fault(said: Generation) -> str:
    """What was sent in place of an answer, in a sentence."""
    match said.fault:
        case AnswerFault.REFUSED:
            words = " ".join(said.refusal.split())[:LONGEST_QUOTE]
            return f"It refused: {words}" if words else "It refused without a word."
        case AnswerFault.FILTERED:
            return "The provider's content filter stopped it."
        case AnswerFault.TOOL_CALL:
            return f"It called a tool in place of answering: {', '.join(said.tool_calls)[:LONGEST_QUOTE]}."
        case AnswerFault.CUT_OFF:
            return "It was cut off: the most tokens were reached before the answer's end."
    return "It sent nothing."


def _shown(said: Generation) -> str:
    """What the model is shown of what it sent; what a filter stopped would be stopped again."""
    return (said.refusal[:LONGEST_QUOTE] if said.fault is AnswerFault.REFUSED else "") or NO_ANSWER


def joined(begun: str, rest: str) -> str:
    """Both parts as one text. What the second says again of the end of the first is there once."""
    for length in range(min(len(begun), len(rest), LONGEST_OVERLAP), SHORTEST_OVERLAP - 1, -1):
        if begun.endswith(rest[:length]) and len(set(rest[:length])) >= FEWEST_DIFFERENT:
            return begun + rest[length:]
    return begun + rest
