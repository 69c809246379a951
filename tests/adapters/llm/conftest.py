"""What the tests of model calls share: the variables of a provider, and an ordinary request."""

from collections.abc import Callable
from typing import Any

import pytest

from reflection_app.adapters.llm import CompletionRequest, Message
from tests.openai_server import OpenAIServer

API_KEY = "sk-testing-0123456789abcdef"


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Callable[[OpenAIServer], None]:
    """Points litellm's own variables at a server, as an operator does."""

    def point_at(server: OpenAIServer) -> None:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", API_KEY)

    return point_at


def asking(model: str = "openai/house-model", **changes: Any) -> CompletionRequest:
    """A request for `model`, with a minute to answer unless changed."""
    values: dict[str, Any] = {
        "model": model,
        "messages": (Message(role="system", content="Be brief."), Message(role="user", content="Say hello.")),
        "key": "attempt-1/generate",
        "timeout_s": 60.0,
        "temperature": 0.3,
        "max_tokens": 50,
    }
    return CompletionRequest(**(values | changes))
