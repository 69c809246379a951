"""Post-run reflection: an error reflector and a memory reflector read finished work.

Both alternate reasoning and tool calls: the model reads what it needs, then reports its findings.

Every model call counts as a turn, including one with an unusable reply. Calls never exceed the turn limit.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BeforeValidator, Field, JsonValue, ValidationError, model_validator

from reflection_app.loops.after.findings import (
    LONGEST_NAME,
    MOST_FOUND,
    ErrorFound,
    ErrorsFound,
    MemoriesFound,
    MemoryFound,
    MemoryType,
    SessionRead,
)
from reflection_app.loops.answer_reading import Lenient, UnusableAnswerError
from reflection_app.loops.answer_schemas import TEXT, list_of, one_of, open_object
from reflection_app.loops.answers import (
    NoUsableAnswer,
    asking_for,
    nonce_of,
    read_generation,
    shown_again,
    shown_in,
    with_nonce,
)
from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import ReadSession, RecordFindings, RecordMemories, Turn
from reflection_app.loops.framing import framed
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.error_classes import LenientText, as_text
from reflection_app.loops.session_reflections import AnyFinding, Finding
from reflection_app.loops.storable import is_storable
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.texts import cut_middle
from reflection_app.loops.tool_calls import is_too_deep
from reflection_app.loops.values import Message, assistant, system, user
from reflection_app.loops.verdicts import Outcome

# Lenient schemas of the reflectors' replies: an empty item is dropped without affecting the others.

LONGEST_CONTENT = 8_000
WRAPPED_IN = ("final_answer", "answer", "result", "output")
PREFERENCES = frozenset({"preference", "user_preference", "style", "habit"})
RULES = frozenset({"rule", "constraint", "requirement"})


def _score(value: Any) -> float | None:
    """Return a score from 0 to 100, or None if `value` is not a number. A number between 0 and 1 is a share."""
    text, _, most = str(value).strip().partition("/")
    try:
        number = float(text.removesuffix("%"))
        if most:
            number *= 100 / float(most)
        elif 0 < number < 1 and not text.endswith("%"):
            number *= 100
    except (ValueError, ZeroDivisionError):
        return None
    return min(100.0, max(0.0, number)) if number == number else None  # noqa: PLR0124 - NaN is unlike itself


def _memory_type(value: Any) -> MemoryType:
    """Return the memory type for `value`. Models invent types; unknown ones become PROJECT."""
    name = str(value).strip().lower().replace(" ", "_")
    if name in PREFERENCES:
        return MemoryType.PREFERENCE
    return MemoryType.RULE if name in RULES else MemoryType.PROJECT


class FindingAnswer(Lenient):
    category: AnyFinding = Finding.OTHER
    description: LenientText = Field(min_length=1, validation_alias=AliasChoices("description", "issue", "problem"))
    cause: LenientText = Field(default="", validation_alias=AliasChoices("cause", "root_cause", "reason"))
    suggestion: LenientText = Field(default="", validation_alias=AliasChoices("suggestion", "fix", "recommendation"))

    @model_validator(mode="after")
    def check_it_says_something(self) -> Self:
        if not self.description:
            raise ValueError("the description is empty")
        return self


class MemoryAnswer(Lenient):
    type: Annotated[MemoryType, BeforeValidator(_memory_type)] = MemoryType.PROJECT
    name: LenientText = ""
    description: LenientText = ""
    content: Annotated[str, BeforeValidator(partial(as_text, longest=LONGEST_CONTENT))] = ""

    @model_validator(mode="after")
    def check_it_says_something(self) -> Self:
        if not (self.name or self.description or self.content):
            raise ValueError("it says nothing")
        return self

    def memory(self) -> MemoryFound:
        name = " ".join((self.name or self.description or self.content).split())
        return MemoryFound(
            type=self.type, name=name[:LONGEST_NAME].rstrip(), description=self.description, content=self.content
        )


def _readable[A: Lenient](value: Any, *, schema: type[A]) -> list[A]:
    """Return the items of a list that validate. Raise ValueError if `value` is not a list."""
    if value is None:
        return []
    items = [value] if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise ValueError("must be a list of objects")
    found: list[A] = []
    for item in items:
        try:
            found.append(schema.model_validate(item))
        except ValidationError:
            continue
    return found[:MOST_FOUND]


def _unwrapped(value: Any, *, key: str) -> Any:
    """Return `value`, or the object nested in it under a usual name for an answer."""
    if isinstance(value, dict) and key not in value:
        inside = next((value[name] for name in WRAPPED_IN if isinstance(value.get(name), dict)), None)
        return value if inside is None else inside
    return value


class ErrorsAnswer(Lenient):
    """The error reflector's final reply. `findings` is required and may be empty."""

    score: Annotated[float | None, BeforeValidator(_score)] = None
    findings: Annotated[
        tuple[FindingAnswer, ...], BeforeValidator(lambda value: tuple(_readable(value, schema=FindingAnswer)))
    ]

    @model_validator(mode="before")
    @classmethod
    def unwrap(cls, value: Any) -> Any:
        return _unwrapped(value, key="findings")

    def found(self) -> ErrorsFound:
        findings = tuple(ErrorFound.model_validate(one.model_dump()) for one in self.findings)
        return ErrorsFound(score=self.score, findings=findings)


