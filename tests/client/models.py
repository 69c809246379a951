"""What the model says to the agents of these tests: it calls tools and then answers, by OpenAI's protocol."""

import json
from typing import Any

from tests.openai_server import Reply


def calling(tool: str, **arguments: Any) -> Reply:
    """An answer of OpenAI's chat interface that calls one tool with arguments."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{tool}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
    }
    return Reply(raw_body=json.dumps(body).encode())
