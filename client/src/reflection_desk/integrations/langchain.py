"""LangChain and LangGraph: record model and tool calls as a session."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from reflection_desk.integrations import needing
from reflection_desk.session import Session

with needing("langchain"):
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import BaseMessage, ToolMessage, convert_to_openai_messages
    from langchain_core.outputs import LLMResult


class SessionHandler(BaseCallbackHandler):
    """Callback handler that records all model and tool calls into `session`.

    Pass it as `{"callbacks": [SessionHandler(session)]}`. Messages that models receive repeatedly are recorded once.
    """

    # Without this, async agents would call the handler in threads, and messages could change their order.
    run_inline = True

    def __init__(self, session: Session) -> None:
        self.session = session
        self._tools: dict[UUID, tuple[str, Any]] = {}

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **_: Any
    ) -> None:
        for conversation in messages:
            self.session.conversation(as_openai(conversation))

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **_: Any) -> None:
        self.session.conversation({"role": "user", "content": prompt} for prompt in prompts)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        for choices in response.generations:
            message = getattr(choices[0], "message", None)
            self.session.message(
                as_openai([message])[0] if message is not None else {"role": "assistant", "content": choices[0].text}
            )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self.session.message("system", f"The model failed: {type(error).__name__}: {error}")

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        self._tools[run_id] = (str(serialized.get("name") or "tool"), input_str if inputs is None else inputs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        tool, params = self._tools.pop(run_id, ("tool", None))
        if isinstance(output, ToolMessage):
            self.session.message(as_openai([output])[0])
        else:
            # The agent's own code called the tool: no model message contains this call.
            call_id = self.session.tool_call(tool, params if isinstance(params, dict) else {"input": params})
            self.session.tool_result(call_id, getattr(output, "content", output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        tool, params = self._tools.pop(run_id, ("tool", None))
        self.session.tool_error(tool, error, params=params)


def as_openai(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Convert messages to OpenAI's format. Failed tool results get `is_error`."""
    converted = convert_to_openai_messages(messages)
    assert isinstance(converted, list)
    for message, openai_message in zip(messages, converted, strict=True):
        if isinstance(message, ToolMessage) and message.status == "error":
            openai_message["is_error"] = True
    return converted
