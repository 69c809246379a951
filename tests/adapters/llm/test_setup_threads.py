"""A call that a deadline ends while litellm sets it up."""

from collections.abc import Callable

import pytest

from reflection_app.adapters.llm import ModelTimedOut, complete, preload
from reflection_app.adapters.llm.gateway import stop_model_loop
from tests.adapters.llm.conftest import asking
from tests.openai_server import OpenAIServer, Reply


def test_deadlines_in_the_first_milliseconds_leave_nothing_behind(configured: Callable[[OpenAIServer], None]) -> None:
    preload()
    with OpenAIServer(lambda _: Reply("late", delay_s=2)) as server:
        configured(server)
        for timeout_ms in range(0, 30, 2):
            for on_text in (None, lambda _text: None):
                with pytest.raises(ModelTimedOut):
                    complete(asking(timeout_s=timeout_ms / 1000), on_text=on_text)
        stop_model_loop()
