"""Decides whether a tool may be called without asking a reviewer. Pure; asking is in permission_asking.py.

A tool's effect class says how far a call reaches. A call that a model proposed needs a ground: the tool only reads, an
admin allowed it, it saves what this run produced, or the task asks for this deed in its own words. Otherwise a
reviewer decides. A wrong yes cannot be undone, so every doubt is asked.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import JsonValue

from judgement.operation_words import ACTION, LIGHT
from judgement.same_operation import pieces
from reflection_app.loops.completeness.checks import stands_in
from reflection_app.loops.storable import Text
from reflection_app.loops.tool_calls import ToolCall, ToolSpec
from reflection_app.loops.values import Value


class ToolEffect(StrEnum):
    """How far a call reaches: it only reads, it writes in the project's own space, or it acts on the outside."""

    READ = "read"
    WRITE = "write"
    EXTERNAL = "external"


def effect_by_config(kind: str, config: Mapping[str, Any]) -> ToolEffect:
    """Return the effect class by a tool's way of calling; external if it is not known.

    An MCP server describes its own tools. Its hints are believed because an admin registered it, unless they
    contradict each other.
    """
    if kind == "builtin":
        # They see the files of the task and a sandbox without network, and change neither.
        return ToolEffect.READ
    if kind == "http":
        return ToolEffect.READ if config.get("method", "GET") == "GET" else ToolEffect.EXTERNAL
    hints = config.get("annotations")
    if not isinstance(hints, dict) or hints.get("destructive"):
        return ToolEffect.EXTERNAL
    if hints.get("read_only"):
        return ToolEffect.READ
    is_local = all(hints.get(name) is False for name in ("read_only", "destructive", "open_world"))
    return ToolEffect.WRITE if is_local else ToolEffect.EXTERNAL


class ToolRule(Value):
    """The effect class of a tool as the run began, and whether an admin allowed calls of it without asking."""

    effect: ToolEffect = ToolEffect.EXTERNAL
    is_allowed: bool = False


class Ground(StrEnum):
    """Why a call may be made."""

    READS = "reads"
    SUBMITTED = "submitted"
    SETTING = "setting"
    SAVES_RESULT = "saves_result"
    TASK_WORDS = "task_words"
    REVIEWER = "reviewer"


class PreparedCall(Value):
    """A call before it is made: exactly these arguments are sent if a reviewer allows it."""

    tool: str
    arguments: dict[str, JsonValue]
    effect: ToolEffect


class Permission(Value):
    """The decision on one call. `ground` is None where a reviewer has to be asked; `quote` are the task's words."""

    call: PreparedCall
    ground: Ground | None = None
    quote: Text = ""


@dataclass
class CallGate:
    """What one run may call. `produced` is what its steps brought so far, `refused` the calls that a reviewer refused.

    A tool without a rule counts as external.
    """

    objective: str
    rules: Mapping[str, ToolRule]
    submitted: ToolCall | None = None
    produced: list[str] = field(default_factory=list)
    refused: list[tuple[ToolCall, str]] = field(default_factory=list)

    def prepare(self, call: ToolCall) -> PreparedCall:
        effect = self.rules.get(call.tool, ToolRule()).effect
        return PreparedCall(tool=call.tool, arguments=call.arguments, effect=effect)

    def ground_of(self, call: ToolCall, *, tool: ToolSpec) -> Ground | None:
        """Return why the call may be made; None where code alone cannot decide."""
        rule = self.rules.get(call.tool, ToolRule())
        if rule.effect is ToolEffect.READ:
            return Ground.READS
        # The submitter wrote this call. A value that was only brought into the schema's type is still theirs.
        if self.submitted is not None and is_coerced(call, self.submitted, schema=tool.parameters):
            return Ground.SUBMITTED
        if rule.is_allowed:
            return Ground.SETTING
        if rule.effect is ToolEffect.WRITE and saves_produced(call, self.produced):
            return Ground.SAVES_RESULT
        return None

    def refusal_of(self, call: ToolCall) -> str:
        """Return what the reviewer said of this very call, or an empty text. A refused call is not asked for again."""
        return next((why for refused, why in self.refused if refused == call), "")


