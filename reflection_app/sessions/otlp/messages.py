"""Messages as instrumentations write them, in all the forms that are usual, as OpenAI's chat has them.

Roles, parts and calls come from agents: whatever is not understood becomes text, and nothing raises.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reflection_app.loops.content_parts import placeholder
from reflection_app.loops.tool_calls import is_too_deep

type Message = dict[str, Any]

# By role and, where there is none, by the type that LangChain's messages have, or by the name of their class.
ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "systemmessage": "system",
    "toolmessage": "tool",
    "functionmessage": "tool",
}
KNOWN_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
ANSWERS = frozenset({"tool_call_response", "tool_result", "tool-result", "tool-error", "function_call_output"})
CALLS = frozenset({"tool_call", "tool_use", "tool-call", "function_call"})
THOUGHTS = frozenset({"reasoning", "thinking", "redacted_thinking"})
UNTYPED = {
    "function_call": "function_call",
    "functionCall": "function_call",
    "function_response": "function_call_output",
    "functionResponse": "function_call_output",
}
TEXTS = frozenset({"text", "refusal", "input_text", "output_text"})
# What of a record holds the instructions, and what holds the messages, where the record itself is none.
INSTRUCTIONS = ("system", "instructions")
HOLDERS = (
    *(
        "messages",
        "prompt",
        "prompts",
        "generations",
        "choices",
        "candidates",
        "message",
        "output",
        "outputs",
        "update",
    ),
    *("input", "inputs", "args", "kwargs"),
)
LONGEST_PARSED = 2_000_000
# Records within records; what is deeper is text.
DEEPEST = 8


def read_json(value: Any) -> Any:
    """The list or object that an attribute holds as JSON text; the value itself where it is no such text."""
    if not isinstance(value, str) or value.lstrip()[:1] not in {"[", "{"} or len(value) > LONGEST_PARSED:
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if is_too_deep(read) else read


def read_value(value: Any) -> Any:
    """What an attribute holds that is JSON whatever it holds: texts are unquoted, too."""
    if isinstance(value, str) and value[:1] == '"' and value[-1:] == '"' and len(value) <= LONGEST_PARSED:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return read_json(value)


def written(value: Any) -> str:
    """A value as text: a text as it is, nothing as none, all else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def messages_of(value: Any, *, role: str) -> list[Message]:
    """The messages in a list of them, a single one, a record that holds some, or a bare text, which is of `role`."""
    return [message for item in _items(read_value(value)) for message in _messages_of_one(item, role=role)]


def _items(value: Any, *, depth: int = 0) -> Iterator[Any]:
    """The single messages in what holds them."""
    if isinstance(value, list) and depth < DEEPEST:
        for item in value:
            yield from _items(item, depth=depth + 1)
    elif isinstance(value, Mapping) and depth < DEEPEST and not _is_message(value):
        for name in INSTRUCTIONS:
            if value.get(name) and isinstance(value[name], str | list):
                yield {"role": "system", "content": value[name]}
        # LangChain writes its messages down as calls of their constructors, or as their type and their data.
        inner = value.get("kwargs") if value.get("lc") else value.get("data")
        if isinstance(inner, Mapping):
            names = value.get("id")
            named = names[-1] if isinstance(names, list) and names else value.get("type")
            yield {"type": named, **inner}
        elif isinstance(value.get("content"), Mapping):
            yield from _items(value["content"], depth=depth + 1)
        elif name := next((name for name in HOLDERS if value.get(name) not in (None, "", [], {})), ""):
            yield from _items(read_json(value[name]), depth=depth + 1)
        elif not any(name in value for name in (*INSTRUCTIONS, *HOLDERS)):
            yield value
    else:
        yield value


def _is_message(value: Mapping[str, Any]) -> bool:
    """Whether it is a message or a part of one, and not a record that holds some."""
    if isinstance(value.get("role"), str) or "parts" in value or "tool_calls" in value:
        return True
    kind = value.get("type")
    return "data" not in value and (_role_of(kind) in KNOWN_ROLES or kind in (CALLS | ANSWERS | THOUGHTS | TEXTS))


def _role_of(name: Any) -> str:
    role = str(name or "").lower()
    return ROLES.get(role, role)


