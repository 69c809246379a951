"""Tokens as the desk counts them where a provider tells none: an estimate, since models split text in their own ways.

The encoding is the one that litellm ships (cl100k_base), so nothing is fetched.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from reflection_app.adapters.llm.litellm_import import litellm
from reflection_app.loops.values import Message

# What chat formats put around a message, and before the answer.
PER_MESSAGE = 4
BEFORE_ANSWER = 3
# Long stretches without a space take the encoder time with their length squared.
PIECE = 2_000


def prompt_tokens(messages: Iterable[Message]) -> int:
    """About how many tokens a model reads of `messages`."""
    return BEFORE_ANSWER + sum(PER_MESSAGE + text_tokens(message.content) for message in messages)


def text_tokens(text: str) -> int:
    """About how many tokens `text` has; at least 1 where there is any."""
    encoding = _encoding()
    return sum(len(encoding.encode_ordinary(text[start : start + PIECE])) for start in range(0, len(text), PIECE))


@cache
def _encoding() -> Any:
    litellm()
    # Sets tiktoken's own variable to the folder that litellm ships, before tiktoken looks for the file elsewhere.
    from litellm.litellm_core_utils.default_encoding import encoding

    return encoding
