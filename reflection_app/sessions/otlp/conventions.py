"""What a span is about: a model's call, a tool's call, an agent at work or a workflow, by the GenAI conventions."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reflection_app.loops.tool_calls import is_too_deep
from reflection_app.sessions.otlp.wire import Span, SpanEvent

# Messages as instrumentations write them, in all forms that the GenAI conventions have had, as OpenAI's chat has them.
# Roles, parts and calls come from agents: whatever is not understood becomes text, and nothing raises.

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
    plain: list[Message] = [{"role": said, "content": written(parts)}]
    told = _from_parts(parts, role=said) if isinstance(parts, list) else plain
    # The messages with the calls, and the id of the call answered, that stand beside the content of one.
    calls = _calls(item.get("tool_calls"))
    if calls:
        last = next((message for message in told if message["role"] == "assistant"), None)
        if last is None:
            last = {"role": "assistant", "content": ""}
            told.append(last)
        last["tool_calls"] = [*last.get("tool_calls", ()), *calls]
    answered = item.get("tool_call_id") or item.get("id")
    for message in told:
        if message["role"] == "tool" and answered and not message.get("tool_call_id"):
            message["tool_call_id"] = str(answered)
    return [message for message in told if any(message.get(key) for key in ("content", "tool_calls", "tool_call_id"))]


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
            content = next((part[key] for key in ("response", "result", "content") if key in part), None)
            answer: Message = {"role": "tool", "content": content_of(content)}
            answer["tool_call_id"] = str(part.get("tool_use_id") or part.get("id") or "")
            if isinstance(part.get("is_error"), bool):
                answer["is_error"] = part["is_error"]
            answers.append(answer)
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


def content_of(said: Any) -> str:
    """What a tool answered, as text: the texts of its parts where it answered in parts."""
    if isinstance(said, list) and said and all(isinstance(part, Mapping) and "type" in part for part in said):
        return "\n".join(filter(None, map(_text_of, said)))
    return written(said)


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
        named = {"name": str(inside.get("name") or ""), "arguments": written(arguments)}
        calls.append({"id": str(item.get("id") or ""), "type": "function", "function": named})
    return calls


class SpanKind(StrEnum):
    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    WORKFLOW = "workflow"
    OTHER = "other"


KIND_OF_OPERATION = {
    "chat": SpanKind.MODEL,
    "text_completion": SpanKind.MODEL,
    "generate_content": SpanKind.MODEL,
    "completion": SpanKind.MODEL,
    "execute_tool": SpanKind.TOOL,
    "invoke_agent": SpanKind.AGENT,
    "invoke_workflow": SpanKind.WORKFLOW,
}
KIND_OF_TRACELOOP = {"tool": SpanKind.TOOL, "agent": SpanKind.AGENT, "workflow": SpanKind.WORKFLOW}
CONVERSATION_IDS = (
    "gen_ai.conversation.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id",
)
INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens")
OUTPUT_TOKENS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens")
MOST_TOKENS = 10**12


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool as its own span tells it. `result` is None where none was kept."""

    call_id: str
    name: str
    arguments: str
    result: str | None
    is_error: bool


def kind_of(span: Span) -> SpanKind:
    """What the span is about, by its operation, else by what else it has."""
    has = span.attributes
    operation = str(has.get("gen_ai.operation.name") or has.get("llm.request.type") or "").lower()
    if operation in KIND_OF_OPERATION:
        return KIND_OF_OPERATION[operation]
    traceloop = str(has.get("traceloop.span.kind") or "").lower()
    if traceloop in KIND_OF_TRACELOOP:
        return KIND_OF_TRACELOOP[traceloop]
    if "gen_ai.tool.name" in has:
        return SpanKind.TOOL
    # What names an operation that is none of these, such as embeddings, is not part of the talk.
    if not operation and any(name in has for name in ("gen_ai.request.model", "llm.request.model")):
        return SpanKind.MODEL
    return SpanKind.OTHER


def agent_of(span: Span) -> str:
    """The name of the agent that an agent's span tells of; empty where it has none."""
    names = ("gen_ai.agent.name", "gen_ai.workflow.name", "traceloop.entity.name", "gen_ai.agent.id")
    return next((str(span.attributes[name]) for name in names if span.attributes.get(name)), "")


def conversation_of(span: Span) -> str:
    return next((str(span.attributes[name]) for name in CONVERSATION_IDS if span.attributes.get(name)), "")


def model_of(span: Span) -> str:
    names = ("gen_ai.response.model", "gen_ai.request.model", "llm.response.model", "llm.request.model")
    return next((str(span.attributes[name]) for name in names if span.attributes.get(name)), "")


def tokens_of(span: Span) -> tuple[int, int]:
    """The tokens asked and answered with, 0 where they are not told."""
    return _first_count(span, INPUT_TOKENS), _first_count(span, OUTPUT_TOKENS)


def _first_count(span: Span, names: tuple[str, ...]) -> int:
    for name in names:
        value = span.attributes.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return min(max(value, 0), MOST_TOKENS)
    return 0


def tool_call_of(span: Span) -> ToolCall:
    """The call that a tool's span tells of; what failed without a result has its error in place of one."""
    has = span.attributes
    name = str(has.get("gen_ai.tool.name") or has.get("traceloop.entity.name") or span.name)
    result = _result_of(span)
    is_error = span.is_error or bool(has.get("error.type"))
    if result is None and is_error:
        result = error_of(span)
    return ToolCall(
        call_id=str(has.get("gen_ai.tool.call.id") or ""),
        name=name,
        arguments=written(has.get("gen_ai.tool.call.arguments", has.get("traceloop.entity.input", ""))),
        result=result,
        is_error=is_error,
    )


