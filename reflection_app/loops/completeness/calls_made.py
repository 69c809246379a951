"""Duplicate detection: find out from tool and parameters whether a call was made before, regardless of wording."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reflection_app.loops.diagnosis.fallback_tools import is_reading
from reflection_app.loops.texts import word_set
from reflection_app.loops.tool_calls import ToolCall, ToolSpec
from reflection_app.loops.tool_permission import is_wording

# Words in the names of parameters that identify recipient and subject. Two calls that agree in both do the same thing
# twice, even if their free text differs.
WHOM = word_set(
    "to recipient recipients receiver payee email mail address phone account iban user customer channel chat contact "
    "attendee attendees 收件人 收款人 接收人 用户 邮箱"
)
ABOUT = word_set(
    "subject title topic amount sum item product sku order invoice quantity date 主题 标题 金额 商品 订单 数量 日期"
)
LONGEST_COMPARED = 20_000
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?")
_IN_BRACKETS = re.compile(r"<([^<>\s@]++@[^<>\s]++)>\s*+$")
_NAME_PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")


@dataclass
class CallsMade:
    """The run's calls in order that were executed, or may have been."""

    calls: list[ToolCall] = field(default_factory=list)

    def holds(self, call: ToolCall, *, tools: Sequence[ToolSpec] = ()) -> bool:
        """Return True if `call` would repeat a call. Reading again is new if something changed since."""
        calls = self.calls
        if is_reading(call.tool):
            changed = [place for place, one in enumerate(calls) if not is_reading(one.tool)]
            calls = calls[changed[-1] + 1 :] if changed else calls
        schema = next((tool.parameters for tool in tools if tool.name == call.tool), {})
        return any(is_same_call(call, one, schema=schema) or has_same_effect(call, one) for one in calls)


def is_same_call(call: ToolCall, made: ToolCall, *, schema: Mapping[str, Any]) -> bool:
    """Return True if tool and parameters are equal, apart from notation.

    Case, white space, order, numbers as text, and default values do not count.
    """
    return call.tool == made.tool and _plain(call, schema) == _plain(made, schema)


def has_same_effect(call: ToolCall, made: ToolCall) -> bool:
    """Return True if both calls change the same thing for the same recipient.

    They may differ in free text only. Return False for reading calls.
    """
    if call.tool != made.tool or is_reading(call.tool):
        return False
    one, other = _plain(call, {}), _plain(made, {})
    for words in (WHOM, ABOUT):
        names = {name for name in one.keys() | other.keys() if _says(name, words)}
        if not names or any(_reached(one.get(name)) != _reached(other.get(name)) for name in names):
            return False
    differing = [name for name in one.keys() | other.keys() if _reached(one.get(name)) != _reached(other.get(name))]
    return all(_is_wording(one.get(name), other.get(name)) for name in differing)


def _plain(call: ToolCall, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the normalized arguments, without empty ones and those equal to the tool's defaults."""
    known = schema.get("properties")
    defaults = {
        name: one["default"]
        for name, one in (known.items() if isinstance(known, dict) else ())
        if isinstance(one, dict) and "default" in one
    }
    plain = {name: normalised(value) for name, value in call.arguments.items()}
    return {
        name: value
        for name, value in plain.items()
        if value is not None and not (name in defaults and value == normalised(defaults[name]))
    }


def normalised(value: Any) -> Any:
    """Return the normalized JSON value for comparison, or None if it is empty."""
    if isinstance(value, str):
        text = " ".join(unicodedata.normalize("NFKC", value[:LONGEST_COMPARED]).casefold().split())
        if address := _IN_BRACKETS.search(text):
            return address[1]
        return float(text) if _NUMBER.fullmatch(text) else text.rstrip(".!。！ ") or None
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, list):
        items = [one for one in map(normalised, value) if one is not None]
        return items[0] if len(items) == 1 else items or None
    inner = {name: one for name, one in ((name, normalised(each)) for name, each in value.items()) if one is not None}
    return inner or None


def _says(name: str, words: frozenset[str]) -> bool:
    return any(part.casefold() in words for part in _NAME_PARTS.split(name))


def _reached(value: Any) -> Any:
    """Return recipients as a set, whether given as a list or separated by commas or semicolons."""
    listed = re.split(r"[,;，；]\s*", value) if isinstance(value, str) else value
    if isinstance(listed, list) and all(isinstance(one, str | float) for one in listed):
        return frozenset(listed)
    return frozenset([value]) if isinstance(value, str | float) else value


def _is_wording(one: Any, other: Any) -> bool:
    texts = [text for text in (one, other) if text is not None]
    return all(isinstance(text, str) for text in texts) and any(map(is_wording, texts))
