"""What a span of a model's call says was asked and answered: by attribute today, by event or by numbered names before.

https://opentelemetry.io/docs/specs/semconv/gen-ai/ and, for the numbered names, OpenLLMetry's conventions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reflection_app.sessions.otlp.messages import Message, messages_of, read_json
from reflection_app.sessions.otlp.spans import Span, SpanEvent

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
    for form in (_by_attributes, _by_details, _by_events, _by_numbers, _by_single_texts):
        exchange = form(span)
        if exchange.has_content:
            return exchange
    return Exchange((), ())


def _by_attributes(span: Span) -> Exchange:
    return _from_attributes(span.attributes)


def _by_details(span: Span) -> Exchange:
    merged: dict[str, Any] = {}
    for event in span.events:
        if event.name == DETAILS:
            merged |= event.attributes
    return _from_attributes(merged)


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
            _put(side.setdefault(int(found["number"]), {}), found["rest"], value)
    told, said = (
        messages_of([_numbered(item) for _, item in sorted(side.items())], role=role)
        for side, role in ((sides["prompt"], "user"), (sides["completion"], "assistant"))
    )
    return Exchange(tuple(told), tuple(said))


def _put(item: dict[str, Any], rest: str, value: Any) -> None:
    if found := NUMBERED_CALL.fullmatch(rest):
        item.setdefault("calls", {}).setdefault(int(found["number"]), {})[found["field"]] = value
    else:
        # Content may itself be a list of parts, written as JSON.
        item[rest.removeprefix("message.")] = read_json(value)


def _numbered(item: dict[str, Any]) -> dict[str, Any]:
    calls = item.pop("calls", {})
    return {**item, "tool_calls": [call for _, call in sorted(calls.items())]} if calls else item


def _by_single_texts(span: Span) -> Exchange:
    told = messages_of(span.attributes.get("gen_ai.prompt"), role="user")
    said = messages_of(span.attributes.get("gen_ai.completion"), role="assistant")
    return Exchange(tuple(told), tuple(said))
