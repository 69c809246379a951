"""Decide whether a tool may be called without a review. Pure; permission_asking.py requests reviews.

A tool's effect class says how far a call reaches. A call proposed by a model needs a ground. Grounds are: the tool only
reads, an admin allowed it, it saves what this run produced, or the task's own words request it. Otherwise a reviewer
decides. A wrong yes cannot be undone, so every doubt leads to a review.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import JsonValue

from judgement.operation_words import ACTION, LIGHT, NOT, meanings
from judgement.same_operation import LONGEST, pieces
from reflection_app.loops.completeness.checks import stands_in
from reflection_app.loops.storable import Text, leaves
from reflection_app.loops.texts import one_line
from reflection_app.loops.tool_calls import ToolCall, ToolSpec
from reflection_app.loops.values import Value


class ToolEffect(StrEnum):
    """Effect of a tool call: only reads, writes within the project, or acts on external systems."""

    READ = "read"
    WRITE = "write"
    EXTERNAL = "external"


def effect_by_config(kind: str, config: Mapping[str, Any]) -> ToolEffect:
    """Return the effect class from a tool's configuration; EXTERNAL if unknown.

    An MCP server describes its own tools. Its hints are trusted because an admin registered it, unless they contradict
    each other.
    """
    if kind == "builtin":
        # Built-in tools only see the task's files and a sandbox without network, and change neither.
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
    """A tool's effect class at the start of the run, and whether an admin allowed calls without review."""

    effect: ToolEffect = ToolEffect.EXTERNAL
    is_allowed: bool = False


class Ground(StrEnum):
    """Reason a call is permitted."""

    READS = "reads"
    SUBMITTED = "submitted"
    SETTING = "setting"
    SAVES_RESULT = "saves_result"
    TASK_WORDS = "task_words"
    REVIEWER = "reviewer"


class PreparedCall(Value):
    """A pending call: exactly these arguments are sent if a reviewer allows it."""

    tool: str
    arguments: dict[str, JsonValue]
    effect: ToolEffect


class Permission(Value):
    """The decision on one call. `ground` is None if a review is needed; `quote` is from the task."""

    call: PreparedCall
    ground: Ground | None = None
    quote: Text = ""


@dataclass
class CallGate:
    """Calls that one run may make.

    `produced` are its results so far, `refused` the calls that a reviewer refused with the reasons. `made` are calls
    that were executed, or may have been. A tool without a rule counts as external.
    """

    objective: str
    rules: Mapping[str, ToolRule]
    submitted: ToolCall | None = None
    produced: list[str] = field(default_factory=list)
    refused: list[tuple[ToolCall, str]] = field(default_factory=list)
    made: list[ToolCall] = field(default_factory=list)

    def prepare(self, call: ToolCall) -> PreparedCall:
        effect = self.rules.get(call.tool, ToolRule()).effect
        return PreparedCall(tool=call.tool, arguments=call.arguments, effect=effect)

    def ground_of(self, call: ToolCall, *, tool: ToolSpec) -> Ground | None:
        """Return why the call may be made, or None if code alone cannot decide."""
        rule = self.rules.get(call.tool, ToolRule())
        if rule.effect is ToolEffect.READ:
            return Ground.READS
        # The submitter wrote this call. A value that was only converted to the schema's type is still theirs.
        is_submitted = self.submitted is not None and is_coerced(call, self.submitted, schema=tool.parameters)
        if is_submitted and not self.is_made(call, tool=tool):
            return Ground.SUBMITTED
        if rule.is_allowed:
            return Ground.SETTING
        if rule.effect is ToolEffect.WRITE and saves_produced(call, self.produced):
            return Ground.SAVES_RESULT
        return None

    def is_made(self, call: ToolCall, *, tool: ToolSpec) -> bool:
        """Return True if the run has made this call. A single request does not justify a second call."""
        return any(is_coerced(call, one, schema=tool.parameters) for one in self.made)

    def refusal_of(self, call: ToolCall) -> str:
        """Return the reviewer's reason for refusing this call, or "". Refused calls are not requested again."""
        return next((why for refused, why in self.refused if refused == call), "")


def is_coerced(call: ToolCall, given: ToolCall, *, schema: Mapping[str, Any]) -> bool:
    """Return True if `call` equals `given` apart from JSON types ("77" for 77) and schema defaults."""
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


# Results of the run that recur in arguments

SHORTEST_WORDING = 24
SHORTEST_CHINESE_WORDING = 8
SHORTEST_NAME = 3
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CHINESE = re.compile(f"[{_HAN}]")


def saves_produced(call: ToolCall, produced: Sequence[str]) -> bool:
    """Return True if an argument contains a result of this run: its text, or a name that a tool returned."""
    values = [one_line(value) for value in leaves(call.arguments) if isinstance(value, str)]
    for result in produced:
        whole = one_line(result)
        names = {name for name in _names_in(result) if len(name) >= SHORTEST_NAME}
        for value in values:
            if value in names or (is_wording(value) and value in whole) or (is_wording(whole) and whole in value):
                return True
    return False


def _names_in(result: str) -> Iterator[str]:
    yield one_line(result)
    if result.lstrip()[:1] in {"{", "["}:
        try:
            value = json.loads(result)
        except (ValueError, RecursionError):
            return
        yield from (one_line(one) for one in leaves(value) if isinstance(one, str))


def is_wording(text: str) -> bool:
    """Return True for free text, which may be reworded. Shorter texts and those without spaces are names."""
    if len(_CHINESE.findall(text)) >= SHORTEST_CHINESE_WORDING:
        return True
    return len(text) >= SHORTEST_WORDING and " " in text.strip()


