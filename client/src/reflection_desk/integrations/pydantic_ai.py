"""Pydantic AI: record model and tool calls as a session."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from reflection_desk.integrations import needing
from reflection_desk.session import Session

with needing("pydantic-ai"):
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
    from pydantic_ai.messages import (
        ModelMessage,
        ModelResponse,
        RetryPromptPart,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import ToolDefinition

# Outcomes of failed tool calls. Older versions of Pydantic AI do not have all of them.
FAILED: tuple[str, ...] = ("failed", "retried")


class SessionCapability(AbstractCapability[Any]):
    """Capability that records all model and tool calls into `session`.

    Pass it as `agent.run(…, capabilities=[SessionCapability(session)])`. Messages that models receive repeatedly are
    recorded once.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self.session.conversation(as_openai(request_context.messages))
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        for message in as_openai([response]):
            self.session.message(message)
        return response

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        try:
            return await handler(args)
        except (CallDeferred, ApprovalRequired):
            # Not a failure: the call is deferred, or needs approval.
            raise
        except Exception as error:
            self.session.tool_error(call.tool_name, error, params=args)
            raise


def as_openai(messages: Sequence[ModelMessage]) -> Iterator[dict[str, Any]]:
    """Convert messages to OpenAI's format, without thinking parts. Repeated instructions appear once."""
    instructions: set[str] = set()
    for message in messages:
        if isinstance(message, ModelResponse):
            yield _answer(message)
            continue
        if message.instructions and message.instructions not in instructions:
            instructions.add(message.instructions)
            yield {"role": "system", "content": message.instructions}
        for part in message.parts:
            match part:
                case SystemPromptPart():
                    yield {"role": "system", "content": part.content}
                case UserPromptPart():
                    yield {"role": "user", "content": _parts(part.content)}
                case ToolReturnPart():
                    failed = {"is_error": True} if part.outcome in FAILED else {}
                    content = part.model_response_str()
                    yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": content, **failed}
                case RetryPromptPart() if part.tool_name is not None:
                    content = part.model_response()
                    yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": content, "is_error": True}
                case RetryPromptPart():
                    yield {"role": "user", "content": part.model_response()}


def _answer(response: ModelResponse) -> dict[str, Any]:
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def _parts(content: str | Sequence[Any]) -> Any:
    """Return the content of a user message. Parts without text are replaced by their type."""
    if isinstance(content, str):
        return content
    texts = [part if isinstance(part, str) else getattr(part, "content", None) for part in content]
    return [
        {"type": "text", "text": text} if isinstance(text, str) else {"type": getattr(part, "kind", "file")}
        for part, text in zip(content, texts, strict=True)
    ]
