"""Whether a call was made before, told from the record of calls: by tool and parameters, whatever words ask for it."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reflection_app.loops.diagnosis.fallback_tools import is_reading
from reflection_app.loops.texts import word_set
from reflection_app.loops.tool_calls import ToolCall, ToolSpec
from reflection_app.loops.tool_permission import is_wording

# The parameters that say whom a call reaches and what it is about, by the words of their names. Two calls that agree
# in both do the same thing twice, though the text that goes with them is worded anew.
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
    """The calls of a run that were carried out, or that nobody can say were not, in their order."""

    calls: list[ToolCall] = field(default_factory=list)

    def holds(self, call: ToolCall, *, tools: Sequence[ToolSpec] = ()) -> bool:
        """Whether `call` would do again what is done. To read once more is new where something was changed since."""
        calls = self.calls
        if is_reading(call.tool):
            changed = [place for place, one in enumerate(calls) if not is_reading(one.tool)]
            calls = calls[changed[-1] + 1 :] if changed else calls
        schema = next((tool.parameters for tool in tools if tool.name == call.tool), {})
        return any(is_same_call(call, one, schema=schema) or has_same_effect(call, one) for one in calls)


def is_same_call(call: ToolCall, made: ToolCall, *, schema: Mapping[str, Any]) -> bool:
    """Whether tool and parameters are the same but for writing: case, spaces, order, numbers as text, defaults."""
    return call.tool == made.tool and _plain(call, schema) == _plain(made, schema)


def has_same_effect(call: ToolCall, made: ToolCall) -> bool:
    """Whether a call that changes something reaches the same with the same, and differs in free text alone."""
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
    """The arguments as they are compared: without those that say nothing, or what the tool takes anyway."""
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
    """A value of JSON as it is compared with another; None where it says nothing."""
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
    """Recipients in any order are the same ones, written as a list or with commas between."""
    listed = re.split(r"[,;，；]\s*", value) if isinstance(value, str) else value
    if isinstance(listed, list) and all(isinstance(one, str | float) for one in listed):
        return frozenset(listed)
    return frozenset([value]) if isinstance(value, str | float) else value


def _is_wording(one: Any, other: Any) -> bool:
    texts = [text for text in (one, other) if text is not None]
    return all(isinstance(text, str) for text in texts) and any(map(is_wording, texts))