# Quotes of the task by another model. Its yes counts only if code finds the action in the quote.

MOST_VALUES = 50
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_HAS_SENTENCE = re.compile(r"[.!?](?:\s|$)|[。！？]")
_TOKEN = re.compile(r"[^\s,;<>()\[\]\"']+")


def asks_for_deed(quote: str, *, objective: str, call: ToolCall, tool: ToolSpec) -> bool:
    """Return True if the task contains the quote and each identifying value, and requests the tool's action.

    The sentence around the quote counts too. A sentence with a negation requests nothing. If it names objects, the call
    must have no others: “Pay invoice 77. Check invoice 78.” does not request paying 78.
    """
    # A sentence much shorter than the quote cannot contain it; the filter saves comparing each one in full.
    long_enough = (one for one in _SENTENCE_END.split(objective) if len(one) * 2 >= len(quote))
    sentences = [one for one in long_enough if stands_in(quote, one)]
    if not sentences or not all(is_order(one) for one in sentences):
        return False
    values = list(_identifying(call, schema=tool.parameters))
    named = [one for one in sentences if pieces(one).names]
    # “Delete a.txt” does not request a call that names no file. A call with more values goes to a reviewer.
    if (named and not values) or len(values) > MOST_VALUES:
        return False
    where = "\n".join(named) or objective
    return any(names_deed(quote, tool, sentence=one) for one in sentences) and all(
        is_named(value, where) for value in values
    )


def is_order(sentence: str) -> bool:
    """Return True if the sentence is short enough to be read in full and contains no negation."""
    plain = re.sub(r"n['’′`]t\b", " not", sentence)
    return len(plain) <= LONGEST and not any(NOT in sense for sense in pieces(plain).senses)


def names_deed(quote: str, tool: ToolSpec, *, sentence: str = "") -> bool:
    """Return True if the quote contains all actions of the tool, and not only their objects.

    The table of operations treats “pay” and “settle” as one action and “check” as another. It covers English and
    Chinese; unknown words do not match. The tool's name is used if the table knows it, else the first sentence of its
    description.
    """
    first = quote.split(maxsplit=1)[0]
    # “Mail” is an action and a thing: it is an action at the beginning of an order.
    begins = pieces(first).senses if sentence.lstrip(" *-#>").startswith(first) else ()
    told = [sense for sense in pieces(quote).senses if len(sense) == 1 or all(one.startswith(ACTION) for one in sense)]
    said = {f"{ACTION}{word.removeprefix(ACTION)}" for sense in (*told, *begins) for word in sense}
    deeds = _deeds_of(tool)
    return bool(deeds) and all(sense & said for sense in deeds)


def _deeds_of(tool: ToolSpec) -> list[frozenset[str]]:
    name = re.sub(r"[\W_]+", " ", tool.name.rsplit("__", 1)[-1])
    first = re.split(r"(?<=[.!?。！？])\s*|\n", tool.description.strip(), maxsplit=1)[0]
    by_name, by_description = ([sense for sense in pieces(text).actions if not sense & LIGHT] for text in (name, first))
    return by_name if any(map(_is_known, by_name)) else by_description or by_name


def _is_known(sense: frozenset[str]) -> bool:
    known = meanings()
    return any(sense <= other for other in (*known.english.values(), *known.chinese.values()))


def _identifying(call: ToolCall, *, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values that identify recipient and object: no sentences, and no defaults of the schema.

    An empty text, and a switch that is on or differs from its default, widen a call and are yielded too. Sentences
    yield the addresses and paths in them.
    """
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    for name, value in call.arguments.items():
        if _is_default(value, known.get(name)):
            continue
        yield from (key for key in _keys(value) if key not in _property_names(known.get(name)))
        has_default = isinstance(known.get(name), dict) and "default" in known[name]
        for leaf in leaves(value):
            if leaf is None or (leaf is False and not has_default):
                continue
            text = _as_text(leaf)
            if is_wording(text) and _HAS_SENTENCE.search(text):
                tokens = (token.strip(".:!?") for token in _TOKEN.findall(text))
                yield from (token for token in tokens if any(sign in token for sign in "@/\\"))
            else:
                yield text


def _keys(value: JsonValue) -> Iterator[str]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            yield from one
            left += one.values()
        elif isinstance(one, list):
            left += one


def _property_names(schema: Any) -> set[str]:
    """Return the property names in the schema at any depth."""
    found, left = set[str](), [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            inner = one.get("properties")
            found |= set(inner) if isinstance(inner, dict) else set()
            left += one.values()
        elif isinstance(one, list):
            left += one
    return found


def is_named(value: str, text: str) -> bool:
    """Return True if the text contains the whole value: 77 matches neither 7 nor 77.50, a path not its folder.

    The text may use full-width characters, the value may not: a tool would treat it as another name.
    """
    if not any(sign.isalnum() for sign in value):
        return False
    word = value.casefold()
    # Chinese has no spaces: a Chinese character next to a Latin name is not part of it.
    letter = rf"[^\W{_HAN}]"
    start = "" if _CHINESE.match(word[:1]) else rf"(?<!{letter})"
    end = "" if _CHINESE.match(word[-1:]) else rf"(?!{letter})"
    start += rf"(?<![/\\@~-])(?<!\d[.,:])(?<!{letter}\.)"
    end += rf"(?![/\\@-]|[.,:]\d|\.{letter})"
    apart = f"{start}{re.escape(word)}{end}"
    return any(re.search(apart, one.casefold()) for one in (text, unicodedata.normalize("NFKC", text)))
