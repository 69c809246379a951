"""OpenAI's Agents SDK: what models and tools are told and answer, as a session of the desk."""

from typing import Any

from reflection_desk.integrations import needing
from reflection_desk.session import Session

with needing("openai-agents"):
    from agents import (
        Agent,
        ModelResponse,
        RunContextWrapper,
        RunHooks,
        Tool,
        TResponseInputItem,
    )
    from agents.models.chatcmpl_converter import Converter
    from agents.tool_context import ToolContext

# How a tool's answer begins that the SDK makes of an error, where the tool has no function of its own for that.
FAILED = ("An error occurred while running the tool.", "An error occurred while parsing tool arguments.")


class SessionHooks(RunHooks[Any]):
    """Records into `session` what the run does that it is given to as `hooks`. What is told again is kept once."""

    def __init__(self, session: Session) -> None:
        self.session = session

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        told = [{"role": "system", "content": system_prompt}] if system_prompt else []
        self.session.conversation([*told, *as_openai(input_items)])

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        for message in as_openai(response.to_input_items()):
            self.session.message(message)

    async def on_tool_end(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: object) -> None:
        if not isinstance(context, ToolContext):
            return
        text = str(result)
        if text.startswith(FAILED):
            self.session.tool_error(tool.name, text, params=context.tool_arguments, call_id=context.tool_call_id)
        else:
            self.session.message("tool", text, tool_call_id=context.tool_call_id)

    async def on_handoff(self, context: RunContextWrapper[Any], from_agent: Agent[Any], to_agent: Agent[Any]) -> None:
        self.session.message("system", f"{from_agent.name} hands over to {to_agent.name}.")


def as_openai(items: list[TResponseInputItem]) -> list[Any]:
    """Items of the Responses interface as messages of the chat's, which is what sessions are in."""
    return list(Converter.items_to_messages(items))
