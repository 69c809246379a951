"""What goes into a model call and what comes out of it, the same for every provider."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reflection_app.loops.values import Message


@dataclass(frozen=True, kw_only=True)
class CompletionRequest:
    """One call of one model.

    `timeout_s` bounds the whole call with its retries. `json_schema` asks for an answer of that form, as far as the
    provider can; the answer still has to be validated. `key` is the step's key, which a scripted model answers by.
    """

    model: str
    messages: tuple[Message, ...]
    key: str
    timeout_s: float
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    json_schema: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Completion:
    """A model's answer. `cost_usd` is 0 where the price is unknown, and `cost_known` then says so.

    `refusal` is what the model said in place of an answer, and `tool_calls` are the names of tools that it called.
    Where the provider did not tell its tokens they are counted here, and `is_estimated` says so; `cached_tokens` of the
    prompt and `reasoning_tokens` of the answer are None where it did not tell them. `tries` counts requests sent.
    """

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: Decimal
    cost_known: bool
    latency_ms: int
    finish_reason: str
    tries: int = 1
    refusal: str = ""
    tool_calls: tuple[str, ...] = ()
    is_estimated: bool = False
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
