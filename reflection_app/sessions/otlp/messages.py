"""Messages as instrumentations write them, in all forms that the GenAI conventions have had, as OpenAI's chat has them.

Roles, parts and calls come from agents: whatever is not understood becomes text, and nothing raises.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from reflection_app.loops.tool_arguments import is_too_deep

type Message = dict[str, Any]

ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}
KNOWN_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
ANSWERS = frozenset({"tool_call_response", "tool_result"})
CALLS = frozenset({"tool_call", "tool_use"})
THOUGHTS = frozenset({"reasoning", "thinking"})
TEXTS = frozenset({"text", "refusal", "input_text", "output_text"})
LONGEST_PARSED = 2_000_000


def read_json(value: Any) -> Any:
    """The value that an attribute holds as JSON text; the value itself where it is no such text."""
    if not isinstance(value, str) or value.lstrip()[:1] not in {"[", "{"} or len(value) > LONGEST_PARSED:
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if is_too_deep(read) else read


def written(value: Any) -> str:
    """A value as text: a text as it is, nothing as none, all else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def messages_of(value: Any, *, role: str) -> list[Message]:
    """The messages in a list of them, a single one, or a bare text, which is of `role`."""
    read = read_json(value)
    if isinstance(read, Mapping) and isinstance(read.get("messages"), list):
        read = read["messages"]
    items = read if isinstance(read, list) else [read]
    return [message for item in items for message in _messages_of_one(item, role=role)]


def _messages_of_one(item: Any, *, role: str) -> list[Message]:
    if not isinstance(item, Mapping):
        return [{"role": role, "content": written(item)}] if item not in (None, "") else []
    said = str(item.get("role") or role).lower()
    said = ROLES.get(said, said)
    said = said if said in KNOWN_ROLES else role
    parts = item.get("parts", item.get("content"))
    told = _from_parts(parts, role=said) if isinstance(parts, list) else [{"role": said, "content": written(parts)}]
    return _with_marks(told, item)


def _with_marks(messages: list[Message], item: Mapping[str, Any]) -> list[Message]:
    """The messages with the calls, and the id of the call answered, that stand beside the content of one."""
    calls = _calls(item.get("tool_calls"))
    if calls:
        last = next((message for message in messages if message["role"] == "assistant"), None)
        if last is None:
            last = {"role": "assistant", "content": ""}
            messages.append(last)
        last["tool_calls"] = [*last.get("tool_calls", ()), *calls]
    answered = item.get("tool_call_id") or item.get("id")
    for message in messages:
        if message["role"] == "tool" and answered and not message.get("tool_call_id"):
            message["tool_call_id"] = str(answered)
    return [message for message in messages if message.get("content") or message.get("tool_calls") or _answers(message)]


def _answers(message: Message) -> bool:
    return bool(message.get("tool_call_id"))


def _from_parts(parts: list[Any], *, role: str) -> list[Message]:
    """The parts as one message of `role`, and one of the role tool for each answer of a tool among them."""
    texts: list[str] = []
    calls: list[Any] = []
    answers: list[Message] = []
    for part in parts:
        kind = str(part.get("type", "")) if isinstance(part, Mapping) else "text"
        if kind in THOUGHTS:
            continue
        if kind in CALLS:
            calls.append(part)
        elif kind in ANSWERS:
            answers.append(_answer(part))
        elif text := _text_of(part):
            texts.append(text)
    message: Message = {"role": role, "content": "\n".join(texts)}
    if calls:
        message["tool_calls"] = _calls(calls)
    is_said = bool(message["content"] or calls)
    return [*answers, *([message] if is_said else [])]


def _text_of(part: Any) -> str:
    if not isinstance(part, Mapping):
        return written(part)
    for key in ("content", "text"):
        if isinstance(part.get(key), str) and part.get("type", "text") in TEXTS:
            return str(part[key])
    return f"[{part.get('type', 'part')}]"


def _answer(part: Mapping[str, Any]) -> Message:
    said = next((part[key] for key in ("response", "result", "content") if key in part), None)
    answer: Message = {"role": "tool", "content": content_of(said), "tool_call_id": str(part.get("id") or "")}
    if part.get("tool_use_id"):
        answer["tool_call_id"] = str(part["tool_use_id"])
    if isinstance(part.get("is_error"), bool):
        answer["is_error"] = part["is_error"]
    return answer


def content_of(said: Any) -> str:
    """What a tool answered, as text: the texts of its parts where it answered in parts."""
    if isinstance(said, list) and said and all(isinstance(part, Mapping) and "type" in part for part in said):
        return "\n".join(filter(None, map(_text_of, said)))
    return written(said)


def _calls(value: Any) -> list[Message]:
    """Calls in OpenAI's form, whichever of the usual forms they came in."""
    found = read_json(value)
    items: Iterable[Any] = found if isinstance(found, list) else ()
    return [_call(item) for item in items if isinstance(item, Mapping)]


def _call(item: Mapping[str, Any]) -> Message:
    function = item.get("function")
    inside = function if isinstance(function, Mapping) else item
    arguments = next((inside[key] for key in ("arguments", "args", "input") if key in inside), "")
    return {
        "id": str(item.get("id") or ""),
        "type": "function",
        "function": {"name": str(inside.get("name") or ""), "arguments": written(arguments)},
    }