class MemoriesAnswer(Lenient):
    """The memory reflector's final reply. `memories` is required and may be empty."""

    memories: Annotated[
        tuple[MemoryAnswer, ...], BeforeValidator(lambda value: tuple(_readable(value, schema=MemoryAnswer)))
    ]

    @model_validator(mode="before")
    @classmethod
    def unwrap(cls, value: Any) -> Any:
        return _unwrapped(value, key="memories")

    def found(self) -> MemoriesFound:
        return MemoriesFound(memories=tuple(one.memory() for one in self.memories))


def _arguments(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError("must be an object") from None
    if is_too_deep(value) or not is_storable(value):
        raise ValueError("holds a number or a depth that cannot be kept")
    return value


class ToolAnswer(Lenient):
    """A tool call requested by a reflector."""

    tool: str = Field(min_length=1, max_length=64, validation_alias=AliasChoices("tool", "action", "tool_name"))
    arguments: Annotated[dict[str, JsonValue], BeforeValidator(_arguments)] = Field(
        default_factory=dict, validation_alias=AliasChoices("arguments", "action_input", "args", "parameters", "input")
    )


TEMPERATURE = 0.3
READING_TOOLS = ("read_file", "grep_search")
LONGEST_RESULT = 8_000
LONGEST_QUOTE = 500
TOOL_TIMEOUT_S = 10.0
# Minimum tokens of a further turn beyond those of the last one: the tool's result and the reply to it.
TOKENS_OF_A_TURN = 3_000


async def session_of(run: Progress, *, with_known: bool = False) -> SessionRead:
    """Return the finished work to read. Raise EffectFailed if none of it is stored anymore."""
    session = await run.perform(ReadSession(key="session", with_known=with_known))
    if not session.conversation:
        raise EffectFailed("there is nothing to look back at any more")
    return session


async def look_back[A: Lenient](
    run: Progress,
    *,
    role: str,
    key: str,
    messages: tuple[Message, ...],
    answer: type[A],
    schema: dict[str, Any],
    most_turns: int,
) -> A:
    """Return the model's final reply, after at most `most_turns` model calls.

    Raise NoUsableAnswer, LimitReached or EffectTimedOut if there is none.
    """
    nonce = nonce_of(key, messages)
    messages, took = asking_for(nonce, messages), 0
    # Before its last turn a model may call a tool instead, so no field of the answer is required.
    call = {"tool": {"type": "string", "enum": list(READING_TOOLS)}, "arguments": {"type": "object"}}
    answer_or_call = {**schema, "required": [], "properties": call | schema["properties"]}
    for turn in range(1, most_turns + 1):
        run.check_limits()
        is_last = turn == most_turns or (turn > 1 and run.tokens_left < 2 * took + TOKENS_OF_A_TURN)
        spent, sent = run.tokens, messages
        if is_last:
            sent = (*messages[:-1], user(f"{messages[-1].content}\n\n{prompt('after_last')}"))
        request = run.model_call(
            key=f"{key}-{turn}",
            role=role,
            messages=sent,
            temperature=TEMPERATURE,
            json_schema=with_nonce(schema if is_last else answer_or_call),
        )
        generation = await run.perform(request)
        took = run.tokens - spent
        # The final reply if there is one, otherwise a tool call.
        found: A | ToolAnswer | None = None
        try:
            found = read_generation(generation, schema=answer, asked=shown_in(messages), nonce=nonce)
        except UnusableAnswerError as error:
            if is_last:
                quote = " ".join(generation.text.split())[:LONGEST_QUOTE] or "nothing"
                raise NoUsableAnswer(
                    f"The {role.replace('_', ' ')} gave no usable answer in {turn} turns ({error}). "
                    f"It said last: {quote}",
                    role=role,
                ) from None
            try:
                found = read_generation(generation, schema=ToolAnswer)
            except UnusableAnswerError:
                reply = prompt("structured_again", error=str(error))
        if isinstance(found, ToolAnswer):
            if found.tool in READING_TOOLS:
                run.check_limits()
                timeout_s = min(TOOL_TIMEOUT_S, run.time_left_s())
                looked_up = await run.perform(
                    CallTool(key=f"{key}-{turn}/tool", tool=found.tool, arguments=found.arguments, timeout_s=timeout_s)
                )
                lines = [] if looked_up.ok else [f"The call failed: {looked_up.error}"]
                lines += [looked_up.content] if looked_up.content else []
                text = framed("\n".join(lines) or "(nothing)", name="result", most=LONGEST_RESULT)
                reply = prompt("after_result", tool=found.tool, result=text)
            else:
                there_are = f"There are only {' and '.join(READING_TOOLS)}."
                reply = prompt("after_result", tool="no tool", result=there_are)
        elif found is not None:
            return found
        messages = (*messages, assistant(shown_again(generation)), user(reply))
    raise AssertionError("the last turn returns or raises")


# A finished conversation as text: complete for the tools, bounded for the first prompt.

# Name of the file in which tools find the complete conversation.
SESSION_FILE = "session.txt"
LONGEST_SHOWN = 24_000
# Turns are shortened evenly before any is omitted: for reflection, early turns matter as much as late ones.
TURN_LENGTHS = (24_000, 8_000, 4_000, 2_000, 1_000, 500, 300)
FIRST_TURNS = 5
INDENTED = "\n  "
LONGEST_FILE = 4_000_000


def whole_text(turns: Sequence[Turn]) -> str:
    """Return all turns, oldest first. A conversation over LONGEST_FILE characters loses its middle."""
    return cut_middle("\n\n".join(line_of(turn) for turn in turns), LONGEST_FILE)


def shown_text(turns: Sequence[Turn]) -> str:
    """Return at most LONGEST_SHOWN characters: all turns, shortened if needed, or the first few and the newest."""
    for longest in TURN_LENGTHS:
        lines = [line_of(turn, longest=longest) for turn in turns]
        if sum(map(len, lines)) + 2 * len(lines) <= LONGEST_SHOWN:
            return "\n\n".join(lines)
    first = list(lines[:FIRST_TURNS])
    room = LONGEST_SHOWN - sum(map(len, first)) - 2 * len(first) - 200
    newest: list[str] = []
    for line in reversed(lines[FIRST_TURNS:]):
        if len(line) + 2 > room:
            break
        room -= len(line) + 2
        newest.append(line)
    left_out = len(lines) - len(first) - len(newest)
    return "\n\n".join([*first, f"[{left_out} turns are not shown here; see {SESSION_FILE}]", *reversed(newest)])


def line_of(turn: Turn, *, longest: int | None = None) -> str:
    """Return the turn as text, with its number, speaker, and a mark if a tool failed.

    Continuation lines are indented, so none of them can imitate the start of another turn.
    """
    who = " ".join(f"{turn.role} {turn.tool_name}".split())[:120]
    mark = " FAILED" if turn.is_tool_failure else ""
    text = turn.content if longest is None else cut_middle(turn.content, longest)
    return f"[{turn.seq}] {who}{mark}: {INDENTED.join(text.splitlines())}"


# The work as shown to a reflector: as data, in frames that their content cannot close.

LONGEST_OBJECTIVE = 4_000
LONGEST_ENDED = 1_000
LONGEST_ERRORS = 6_000
LONGEST_NAMES = 3_000
LONGEST_KNOWN = 6_000


def session_prompt(session: SessionRead) -> str:
    """Return the part of the prompt that both reflectors share."""
    errors = "\n".join(f"- {error}" for error in session.tool_errors)
    files = "\n".join([SESSION_FILE, *session.files])
    return prompt(
        "after_session",
        objective=framed(session.objective or "(not stated)", name="objective", most=LONGEST_OBJECTIVE),
        # The outcome may quote model output, so it is framed.
        ended=framed(session.ended or "It has ended.", name="ended", most=LONGEST_ENDED),
        conversation=framed(session.conversation or "(empty)", name="session", most=LONGEST_SHOWN),
        errors=framed(errors or "(none)", name="errors", most=LONGEST_ERRORS),
        files=framed(files, name="files", most=LONGEST_NAMES),
    )


# For each reflector: its model role, the key prefix of its model calls, and its turn limit.
ERRORS_ROLE, ERRORS_KEY, ERRORS_TURNS = "error_reflector", "errors", 4
MEMORIES_ROLE, MEMORIES_KEY, MEMORIES_TURNS = "memory_reflector", "memories", 5

ERRORS_SCHEMA = open_object(
    score={"type": "number", "minimum": 0, "maximum": 100},
    findings=list_of(open_object(category=one_of(Finding), description=TEXT, cause=TEXT, suggestion=TEXT), most=10),
)
MEMORIES_SCHEMA = open_object(
    memories=list_of(open_object(type=one_of(MemoryType), name=TEXT, description=TEXT, content=TEXT), most=10)
)


async def error_reflection(spec: TaskSpec, run: Progress) -> Outcome:
    """Run the error reflector. Return SUCCEEDED once the findings are stored, even if there are none."""
    session = await session_of(run)
    answer = await look_back(
        run,
        role=ERRORS_ROLE,
        key=ERRORS_KEY,
        messages=(
            system(prompt("after_errors_system")),
            user(prompt("after_errors", session=session_prompt(session))),
        ),
        answer=ErrorsAnswer,
        schema=ERRORS_SCHEMA,
        most_turns=min(ERRORS_TURNS, spec.limits.max_iterations),
    )
    await run.perform(RecordFindings(key="findings", found=answer.found()))
    return Outcome.SUCCEEDED


async def memory_reflection(spec: TaskSpec, run: Progress) -> Outcome:
    """Run the memory reflector. Return SUCCEEDED once the memories are stored, even if there are none."""
    session = await session_of(run, with_known=True)
    known = "\n".join(f"- {one.name}: {one.description}" for one in session.known) or "(none yet)"
    answer = await look_back(
        run,
        role=MEMORIES_ROLE,
        key=MEMORIES_KEY,
        messages=(
            system(prompt("after_memories_system")),
            user(
                prompt(
                    "after_memories",
                    session=session_prompt(session),
                    known=framed(known, name="known", most=LONGEST_KNOWN),
                )
            ),
        ),
        answer=MemoriesAnswer,
        schema=MEMORIES_SCHEMA,
        most_turns=min(MEMORIES_TURNS, spec.limits.max_iterations),
    )
    await run.perform(RecordMemories(key="memories", found=answer.found()))
    return Outcome.SUCCEEDED
