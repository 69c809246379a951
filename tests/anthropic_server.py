"""A real HTTP server on loopback that speaks as Anthropic's Messages API does: https://docs.anthropic.com/en/api/messages."""

from collections.abc import Mapping
from typing import Any

from tests.openai_server import OpenAIServer, Reply, Request, SentPicture, decoded

STOPS: dict[str, str | None] = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}
ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


class AnthropicServer(OpenAIServer):
    """Serves `/v1/messages`; `base` is what stands in ANTHROPIC_API_BASE."""

    paths = ("/v1/messages",)

    @property
    def base(self) -> str:
        return self.url.removesuffix("/v1")

    def payload(self, request: Request, reply: Reply) -> dict[str, Any]:
        if reply.status != 200:
            kind = ERRORS.get(reply.status, "api_error")
            return {"type": "error", "error": {"type": kind, "message": reply.text}, "request_id": "req_test"}
        return {
            "id": "msg_test",
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "content": [{"type": "text", "text": reply.text}] if reply.text else [],
            "stop_reason": STOPS[reply.finish_reason],
            "stop_sequence": None,
            "usage": {"input_tokens": reply.prompt_tokens or 1, "output_tokens": reply.completion_tokens or 1},
        }


def anthropic_parts(message: Mapping[str, Any]) -> list[str | SentPicture]:
    """What a message holds, in its order. Fails at a part that Anthropic does not take."""
    content = message["content"]
    if isinstance(content, str):
        return [content]
    parts: list[str | SentPicture] = []
    for part in content:
        if part["type"] == "text":
            parts.append(part["text"])
            continue
        assert part["type"] == "image", part["type"]
        assert set(part["source"]) == {"type", "media_type", "data"}
        assert part["source"]["type"] == "base64"
        parts.append(decoded(part["source"]["media_type"], part["source"]["data"]))
    return parts
