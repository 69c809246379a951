"""Looking back by reasoning and acting in turns: the model reads where it doubts, then says what it found.

Each call of the model is a turn, one that was of no use among them, so that there are never more calls than turns.
"""

from dataclasses import dataclass
from typing import Any

from reflection_app.loops.after.answers import ToolAnswer
from reflection_app.loops.after.findings import SessionRead
from reflection_app.loops.after_effects import ReadSession
from reflection_app.loops.answer_reading import UnusableAnswerError
from reflection_app.loops.attempt_effects import CallTool, Generate, Generation
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.lenient_values import Lenient
from reflection_app.loops.messages import Message, assistant, user
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.structured_answers import (
    NoUsableAnswer,
    asking_for,
    nonce_of,
    read_generation,
    shown_again,
    shown_in,
    with_nonce,
)
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.loops.tool_frames import framed

TEMPERATURE = 0.3
READING_TOOLS = ("read_file", "grep_search")
LONGEST_RESULT = 8_000
LONGEST_QUOTE = 500
TOOL_TIMEOUT_S = 10.0
# What a further turn costs at least besides what the last one did: the result of the tool, and what is made of it.
TOKENS_OF_A_TURN = 3_000


@dataclass(frozen=True)
class Question[A: Lenient]:
    """Who is asked what: at most `most_turns` calls of the model, whose last word is read as an `answer`."""

    role: str
    key: str
    messages: tuple[Message, ...]
    answer: type[A]
    schema: dict[str, Any]
    most_turns: int


async def session_of(run: Progress, *, with_known: bool = False) -> SessionRead:
    """What there is to read of the work that has ended. Raises EffectFailed where nothing is left of it."""
    session = await run.perform(ReadSession(key="session", with_known=with_known))
    if not session.conversation:
        raise EffectFailed("there is nothing to look back at any more")
    return session


async def look_back[A: Lenient](run: Progress, question: Question[A]) -> A:
    """The model's last word. Raises NoUsableAnswer, LimitReached or EffectTimedOut where there is none."""
    nonce = nonce_of(question.key, question.messages)
    messages, took = asking_for(nonce, question.messages), 0
    for turn in range(1, question.most_turns + 1):
        run.check_limits()
        is_last = turn == question.most_turns or (turn > 1 and run.tokens_left < 2 * took + TOKENS_OF_A_TURN)
        key = f"{question.key}-{turn}"
        spent = run.tokens
        generation = await run.perform(_request(run, question, key=key, messages=messages, is_last=is_last))
        took = run.tokens - spent
        try:
            asked = shown_in(messages)
            said = _read(generation, answer=question.answer, asked=asked, nonce=nonce, is_last=is_last)
        except UnusableAnswerError as error:
            if is_last:
                raise _nothing_said(question.role, turns=turn, problem=str(error), said=generation.text) from None
            told = prompt("structured_again", error=str(error))
        else:
            if not isinstance(said, ToolAnswer):
                return said
            told = await _told_by_tool(run, said, key=f"{key}/tool")
        messages = (*messages, assistant(shown_again(generation)), user(told))
    raise AssertionError("the last turn returns or raises")


def _request[A: Lenient](
    run: Progress, question: Question[A], *, key: str, messages: tuple[Message, ...], is_last: bool
) -> Generate:
    if is_last:
        newest = messages[-1]
        messages = (*messages[:-1], user(f"{newest.content}\n\n{prompt('after_last')}"))
    return Generate(
        key=key,
        role=question.role,
        messages=messages,
        temperature=TEMPERATURE,
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
        json_schema=with_nonce(question.schema if is_last else _or_a_tool(question.schema)),
    )


def _or_a_tool(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an answer that may be a call of a tool instead; nothing in it is required."""
    call = {"tool": {"type": "string", "enum": list(READING_TOOLS)}, "arguments": {"type": "object"}}
    return {**schema, "required": [], "properties": call | schema["properties"]}


def _read[A: Lenient](said: Generation, *, answer: type[A], asked: str, nonce: str, is_last: bool) -> A | ToolAnswer:
    """The last word where there is one, else the call of a tool. Raises UnusableAnswerError."""
    try:
        return read_generation(said, schema=answer, asked=asked, nonce=nonce)
    except UnusableAnswerError as error:
        if is_last:
            raise
        try:
            return read_generation(said, schema=ToolAnswer)
        except UnusableAnswerError:
            raise error from None


async def _told_by_tool(run: Progress, call: ToolAnswer, *, key: str) -> str:
    if call.tool not in READING_TOOLS:
        return prompt("after_result", tool="no tool", result=f"There are only {' and '.join(READING_TOOLS)}.")
    run.check_limits()
    timeout_s = min(TOOL_TIMEOUT_S, run.time_left_s())
    result = await run.perform(CallTool(key=key, tool=call.tool, arguments=call.arguments, timeout_s=timeout_s))
    return prompt("after_result", tool=call.tool, result=framed(_text(result), name="result", most=LONGEST_RESULT))


def _text(result: ToolResult) -> str:
    failed = [] if result.ok else [f"The call failed: {result.error}"]
    return "\n".join([*failed, *([result.content] if result.content else [])]) or "(nothing)"


def _nothing_said(role: str, *, turns: int, problem: str, said: str) -> NoUsableAnswer:
    who = role.replace("_", " ")
    quote = " ".join(said.split())[:LONGEST_QUOTE] or "nothing"
    return NoUsableAnswer(
        f"The {who} gave no usable answer in {turns} turns ({problem}). It said last: {quote}", role=role
    )