def _result_of(span: Span) -> str | None:
    for name in ("gen_ai.tool.call.result", "traceloop.entity.output"):
        if name in span.attributes:
            return content_of(read_json(span.attributes[name]))
    for event in span.events:
        if event.name == "gen_ai.tool.message" and "content" in event.attributes:
            return content_of(read_json(event.attributes["content"]))
    return None


def error_of(span: Span) -> str:
    """What went wrong in the span, as well as it says it."""
    exception = next((event.attributes for event in span.events if event.name == "exception"), {})
    parts = (str(exception.get(name) or "") for name in ("exception.type", "exception.message"))
    raised = ": ".join(part for part in parts if part)
    kind = str(span.attributes.get("error.type") or "")
    return span.status_message or raised or kind or "It failed, and its span does not say why."


# What a span of a model's call says was asked and answered: by attribute today, by event or by numbered names before.
#
# https://opentelemetry.io/docs/specs/semconv/gen-ai/ and, for the numbered names, OpenLLMetry's conventions.

DETAILS = "gen_ai.client.inference.operation.details"
ROLE_OF_EVENT = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE = "gen_ai.choice"
PROMPT_EVENT, COMPLETION_EVENT = "gen_ai.content.prompt", "gen_ai.content.completion"
NUMBERED = re.compile(r"(?:gen_ai|llm)\.(?P<side>prompts?|completions?)\.(?P<number>\d{1,4})\.(?P<rest>.+)")
NUMBERED_CALL = re.compile(r"tool_calls\.(?P<number>\d{1,3})\.(?P<field>id|name|arguments)")


@dataclass(frozen=True)
class Exchange:
    """What a model was told, and what it said. Both are empty where the instrumentation keeps no content."""

    told: tuple[Message, ...]
    said: tuple[Message, ...]

    @property
    def has_content(self) -> bool:
        return bool(self.told or self.said)


def exchange_of(span: Span) -> Exchange:
    """The messages of the span, from the first of the forms in which it has some."""
    for form in (_by_attributes, _by_events, _by_numbers):
        exchange = form(span)
        if exchange.has_content:
            return exchange
    told = messages_of(span.attributes.get("gen_ai.prompt"), role="user")
    said = messages_of(span.attributes.get("gen_ai.completion"), role="assistant")
    return Exchange(tuple(told), tuple(said))


def _by_attributes(span: Span) -> Exchange:
    """By the attributes of the span, else by those of its events that hold the details of the operation."""
    details: dict[str, Any] = {}
    for event in span.events:
        if event.name == DETAILS:
            details |= event.attributes
    exchange = _from_attributes(span.attributes)
    return exchange if exchange.has_content else _from_attributes(details)


def _from_attributes(attributes: Mapping[str, Any]) -> Exchange:
    system = read_json(attributes.get("gen_ai.system_instructions"))
    parts = system if isinstance(system, list) else [system] if system else []
    told = messages_of([{"role": "system", "parts": parts}], role="system") if parts else []
    told += messages_of(attributes.get("gen_ai.input.messages"), role="user")
    said = messages_of(attributes.get("gen_ai.output.messages"), role="assistant")
    return Exchange(tuple(told), tuple(said))


def _by_events(span: Span) -> Exchange:
    told: list[Message] = []
    said: list[Message] = []
    for event in span.events:
        if event.name in ROLE_OF_EVENT:
            told += messages_of([_body(event)], role=ROLE_OF_EVENT[event.name])
        elif event.name == CHOICE:
            body = _body(event)
            inner = read_json(body.get("message"))
            choice = {**body, **inner} if isinstance(inner, Mapping) else body
            if inner is not None and not isinstance(inner, Mapping):
                choice["content"] = inner
            said += messages_of([choice], role="assistant")
        elif event.name == PROMPT_EVENT:
            told += messages_of(event.attributes.get("gen_ai.prompt"), role="user")
        elif event.name == COMPLETION_EVENT:
            said += messages_of(event.attributes.get("gen_ai.completion"), role="assistant")
    return Exchange(tuple(told), tuple(said))


def _body(event: SpanEvent) -> dict[str, Any]:
    """The message in an event: in an attribute as JSON, or spread over the attributes."""
    whole = read_json(event.attributes.get("gen_ai.event.content"))
    if isinstance(whole, Mapping):
        return dict(whole)
    body = {name: read_json(value) if name != "content" else value for name, value in event.attributes.items()}
    return body if whole is None else {**body, "content": whole}


def _by_numbers(span: Span) -> Exchange:
    sides: dict[str, dict[int, dict[str, Any]]] = {"prompt": {}, "completion": {}}
    for name, value in span.attributes.items():
        if found := NUMBERED.fullmatch(name):
            side = sides[found["side"].removesuffix("s")]
            item = side.setdefault(int(found["number"]), {})
            if call := NUMBERED_CALL.fullmatch(found["rest"]):
                item.setdefault("calls", {}).setdefault(int(call["number"]), {})[call["field"]] = value
            else:
                # Content may itself be a list of parts, written as JSON.
                item[found["rest"].removeprefix("message.")] = read_json(value)
    for item in (item for side in sides.values() for item in side.values()):
        if calls := item.pop("calls", None):
            item["tool_calls"] = [call for _, call in sorted(calls.items())]
    told, said = (
        messages_of([item for _, item in sorted(sides[side].items())], role=role)
        for side, role in (("prompt", "user"), ("completion", "assistant"))
    )
    return Exchange(tuple(told), tuple(said))
