"""Detect failed calls from a tool's answer. Only the sender's explicit mark is certain."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from reflection_app.loops.content_parts import text_of_parts
from reflection_app.loops.diagnosis.diagnoses import ErrorType
from reflection_app.loops.diagnosis.modifiers import is_number
from reflection_app.loops.diagnosis.rules import RULES

# Messages of a session, in variants of OpenAI's chat completions format

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def content_text(content: Any) -> str:
    """Return a message's content as plain text. Parts are joined; non-text parts become placeholders."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return text_of_parts(content)
    return json.dumps(content, ensure_ascii=False)


def calls_in(message: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the tool calls of an assistant message as (id, name, arguments), all texts."""
    calls = message.get("tool_calls")
    found = [_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    single = message.get("function_call")
    return [*found, _call({"function": single})] if isinstance(single, dict) else found


def _call(call: Mapping[str, Any]) -> tuple[str, str, str]:
    function = call.get("function")
    inside: Mapping[str, Any] = function if isinstance(function, dict) else call
    arguments = inside.get("arguments", "")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return str(call.get("id") or ""), str(inside.get("name") or ""), text


def message_text(message: Mapping[str, Any]) -> str:
    """Return a message's text: its content, followed by its tool calls."""
    calls = (f"→ {name}({arguments})" for _, name, arguments in calls_in(message))
    return "\n".join(part for part in (content_text(message.get("content")), *calls) if part)


def tool_name_of(message: Mapping[str, Any], *, called: Mapping[str, str]) -> str:
    """Return the tool that a message concerns, or "".

    The message's own `name` comes first, then the name that `called` maps its call id to.
    """
    if isinstance(name := message.get("name"), str) and message.get("role") in {"tool", "function"}:
        return name
    if isinstance(call_id := message.get("tool_call_id"), str):
        return called.get(call_id, "")
    calls = calls_in(message)
    return calls[0][1] if calls else ""


LONGEST_LOOKED_AT = 2_000
LONGEST_BARE = 200
MOSTLY = 0.5
LONGEST_PLAIN = 12
SEPARATOR = re.compile(r"[:：]\s")
NO_SUCH_TOOL = next(rule.words for rule in RULES if rule.id == "no-such-tool")
OUTSIDE = (ErrorType.PERMISSION_DENIED, ErrorType.EXTERNAL_SERVICE_ERROR)
LONGEST_PARSED = 200_000
TOOL_ROLES = frozenset({"tool", "function"})
MARKS = ("is_error", "isError")
# Keys of JSON answers, compared without case and underscores.
STATUS_KEYS = frozenset({"status", "statuscode", "httpstatus", "code"})
EXIT_KEYS = frozenset({"exitcode", "exitstatus", "returncode"})
ERROR_KEYS = frozenset({"error", "errors", "exception", "errormessage"})
REASON_KEYS = frozenset({"message", "msg", "detail", "details", "reason", "stderr"})
_NUMBER = re.compile(r"-?\d{1,10}", re.ASCII)
BAD_STATUS = re.compile(r"(?:error|errored|fail|failed|failure|exception|timeout|错误|失败)", re.IGNORECASE)

# Phrases that start an answer, or its last line after a command's output. Prose about errors is written differently.
ENGLISH = re.compile(
    r"""
    \A\W*+(?:
      [\w.]*(?:error|exception)\s*(?:[:：(\]!]|-\s|$)
    | error\s+(?:while|when|executing|calling|running|occurred|invoking|\d)
    | an?\s+(?:\w+\s+)?(?:error|exception)\s+(?:occurred|was\s+raised)
    | traceback\s+\(most\s+recent\s+call\s+last\)
    | (?:[\w.-]+\s+){0,3}(?:call|request|command|execution|invocation|tool)\s+failed\b
    | failed(?:\s*[:：]|\s+to\s)
    | (?:failure|fatal|panic)\s*[:：]
    | (?:http(?:/[\d.]+)?\s+)?(?:status\s+)?[45]\d\d\s+(?:bad\ request|unauthorized|forbidden|not\ found|conflict|
        method\ not\ allowed|gone|unprocessable|too\ many|internal\ server|bad\ gateway|service\ unavailable|gateway)
    | (?:(?:command|process|program|script)\s+)?exit(?:ed)?\s+(?:with\s+)?(?:code|status)\s*+[:=]?\s*+[1-9]
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The label that programs print before an error in other languages, as in their C libraries and frameworks.
LABEL = re.compile(
    r"\A\W*+(?:fehler|erreur|errore|erro|fout|fel|feil|fejl|virhe|błąd|chyba|hiba|eroare|hata|ошибка|помилка|lỗi|kesalahan"
    r"|エラー|오류|錯誤)\s?[:：]",
    re.IGNORECASE,
)
CHINESE = re.compile(r"\A\W*+(?:(?![无未没])[\u4e00-\u9fff]){0,8}?(?:错误|出错|异常|失败)(?:[:：!！。,，]|了|$)")


def is_tool_failure(message: Mapping[str, Any]) -> bool:
    """Return True if `message` is a tool's answer that reports a failure. The sender's mark decides first."""
    if message.get("role") not in TOOL_ROLES:
        return False
    for mark in MARKS:
        if isinstance(message.get(mark), bool):
            return bool(message[mark])
    return reports_failure(content_text(message.get("content")))


def reports_failure(content: str) -> bool:
    """Return True if a tool's answer is an error, by its JSON envelope or its first or last line."""
    text = content.strip()
    if text[:1] in {"{", "["} and len(text) <= LONGEST_PARSED:
        with suppress(ValueError, RecursionError):
            return _is_failed_value(json.loads(text))
    last = text[-LONGEST_LOOKED_AT:].rsplit("\n", 1)[-1]
    written = (
        pattern.match(part[:LONGEST_LOOKED_AT]) for part in (text, last) for pattern in (ENGLISH, CHINESE, LABEL)
    )
    return any(written) or _is_bare_error(text)


def _is_bare_error(text: str) -> bool:
    """Return True if the answer is one short line ending in an error name: "x: Permission denied".

    The names are those in the diagnosis rules, except errors that may be a call's subject. The name of a missing tool
    may come last, as in "Unknown tool: x".
    """
    if len(text) > LONGEST_BARE or "\n" in text:
        return False
    parts = [" ".join(part.casefold().split()).strip(" .!。！") for part in SEPARATOR.split(text)]
    if NO_SUCH_TOOL and any(NO_SUCH_TOOL.fullmatch(part) for part in parts):
        return True
    name = parts[-1]
    named = (rule.words.search(name) for rule in RULES if rule.words is not None and rule.error_type in OUTSIDE)
    return bool(name) and any(found is not None and len(found[0]) >= MOSTLY * len(name) for found in named)


def _is_failed_value(value: Any) -> bool:
    """Return True if a JSON answer reports a failure, judged by its outermost object only.

    Nested values are data, which may be about errors.
    """
    if not isinstance(value, dict):
        return False
    raw = {key.replace("_", "").lower(): one for key, one in value.items()}
    found = {key: _plain_value(one) for key, one in raw.items()}
    if isinstance(found.get("iserror"), bool):
        return bool(found["iserror"])
    if any(found.get(key) for key in ERROR_KEYS) or found.get("success") is False or found.get("ok") is False:
        return True
    if any(is_number(found.get(key)) and found[key] != 0 for key in EXIT_KEYS):
        return True
    # A text status next to data, without a reason, describes the requested object: {"order": 7, "status": "failed"}.
    is_envelope = raw.keys() <= STATUS_KEYS or bool(raw.keys() & REASON_KEYS)
    for key in STATUS_KEYS & raw.keys():
        is_text = isinstance(raw[key], str)
        if is_text and not is_envelope:
            continue
        if is_number(found[key]) and 400 <= found[key] <= 599:
            return True
        if is_text and BAD_STATUS.fullmatch(raw[key].strip()):
            return True
    return False


def _plain_value(value: Any) -> Any:
    """Return the boolean or number that a text represents in loosely typed output; else `value`."""
    if not isinstance(value, str) or len(value) > LONGEST_PLAIN:
        return value
    text = value.strip().lower()
    return int(text) if _NUMBER.fullmatch(text) else {"true": True, "false": False}.get(text, value)
