"""Spans of agents for tests, as instrumentations write them."""

import json
from itertools import count
from typing import Any

from reflection_app.sessions.otlp.wire import Span, SpanEvent

TRACE_ID = "5b8efff798038103d269b633813fc60c"
_numbers = count(1)


def span(
    name: str,
    at: int = 0,
    *,
    lasts: int = 1,
    parent: Span | None = None,
    events: tuple[SpanEvent, ...] = (),
    is_error: bool = False,
    status_message: str = "",
    **attributes: Any,
) -> Span:
    """A span; attributes are named with underscores for dots, and two of them for one."""
    return Span(
        trace_id=TRACE_ID,
        span_id=f"{next(_numbers):016x}",
        parent_id=parent.span_id if parent else "",
        name=name,
        attributes={
            key.replace("__", "\0").replace("_", ".").replace("\0", "_"): value for key, value in attributes.items()
        },
        events=events,
        service="shop",
        is_error=is_error,
        status_message=status_message,
        start_ns=at * 1_000,
        end_ns=(at + lasts) * 1_000,
    )


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def asks(name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    call = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [call], "finish_reason": "tool_call"}


def tells(call_id: str, response: Any) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}


def chat(at: int, told: list[dict[str, Any]], said: list[dict[str, Any]], **more: Any) -> Span:
    """A model's call in the present form of the conventions."""
    return span(
        "chat gpt-x",
        at,
        gen__ai_operation_name="chat",
        gen__ai_request_model="gpt-x",
        gen__ai_usage_input__tokens=10,
        gen__ai_usage_output__tokens=5,
        gen__ai_input_messages=json.dumps(told),
        gen__ai_output_messages=json.dumps(said),
        **more,
    )


def tool(at: int, name: str, call_id: str = "", *, result: str | None = None, **more: Any) -> Span:
    if result is not None:
        more["gen__ai_tool_call_result"] = result
    if call_id:
        more["gen__ai_tool_call_id"] = call_id
    return span(f"execute_tool {name}", at, gen__ai_operation_name="execute_tool", gen__ai_tool_name=name, **more)


def agent(name: str, at: int = 0, *, lasts: int = 100, **more: Any) -> Span:
    return span(
        f"invoke_agent {name}", at, lasts=lasts, gen__ai_operation_name="invoke_agent", gen__ai_agent_name=name, **more
    )
