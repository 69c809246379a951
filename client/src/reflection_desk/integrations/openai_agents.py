"""OpenAI Agents SDK: record model and tool calls as a session."""

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

# The SDK's default results of a failed tool begin like this.
FAILED = ("An error occurred while running the tool.", "An error occurred while parsing tool arguments.")


class SessionHooks(RunHooks[Any]):
    """Run hooks that record all model and tool calls into `session`.

    Pass them as `Runner.run(…, hooks=SessionHooks(session))`. Messages that models receive repeatedly are recorded
    once.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        system = [{"role": "system", "content": system_prompt}] if system_prompt else []
        self.session.conversation([*system, *as_openai(input_items)])

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
        self.session.message("system", f"Handoff from {from_agent.name} to {to_agent.name}.")


def as_openai(items: list[TResponseInputItem]) -> list[Any]:
    """Convert items of OpenAI's Responses API to chat messages."""
    return list(Converter.items_to_messages(items))
