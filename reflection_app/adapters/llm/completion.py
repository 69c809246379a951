"""What goes into a model call and what comes out of it, the same for every provider."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from reflection_app.adapters.llm.litellm_import import litellm
from reflection_app.loops.values import Message, Picture


@dataclass(frozen=True, kw_only=True)
class CompletionRequest:
    """One call of one model.

    `timeout_s` bounds the whole call with its retries. `json_schema` asks for an answer of that form, as far as the
    provider can; the answer still has to be validated. `key` is the step's key, which a scripted model answers by.
    `pictures` are those that the messages name, each a PNG.
    """

    model: str
    messages: tuple[Message, ...]
    key: str
    timeout_s: float
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    json_schema: dict[str, Any] | None = None
    pictures: Mapping[Picture, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class Completion:
    """A model's answer. `cost_usd` is 0 where the price is unknown, and `cost_known` then says so.

    `refusal` is what the model said in place of an answer, `tool_calls` are the names of tools that it called, and
    `reasoning` is what it thought, where the provider tells that beside the answer.
    Where the provider did not tell its tokens they are counted here, and `is_estimated` says so; `cached_tokens` of the
    prompt and `reasoning_tokens` of the answer are None where it did not tell them. `tries` counts requests sent.
    """

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: Decimal
    cost_known: bool
    finish_reason: str
    tries: int = 1
    refusal: str = ""
    reasoning: str = ""
    tool_calls: tuple[str, ...] = ()
    is_estimated: bool = False
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


# Tokens as the desk counts them where a provider tells none: an estimate, since models split text in their own ways.
#
# The encoding is the one that litellm ships (cl100k_base), so nothing is fetched.

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
