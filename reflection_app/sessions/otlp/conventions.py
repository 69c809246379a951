"""What the attributes of spans mean, by each convention: one table, in which a line is a convention.

A span may be written by several at once, as Vercel's are. Where they say the same thing, the first of the table counts:
those that say more come before those that say less.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from reflection_app.sessions.otlp.messages import Message, messages_of, read_json
from reflection_app.sessions.otlp.wire import Span, SpanEvent


class SpanKind(StrEnum):
    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    WORKFLOW = "workflow"
    # Known, and no part of what is told: embeddings, a step of a graph, a request over HTTP.
    OTHER = "other"
    # What names a kind that no convention has.
    UNKNOWN = "unknown"


# The places of a span where messages may be. They are of the role that is given where they name none.
type Place = Callable[[Span, str], list[Message]]


def attribute(name: str) -> Place:
    """An attribute that holds messages: as a list, as JSON, or as a text."""
    return lambda span, role: messages_of(span.attributes.get(name), role=role)


def parts(name: str) -> Place:
    """An attribute that holds the parts of one message."""

    def read(span: Span, role: str) -> list[Message]:
        return _of_parts(span.attributes.get(name), role=role)

    return read


def beside(name: str, *, calls: str) -> Place:
    """A text in one attribute, and the calls that go with it in another."""

    def read(span: Span, role: str) -> list[Message]:
        said = {"role": role, "content": span.attributes.get(name), "tool_calls": span.attributes.get(calls)}
        return messages_of(said, role=role) if said["content"] or said["tool_calls"] else []

    return read


def in_details(name: str, *, has_parts: bool = False) -> Place:
    """As the attribute of an event that holds the details of the operation."""

    def read(span: Span, role: str) -> list[Message]:
        found = [event.attributes[name] for event in span.events if event.name == DETAILS and name in event.attributes]
        return (_of_parts if has_parts else messages_of)(found[-1], role=role) if found else []

    return read


def events(roles: Mapping[str, str]) -> Place:
    """An event for each message, whose name tells the role."""

    def read(span: Span, role: str) -> list[Message]:
        told: list[Message] = []
        for event in span.events:
            if event.name in roles:
                told += messages_of([_body(event)], role=roles[event.name])
        return told

    return read


def event_attribute(event_name: str, name: str) -> Place:
    """The attribute of an event that holds all messages."""

    def read(span: Span, role: str) -> list[Message]:
        found = [event for event in span.events if event.name == event_name]
        return [message for event in found for message in messages_of(event.attributes.get(name), role=role)]

    return read


def numbered(*prefixes: str) -> Place:
    """An attribute for each field of each message: `prefix.0.role`, `prefix.0.tool_calls.1.name`."""
    pattern = re.compile(
        rf"(?:{'|'.join(map(re.escape, prefixes))})\.(?P<number>\d{{1,4}})\.(?:message\.)?(?P<rest>.+)"
    )

    def read(span: Span, role: str) -> list[Message]:
        items: dict[int, dict[str, Any]] = {}
        calls: dict[int, dict[int, dict[str, Any]]] = {}
        contents: dict[int, dict[int, dict[str, Any]]] = {}
        for name, value in span.attributes.items():
            if not (found := pattern.fullmatch(name)):
                continue
            number, rest = int(found["number"]), found["rest"]
            if call := NUMBERED_CALL.fullmatch(rest):
                of_item = calls.setdefault(number, {}).setdefault(int(call["number"]), {})
                of_item[call["field"]] = value
            elif part := NUMBERED_PART.fullmatch(rest):
                contents.setdefault(number, {}).setdefault(int(part["number"]), {})[part["field"]] = value
            elif rest in NUMBERED_FIELDS:
                # Content may itself be a list of parts, written as JSON.
                items.setdefault(number, {})[NUMBERED_FIELDS[rest]] = read_json(value)
        for number, found_calls in calls.items():
            items.setdefault(number, {})["tool_calls"] = [call for _, call in sorted(found_calls.items())]
        for number, found_parts in contents.items():
            items.setdefault(number, {}).setdefault("content", [part for _, part in sorted(found_parts.items())])
        for item in items.values():
            if called := item.pop("called", None):
                item["function_call"] = {"name": called, "arguments": item.pop("call_arguments", "")}
            item.setdefault("role", role)
        return messages_of([item for _, item in sorted(items.items())], role=role)

    return read


NUMBERED_CALL = re.compile(
    r"tool_calls\.(?P<number>\d{1,3})\.(?:tool_call\.)?(?:function\.)?(?P<field>id|name|arguments)"
)
NUMBERED_PART = re.compile(r"contents\.(?P<number>\d{1,3})\.(?:message_content\.)?(?P<field>type|text)")
NUMBERED_FIELDS = {
    "role": "role",
    "content": "content",
    "tool_call_id": "tool_call_id",
    "tool_calls": "tool_calls",
    "function_call_name": "called",
    "function_call_arguments_json": "call_arguments",
    # Of models that complete a text.
    "prompt.text": "content",
    "completion.text": "content",
}


def choices(event_name: str) -> Place:
    """An event for each choice that the model made, whose message is inside or spread over it."""

    def read(span: Span, role: str) -> list[Message]:
        said: list[Message] = []
        for event in span.events:
            if event.name != event_name:
                continue
            body = _body(event)
            inner = read_json(body.get("message"))
            choice = {**body, **inner} if isinstance(inner, Mapping) else body
            if inner is not None and not isinstance(inner, Mapping):
                choice["content"] = inner
            choice.pop("message", None)
            said += messages_of([{"role": role, **choice}], role=role)
        return said

    return read


def _of_parts(value: Any, *, role: str) -> list[Message]:
    read = read_json(value)
    found = read if isinstance(read, list) else [read] if read else []
    return messages_of([{"role": role, "parts": found}], role=role) if found else []


def _body(event: SpanEvent) -> dict[str, Any]:
    """The message in an event: in an attribute as JSON, or spread over the attributes."""
    whole = read_json(event.attributes.get("gen_ai.event.content"))
    if isinstance(whole, Mapping):
        return dict(whole)
    body = {name: read_json(value) if name != "content" else value for name, value in event.attributes.items()}
    return body if whole is None else {**body, "content": whole}


DETAILS = "gen_ai.client.inference.operation.details"


@dataclass(frozen=True)
class Convention:
    """What is where in the spans of one convention; `a#b` is what the JSON of attribute `a` has as `b`.

    Spans are its own where the name of an attribute or an event is one of `marks`, or begins with one that ends in a
    dot. Of several names and places, the first counts that holds something.
    """

    name: str
    marks: tuple[str, ...]
    kind: tuple[str, ...]
    kinds: Mapping[str, SpanKind]
    agent: tuple[str, ...] = ()
    # By which every span, and not an agent's alone, may name the agent that it is of.
    named_on_all: tuple[str, ...] = ()
    # Whether the span of an agent is called as the agent is, where it does not name it.
    span_names_agent: bool = False
    conversation: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    input_tokens: tuple[str, ...] = ()
    output_tokens: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    call_id: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    result: tuple[str, ...] = ()
    system: tuple[Place, ...] = field(default=())
    told: tuple[Place, ...] = field(default=())
    said: tuple[Place, ...] = field(default=())


def _kinds(**names: str) -> dict[str, SpanKind]:
    return {name: SpanKind(kind) for kind, listed in names.items() for name in listed.split()}


# https://arize-ai.github.io/openinference/spec/semantic_conventions.html
OPENINFERENCE = Convention(
    name="OpenInference",
    marks=(
        "openinference.",
        "llm.input_messages.",
        "llm.output_messages.",
        "llm.token_count.",
        "input.value",
        "output.value",
    ),
    kind=("openinference.span.kind",),
    kinds=_kinds(
        model="llm",
        tool="tool",
        agent="agent",
        workflow="chain",
        other="embedding retriever reranker guardrail evaluator prompt",
    ),
    agent=("agent.name",),
    span_names_agent=True,
    conversation=("session.id",),
    model=("llm.model_name",),
    input_tokens=("llm.token_count.prompt",),
    output_tokens=("llm.token_count.completion",),
    tool=("tool.name", "tool_call.function.name"),
    call_id=("tool_call.id", "tool.id"),
    arguments=("input.value", "tool_call.function.arguments"),
    result=("output.value",),
    told=(numbered("llm.input_messages"), numbered("llm.prompts"), attribute("input.value")),
    said=(numbered("llm.output_messages"), numbered("llm.choices"), attribute("output.value")),
)
# https://mlflow.org/docs/latest/genai/tracing/ and mlflow.entities.SpanType; every value is JSON.
MLFLOW = Convention(
    name="MLflow",
    marks=("mlflow.",),
    kind=("mlflow.spanType",),
    kinds=_kinds(
        model="llm chat_model",
        tool="tool",
        agent="agent",
        workflow="chain workflow unknown",
        other="retriever embedding reranker parser memory task guardrail evaluator",
    ),
    span_names_agent=True,
    conversation=("mlflow.trace.session", "session.id"),
    model=("mlflow.llm.model", "model"),
    input_tokens=("mlflow.chat.tokenUsage#input_tokens",),
    output_tokens=("mlflow.chat.tokenUsage#output_tokens",),
    arguments=("mlflow.spanInputs",),
    result=("mlflow.spanOutputs",),
    told=(attribute("mlflow.chat.messages"), attribute("mlflow.spanInputs")),
    said=(attribute("mlflow.spanOutputs"),),
)
# https://docs.langchain.com/langsmith/trace-with-opentelemetry and the exporter in the package langsmith.
LANGSMITH = Convention(
    name="LangSmith",
    marks=("langsmith.",),
    kind=("langsmith.span.kind",),
    kinds=_kinds(model="llm", tool="tool", workflow="chain", other="retriever embedding prompt parser"),
    agent=("langsmith.metadata.lc_agent_name",),
    named_on_all=("langsmith.metadata.lc_agent_name",),
    span_names_agent=True,
    conversation=(
        "langsmith.metadata.thread_id",
        "langsmith.metadata.session_id",
        "langsmith.metadata.conversation_id",
    ),
    arguments=("gen_ai.prompt",),
    result=("gen_ai.completion",),
    told=(attribute("gen_ai.prompt"),),
    said=(attribute("gen_ai.completion"),),
)
# https://www.traceloop.com/docs/openllmetry/contributing/semantic-conventions
TRACELOOP = Convention(
    name="OpenLLMetry",
    marks=("traceloop.", "llm."),
    kind=("traceloop.span.kind", "llm.request.type"),
    kinds=_kinds(
        model="chat completion", tool="tool", agent="agent", workflow="workflow", other="task embedding rerank unknown"
    ),
    agent=("traceloop.entity.name",),
    conversation=(
        "traceloop.association.properties.session_id",
        "traceloop.association.properties.conversation_id",
        "traceloop.association.properties.thread_id",
    ),
    model=("llm.response.model", "llm.request.model"),
    input_tokens=("llm.usage.prompt_tokens",),
    output_tokens=("llm.usage.completion_tokens",),
    tool=("traceloop.entity.name",),
    arguments=("traceloop.entity.input",),
    result=("traceloop.entity.output",),
    told=(numbered("gen_ai.prompt", "llm.prompts"), attribute("traceloop.entity.input")),
    said=(numbered("gen_ai.completion", "llm.completions"), attribute("traceloop.entity.output")),
)
# https://ai-sdk.dev/docs/ai-sdk-core/telemetry; from its version 7 on, the SDK's spans are of GenAI's convention.
VERCEL = Convention(
    name="Vercel's AI SDK",
    marks=("ai.",),
    kind=("ai.operationId",),
    kinds=_kinds(
        model="ai.generatetext.dogenerate ai.streamtext.dostream ai.generateobject.dogenerate ai.streamobject.dostream",
        tool="ai.toolcall",
        agent="ai.generatetext ai.streamtext ai.generateobject ai.streamobject",
        other="ai.embed ai.embed.doembed ai.embedmany ai.embedmany.doembed ai.rerank ai.rerank.dorerank",
    ),
    agent=("ai.telemetry.functionId",),
    conversation=(
        "ai.telemetry.metadata.sessionId",
        "ai.telemetry.metadata.session_id",
        "ai.telemetry.metadata.threadId",
        "ai.telemetry.metadata.conversationId",
    ),
    model=("ai.response.model", "ai.model.id"),
    input_tokens=("ai.usage.inputTokens", "ai.usage.promptTokens"),
    output_tokens=("ai.usage.outputTokens", "ai.usage.completionTokens"),
    tool=("ai.toolCall.name",),
    call_id=("ai.toolCall.id",),
    arguments=("ai.toolCall.args",),
    result=("ai.toolCall.result",),
    told=(attribute("ai.prompt.messages"), attribute("ai.prompt")),
    said=(
        beside("ai.response.text", calls="ai.response.toolCalls"),
        beside("ai.result.text", calls="ai.result.toolCalls"),
        attribute("ai.response.object"),
    ),
)
# https://opentelemetry.io/docs/specs/semconv/gen-ai/, the present form and those before it.
GENAI = Convention(
    name="GenAI",
    marks=("gen_ai.",),
    kind=("gen_ai.operation.name",),
    kinds=_kinds(
        model="chat text_completion generate_content completion",
        tool="execute_tool",
        agent="invoke_agent",
        workflow="invoke_workflow",
        other=(
            "embeddings create_agent retrieval rerank plan agent_step execute_task fetch_response "
            "create_memory search_memory update_memory delete_memory upsert_memory chain"
        ),
    ),
    agent=("gen_ai.agent.name", "gen_ai.workflow.name", "gen_ai.agent.id"),
    named_on_all=("gen_ai.agent.name",),
    conversation=("gen_ai.conversation.id",),
    model=("gen_ai.response.model", "gen_ai.request.model"),
    input_tokens=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    output_tokens=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    tool=("gen_ai.tool.name",),
    call_id=("gen_ai.tool.call.id",),
    arguments=("gen_ai.tool.call.arguments",),
    result=("gen_ai.tool.call.result",),
    system=(parts("gen_ai.system_instructions"), in_details("gen_ai.system_instructions", has_parts=True)),
    told=(
        attribute("gen_ai.input.messages"),
        in_details("gen_ai.input.messages"),
        events(
            {
                "gen_ai.system.message": "system",
                "gen_ai.user.message": "user",
                "gen_ai.assistant.message": "assistant",
                "gen_ai.tool.message": "tool",
            }
        ),
        event_attribute("gen_ai.content.prompt", "gen_ai.prompt"),
        numbered("gen_ai.prompt"),
        attribute("gen_ai.prompt"),
    ),
    said=(
        attribute("gen_ai.output.messages"),
        in_details("gen_ai.output.messages"),
        choices("gen_ai.choice"),
        event_attribute("gen_ai.content.completion", "gen_ai.completion"),
        numbered("gen_ai.completion"),
        attribute("gen_ai.completion"),
    ),
)
CONVENTIONS = (OPENINFERENCE, MLFLOW, LANGSMITH, VERCEL, GENAI, TRACELOOP)
MARKS = frozenset(mark for convention in CONVENTIONS for mark in convention.marks)
# The namespaces of OpenTelemetry's general conventions, of its SDKs and of frameworks for the web: such spans have no
# more to say of agents than where in the trace they are.
PLAIN = re.compile(
    r"(?:asgi|aspnetcore|aws|azure|browser|celery|cicd|client|cloud|code|component|container|cpu|db|deployment|"
    r"destination|device|disk|django|dns|dotnet|elasticsearch|enduser|error|event|exception|express|faas|"
    r"fastapi|feature_flag|file|flask|gcp|geo|graphql|heroku|host|http|hw|jvm|k8s|linux|log|logfire|messaging|"
    r"net|network|next|nodejs|oci|opentracing|operation|os|otel|peer|process|profile|redis|resource|rpc|"
    r"sampling|server|service|session|signalr|source|span|sql|system|telemetry|test|thread|tls|url|user|"
    r"user_agent|vcs|webengine|wsgi)[.].*|component"
)