def is_coerced(call: ToolCall, given: ToolCall, *, schema: Mapping[str, Any]) -> bool:
    """Return True if `call` is `given` but for JSON types ("77" for 77) and defaults of the schema."""
    if call.tool != given.tool:
        return False
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    for name in call.arguments.keys() | given.arguments.keys():
        if name in call.arguments and name in given.arguments:
            if _as_text(call.arguments[name]) != _as_text(given.arguments[name]):
                return False
        elif name in given.arguments or not _is_default(call.arguments[name], known.get(name)):
            return False
    return True


def _is_default(value: JsonValue, schema: Any) -> bool:
    return isinstance(schema, dict) and "default" in schema and bool(schema["default"] == value)


def _as_text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


# What the run produced, found again in the arguments.

SHORTEST_WORDING = 24
SHORTEST_CHINESE_WORDING = 8
SHORTEST_NAME = 3
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CHINESE = re.compile(f"[{_HAN}]")


def saves_produced(call: ToolCall, produced: Sequence[str]) -> bool:
    """Return True if some argument carries a result of this run: its text, or the name that a tool gave to it."""
    values = [_in_one_line(value) for value in leaves(call.arguments) if isinstance(value, str)]
    for result in produced:
        whole = _in_one_line(result)
        names = {name for name in _names_in(result) if len(name) >= SHORTEST_NAME}
        for value in values:
            if value in names or (is_wording(value) and value in whole) or (is_wording(whole) and whole in value):
                return True
    return False


def _names_in(result: str) -> Iterator[str]:
    yield _in_one_line(result)
    if result.lstrip()[:1] in {"{", "["}:
        try:
            value = json.loads(result)
        except (ValueError, RecursionError):
            return
        yield from (_in_one_line(one) for one in leaves(value) if isinstance(one, str))


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def is_wording(text: str) -> bool:
    """Return True for free text, which may be worded anew; what is shorter or has no space names something."""
    if len(_CHINESE.findall(text)) >= SHORTEST_CHINESE_WORDING:
        return True
    return len(text) >= SHORTEST_WORDING and " " in text.strip()


def leaves(value: JsonValue) -> Iterator[str | int | float | bool | None]:
    """Yield the values at the ends of a JSON value. Without recursion: models nest as deep as they like."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
        else:
            yield one


# The task's own words, as another model quoted them. Its yes is only believed where code finds the deed in the quote.


def asks_for_deed(quote: str, *, objective: str, call: ToolCall, tool: ToolSpec) -> bool:
    """Return True if the task has the quote and each identifying value, and the quote names what the tool does."""
    return (
        stands_in(quote, objective)
        and names_deed(quote, tool)
        and all(is_named(value, objective) for value in _identifying(call, schema=tool.parameters))
    )


def names_deed(quote: str, tool: ToolSpec) -> bool:
    """Return True if a word of the quote is what the tool does, and not only what it does it to.

    The trained table of operations knows “pay” and “settle” as one deed and “check” as another. It reads English and
    Chinese; what it does not know is not found.
    """
    first = re.split(r"(?<=[.!?。！？])\s*|\n", tool.description.strip(), maxsplit=1)[0]
    name = re.sub(r"[\W_]+", " ", tool.name.rsplit("__", 1)[-1])
    deeds = {word for text in (name, first) for sense in pieces(text).actions for word in sense}
    said = {f"{ACTION}{word.removeprefix(ACTION)}" for sense in pieces(quote).senses for word in sense}
    return bool((said & deeds) - LIGHT)


def _identifying(call: ToolCall, *, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values that say to whom and to what: not wording, switches or what the schema takes anyway."""
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    for name, value in call.arguments.items():
        if _is_default(value, known.get(name)):
            continue
        for leaf in leaves(value):
            if leaf is None or isinstance(leaf, bool):
                continue
            text = _as_text(leaf)
            if text and not is_wording(text):
                yield text


def is_named(value: str, objective: str) -> bool:
    """Return True if the task has the value as a whole word: 77 does not name 7."""
    word, text = (unicodedata.normalize("NFKC", one).casefold() for one in (value, objective))
    # Chinese has no spaces: a character next to a name in letters is no part of it.
    start = "" if _CHINESE.match(word[:1]) else rf"(?<![^\W{_HAN}])"
    end = "" if _CHINESE.match(word[-1:]) else rf"(?![^\W{_HAN}])"
    return bool(re.search(f"{start}{re.escape(word)}{end}", text))
