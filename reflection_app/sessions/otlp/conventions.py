"""What a span is about: a model's call, a tool's call, an agent at work or a workflow, by the GenAI conventions."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reflection_app.sessions.otlp.messages import content_of, read_json, written
from reflection_app.sessions.otlp.spans import Span


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
    raised = next((_raised(event.attributes) for event in span.events if event.name == "exception"), "")
    kind = str(span.attributes.get("error.type") or "")
    return span.status_message or raised or kind or "It failed, and its span does not say why."


def _raised(exception: Mapping[str, Any]) -> str:
    parts = (str(exception.get(name) or "") for name in ("exception.type", "exception.message"))
    return ": ".join(part for part in parts if part)
