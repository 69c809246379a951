"""Reading the messages of a session, which come in the form of OpenAI's chat completions and never quite alike."""

import json
from collections.abc import Mapping
from typing import Any

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def content_text(content: Any) -> str:
    """The plain text of a message's content: a text as it is, parts joined, other parts named by their type."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part for part in map(_part_text, content) if part)
    return json.dumps(content, ensure_ascii=False)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            return str(part[key])
    return f"[{part.get('type', 'part')}]"


def calls_in(message: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The tool calls of an assistant's message: id, name and arguments as text each."""
    calls = message.get("tool_calls")
    found = [_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    single = message.get("function_call")
    return [*found, _call({"function": single})] if isinstance(single, dict) else found


def _call(call: Mapping[str, Any]) -> tuple[str, str, str]:
    function = call.get("function")
    inside: Mapping[str, Any] = function if isinstance(function, dict) else call
    arguments = inside.get("arguments", "")
    told = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return str(call.get("id") or ""), str(inside.get("name") or ""), told


def message_text(message: Mapping[str, Any]) -> str:
    """All that a message says, its calls written out below its content."""
    calls = (f"→ {name}({arguments})" for _, name, arguments in calls_in(message))
    return "\n".join(part for part in (content_text(message.get("content")), *calls) if part)


def tool_name_of(message: Mapping[str, Any], *, called: Mapping[str, str]) -> str:
    """The tool that a message is about: its own word, else the name that was `called` under its call's id."""
    if isinstance(name := message.get("name"), str) and message.get("role") in {"tool", "function"}:
        return name
    if isinstance(call_id := message.get("tool_call_id"), str):
        return called.get(call_id, "")
    calls = calls_in(message)
    return calls[0][1] if calls else ""
