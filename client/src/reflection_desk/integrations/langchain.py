"""LangChain and LangGraph: what models and tools are told and answer, as a session of the desk."""

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
    """Records into `session` all that happens below the call that it is given to as a callback.

    What an agent's models are told again at every step is kept once.
    """

    # In the order in which it happens, also below an asynchronous agent.
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
            said = getattr(choices[0], "message", None)
            self.session.message(
                as_openai([said])[0] if said is not None else {"role": "assistant", "content": choices[0].text}
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
            # Called by the agent's own code: no message of a model's asked for it.
            call_id = self.session.tool_call(tool, params if isinstance(params, dict) else {"input": params})
            self.session.tool_result(call_id, getattr(output, "content", output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        tool, params = self._tools.pop(run_id, ("tool", None))
        self.session.tool_error(tool, error, params=params)


def as_openai(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """The messages in OpenAI's form; a tool's that tells of a failure is marked."""
    converted = convert_to_openai_messages(messages)
    assert isinstance(converted, list)
    for message, told in zip(messages, converted, strict=True):
        if isinstance(message, ToolMessage) and message.status == "error":
            told["is_error"] = True
    return converted