def _messages_of_one(item: Any, *, role: str) -> list[Message]:
    if not isinstance(item, Mapping):
        return [{"role": role, "content": written(item)}] if item not in (None, "") else []
    if item.get("type") in CALLS | ANSWERS | THOUGHTS and "role" not in item:
        return _from_parts([item], role="assistant")
    said = next((found for name in ("role", "type") if (found := _role_of(item.get(name))) in KNOWN_ROLES), role)
    parts = item.get("parts", item.get("content"))
    if parts is None and not any(name in item for name in ("content", "parts", "role", "tool_calls", "function_call")):
        # No message at all, but what a function was given or gave back.
        texts = [item["text"]] if "text" in item else [value for value in item.values() if value not in (None, "")]
        parts = texts[0] if len(texts) == 1 and isinstance(texts[0], str) else item or None
    told: list[Message] = (
        _from_parts(parts, role=said) if isinstance(parts, list) else [{"role": said, "content": written(parts)}]
    )
    # The messages with the calls, and the id of the call answered, that stand beside the content of one.
    more = item.get("additional_kwargs")
    calls = _calls(item.get("tool_calls") or (more.get("tool_calls") if isinstance(more, Mapping) else None))
    calls = calls or (_calls([item["function_call"]]) if item.get("function_call") else [])
    if calls:
        last = next((message for message in told if message["role"] == "assistant"), None)
        if last is None:
            last = {"role": "assistant", "content": ""}
            told.append(last)
        # Some libraries write a call down as a part of the content and beside it, too.
        known = {call["id"] for call in last.get("tool_calls", ()) if call["id"]}
        last["tool_calls"] = [*last.get("tool_calls", ()), *(call for call in calls if call["id"] not in known)]
    answered = item.get("tool_call_id") or item.get("id")
    for message in told:
        if message["role"] == "tool":
            if answered and not message.get("tool_call_id"):
                message["tool_call_id"] = str(answered)
            if item.get("status") == "error":
                message["is_error"] = True
    return [message for message in told if any(message.get(key) for key in ("content", "tool_calls", "tool_call_id"))]


def _from_parts(parts: list[Any], *, role: str) -> list[Message]:
    """The parts as one message of `role`, and one of the role tool for each answer of a tool among them."""
    texts: list[str] = []
    calls: list[Any] = []
    answers: list[Message] = []
    for part in map(_with_a_type, parts):
        kind = str(part.get("type", "")) if isinstance(part, Mapping) else "text"
        if kind in THOUGHTS or (isinstance(part, Mapping) and part.get("thought") is True):
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


def _with_a_type(part: Any) -> Any:
    """The part; one of Gemini's, which have the name of what they hold in place of a type, with a type."""
    if not isinstance(part, Mapping) or "type" in part:
        return part
    for name, kind in UNTYPED.items():
        if isinstance(part.get(name), Mapping):
            return {"type": kind, **part[name]}
    return part


def _answer(part: Mapping[str, Any]) -> Message:
    """What a tool answered, told as a part of a message."""
    content = next((part[key] for key in ("response", "result", "content", "output", "error") if key in part), None)
    call_id = next((part[key] for key in ("tool_use_id", "toolCallId", "call_id", "id") if part.get(key)), "")
    answer: Message = {"role": "tool", "tool_call_id": str(call_id)}
    kind = str(content.get("type", "")) if isinstance(content, Mapping) and "value" in content else ""
    if kind:
        # As Vercel's SDK has it: {"type": "text" | "json" | "error-text" | …, "value": …}.
        content = content["value"] if isinstance(content, Mapping) else content
    answer["content"] = content_of(content)
    if isinstance(part.get("is_error"), bool):
        answer["is_error"] = part["is_error"]
    elif kind.startswith("error") or part.get("type") == "tool-error":
        answer["is_error"] = True
    return answer


def _text_of(part: Any) -> str:
    if not isinstance(part, Mapping):
        return written(part)
    for key in ("content", "text", "refusal"):
        if isinstance(part.get(key), str) and part.get("type", "text") in TEXTS:
            return str(part[key])
    return placeholder(part)


def content_of(said: Any) -> str:
    """What a tool answered, as text: the texts of its parts where it answered in parts."""
    if isinstance(said, list) and said and all(isinstance(part, Mapping) and "type" in part for part in said):
        return "\n".join(filter(None, map(_text_of, said)))
    return written(said)


def tool_answer(value: Any) -> Message:
    """What a tool gave back: as its own message where it made one, as LangChain's tools do, else its content alone."""
    read = read_value(value)
    inner = read.get("output", read) if isinstance(read, Mapping) else read
    items = list(_items(inner)) if isinstance(inner, Mapping) else []
    if len(items) == 1 and isinstance(items[0], Mapping) and _is_message(items[0]):
        for message in _messages_of_one(items[0], role="tool"):
            if message["role"] == "tool":
                return message
    return {"role": "tool", "content": content_of(read)}


def _calls(value: Any) -> list[Message]:
    """Calls in OpenAI's form, whichever of the usual forms they came in."""
    found = read_json(value)
    calls: list[Message] = []
    for item in found if isinstance(found, list) else ():
        if not isinstance(item, Mapping):
            continue
        function = item.get("function")
        inside = function if isinstance(function, Mapping) else item
        arguments = next((inside[key] for key in ("arguments", "args", "input") if key in inside), "")
        name = inside.get("name") or inside.get("toolName") or ""
        call_id = item.get("call_id") or item.get("toolCallId") or item.get("id") or ""
        function = {"name": str(name), "arguments": written(arguments)}
        calls.append({"id": str(call_id), "type": "function", "function": function})
    return calls
