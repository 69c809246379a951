"""One try of one call through litellm: what is sent, and what is read from the answer."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from reflection_app.adapters.llm.completion import Completion, CompletionRequest
from reflection_app.adapters.llm.litellm_import import litellm
from reflection_app.adapters.llm.roles import LOCAL_PREFIX, local_model_address
from reflection_app.adapters.llm.streaming import AS_STREAM, OnText, read_stream
from reflection_app.adapters.llm.structured import response_format
from reflection_app.adapters.llm.token_counts import prompt_tokens, text_tokens
from reflection_app.loops.attempt_effects import REFUSAL

# The OpenAI client will not start without a key, and many OpenAI-style servers ask for none.
NO_KEY_NEEDED = "none"
# The small model says nothing useful after this many tokens, and on two busy cores they are half a run's time.
LONGEST_LOCAL_ANSWER = 400
CONNECT_WITHIN_S = 10.0
# Constant, because litellm keeps one client per value: a value per call would mean a connection per call. The
# deadline of a call is kept by the gateway.
READ_WITHIN_S = 3600.0


@dataclass(frozen=True)
class Call:
    """The arguments of one try, kept between tries. `local` is for the model that this installation serves itself."""

    arguments: dict[str, Any]
    local: bool

    @property
    def asks_for_form(self) -> bool:
        return "response_format" in self.arguments

    def without_form(self) -> "Call":
        """The same call with no `response_format`, for a server that does not take it."""
        return replace(self, arguments={k: v for k, v in self.arguments.items() if k != "response_format"})


def prepare(request: CompletionRequest) -> Call:
    """What to send for `request`. Raises litellm's errors for a name that it cannot place."""
    import httpx

    local = request.model.startswith(LOCAL_PREFIX)
    arguments: dict[str, Any] = {
        "model": f"openai/{request.model.removeprefix(LOCAL_PREFIX)}" if local else request.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "timeout": httpx.Timeout(READ_WITHIN_S, connect=CONNECT_WITHIN_S),
        # Retries are ours: these two would multiply them and know nothing of the deadline.
        "num_retries": 0,
        "max_retries": 0,
        # Some models take no temperature; they answer without it.
        "drop_params": True,
        "no-log": True,
    }
    if request.temperature is not None:
        arguments["temperature"] = request.temperature
    if request.top_p is not None:
        arguments["top_p"] = request.top_p
    if request.max_tokens is not None:
        arguments["max_tokens"] = min(request.max_tokens, LONGEST_LOCAL_ANSWER) if local else request.max_tokens
    if local:
        arguments |= {"api_base": local_model_address(), "api_key": os.environ.get("LOCAL_MODEL_KEY") or NO_KEY_NEEDED}
    return Call(arguments | _keyless(arguments) | _form(arguments, request.json_schema), local=local)


async def send(call: Call) -> Any:
    """The provider's answer in litellm's form. Raises litellm's errors."""
    return await litellm().acompletion(**call.arguments)


async def send_streaming(call: Call, on_text: OnText) -> Any:
    """The same answer as from `send`, shown to `on_text` while it comes. Raises litellm's errors, or StreamBrokeOff."""
    stream = await litellm().acompletion(**call.arguments, **AS_STREAM)
    return await read_stream(stream, messages=call.arguments["messages"], on_text=on_text)


def read_answer(response: Any, request: CompletionRequest, *, latency_ms: int, tries: int, local: bool) -> Completion:
    """The completion in `response`; where it tells no tokens they are still to be counted: `with_counted_tokens`."""
    choice = response.choices[0]
    text = choice.message.content or ""
    usage = getattr(response, "usage", None)
    told_tokens = int(getattr(usage, "prompt_tokens", 0) or 0)
    # None where litellm does not know the model's price.
    cost = 0.0 if local else (getattr(response, "_hidden_params", None) or {}).get("response_cost")
    refusal = str((getattr(choice.message, "provider_specific_fields", None) or {}).get("refusal") or "")
    finish_reason = str(choice.finish_reason or "stop")
    # litellm folds the refusals that Anthropic and others tell by this word alone into those of filters.
    if (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason") == REFUSAL:
        refusal, finish_reason = refusal or text, REFUSAL
    return Completion(
        text=text,
        model=str(response.model or request.model),
        prompt_tokens=told_tokens,
        completion_tokens=int(getattr(usage, "completion_tokens", 0) or 0),
        cost_usd=_money(cost or 0.0),
        cost_known=cost is not None,
        latency_ms=latency_ms,
        finish_reason=finish_reason,
        refusal=refusal,
        tool_calls=tuple(_called(choice.message)),
        # No prompt has no tokens: litellm gives 0 where the answer told nothing.
        is_estimated=not told_tokens,
        cached_tokens=getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None),
        reasoning_tokens=getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None),
        tries=tries,
    )


def _called(message: Any) -> Iterator[str]:
    """The names of the functions that the answer calls, in the present form and in the old one."""
    functions = [call.function for call in getattr(message, "tool_calls", None) or ()]
    functions.append(getattr(message, "function_call", None))
    yield from (str(function.name or "") for function in functions if function is not None)


def with_counted_tokens(answer: Completion, response: Any, call: Call, request: CompletionRequest) -> Completion:
    """The answer with its tokens as this desk counts them, and what those cost where the price is known."""
    message = response.choices[0].message
    calls = [str(one.function.arguments or "") for one in getattr(message, "tool_calls", None) or ()]
    said = (answer.text, answer.refusal, getattr(message, "reasoning_content", None) or "", *answer.tool_calls, *calls)
    prompt, completion = prompt_tokens(request.messages), sum(text_tokens(text) for text in said)
    cost = 0.0 if call.local else None
    if not call.local:
        # litellm raises its own error, or a plain one, for a model that it has no price of.
        with suppress(Exception):
            cost = sum(
                litellm().cost_per_token(
                    model=call.arguments["model"], prompt_tokens=prompt, completion_tokens=completion
                )
            )
    return replace(
        answer,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=_money(cost or 0.0),
        cost_known=cost is not None,
        cached_tokens=None,
        reasoning_tokens=None,
    )


def _money(cost: float) -> Decimal:
    # litellm multiplies floats; twelve places are a millionth of the smallest price and hide the float's tail.
    return Decimal(f"{cost:.12f}").normalize()


async def close_connections() -> None:
    """Closes litellm's connections and forgets them, so that a later loop cannot be handed one of this loop's."""
    module = litellm()
    await module.close_litellm_async_clients()
    module.in_memory_llm_clients_cache.flush_cache()


def _keyless(arguments: dict[str, Any]) -> dict[str, Any]:
    own_server = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    if str(arguments["model"]).startswith("openai/") and own_server and not os.environ.get("OPENAI_API_KEY"):
        return {"api_key": arguments.get("api_key", NO_KEY_NEEDED)}
    return {}


def _form(arguments: dict[str, Any], schema: dict[str, Any] | None) -> dict[str, Any]:
    if schema is None:
        return {}
    model, provider, *_ = litellm().get_llm_provider(arguments["model"])
    form = response_format(schema, model=model, provider=provider)
    return {} if form is None else {"response_format": form}
