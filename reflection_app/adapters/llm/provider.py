"""One try of one call through litellm: what is sent, and what is read from the answer."""

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from reflection_app.adapters.llm.completion import Completion, CompletionRequest, prompt_tokens, text_tokens
from reflection_app.adapters.llm.litellm_import import litellm, text_of
from reflection_app.adapters.llm.pictures import as_sent, check_pictures, picture_tokens, pictures_in
from reflection_app.adapters.llm.roles import LOCAL_PREFIX, local_model_address
from reflection_app.loops.attempt_effects import REFUSAL, STOP, means_whole
from reflection_app.loops.storable import with_joined_halves

# An answer that comes in pieces: shown while it grows, then read as if it had come in one.
#
# A piece costs about half a millisecond inside litellm and the OpenAI client, so only some answers of a process are
# streamed at once; the others come whole, as they do from providers that do not stream.

OnText = Callable[[str], None]

# At 60 pieces a second each they take a quarter of a core.
MOST_AT_ONCE = 8
WHOLE_ONLY_S = 300.0
# How servers say that they do not stream, or not with these options. Asked whole, they answer or say what is wrong.
REFUSALS = frozenset({400, 404, 405, 415, 422, 501})
AS_STREAM: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


class StreamBrokeOff(Exception):
    """The stream ended without a word that the answer was whole."""

    status_code = 501


class Streams:
    """Which calls stream. Used on the model loop's thread alone."""

    def __init__(self) -> None:
        self._open = 0
        # Until when, on the monotonic clock: a server may have been in trouble only.
        self._whole_only_until: dict[str, float] = {}

    def take(self, request: CompletionRequest, on_text: OnText | None) -> bool:
        """Whether the call may stream; then `give_back` has to follow. Answers of a given form are not for reading."""
        may = time.monotonic() >= self._whole_only_until.get(request.model, 0.0)
        wanted = on_text is not None and request.json_schema is None and may
        if not wanted or self._open >= MOST_AT_ONCE:
            return False
        self._open += 1
        return True

    def give_back(self) -> None:
        self._open -= 1

    def remember_whole_only(self, model: str) -> None:
        """Keeps for some minutes that the model's server answers, but not in a stream."""
        self._whole_only_until[model] = time.monotonic() + WHOLE_ONLY_S


async def read_stream(stream: Any, *, messages: list[dict[str, Any]], on_text: OnText) -> Any:
    """The answer in litellm's form once all of `stream` has come. Raises litellm's errors, or StreamBrokeOff."""
    text = ""
    first: Any = None
    others: list[Any] = []
    heard = _Heard(stream.completion_stream)
    if hasattr(stream.completion_stream, "__anext__"):
        stream.completion_stream = heard
    try:
        async for chunk in stream:
            piece = text_of(chunk.choices[0].delta.content) if chunk.choices else ""
            if not piece:
                others.append(chunk)
                continue
            first = first or chunk
            text += piece
            if "\udc00" <= piece[0] <= "\udfff":
                text = with_joined_halves(text)
            on_text(text)
    except litellm().exceptions.MidStreamFallbackError as error:
        raise error.original_exception or error from None
    finally:
        # Also where the deadline cuts it off: the connection is given back, and the provider stops writing.
        await stream.aclose()
    if not (stream.received_finish_reason or stream.intermittent_finish_reason):
        raise StreamBrokeOff("The stream ended before the answer was whole.")
    if first is not None:
        # One piece in place of hundreds: litellm's own way to put them together looks at each several times.
        first.choices[0].delta.content = text
        others.insert(0, first)
    response = litellm().stream_chunk_builder(others, messages=messages, logging_obj=stream.logging_obj)
    if heard.refusal:
        # Where the answer that comes whole has it.
        response.choices[0].message.provider_specific_fields = {"refusal": heard.refusal}
    if not heard.tells_usage:
        response.usage = None
    elif heard.usage is not None and _field(heard.usage, "completion_tokens_details") is None:
        response.usage.completion_tokens_details = None
    return response


class _Heard:
    """The provider's own pieces on their way to litellm, which drops refusals and makes up tokens that nobody told.

    `usage` is what the provider told of them; where its pieces cannot be listened to, litellm is believed.
    """

    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces
        self.refusal = ""
        self.usage: Any = None
        self._is_silent = not hasattr(pieces, "__anext__")

    @property
    def tells_usage(self) -> bool:
        return self._is_silent or self.usage is not None

    def __aiter__(self) -> "_Heard":
        return self

    async def __anext__(self) -> Any:
        piece = await self._pieces.__anext__()
        self.usage = _field(piece, "usage") or self.usage
        for choice in _field(piece, "choices") or ():
            delta = _field(choice, "delta")
            self.refusal += _field(delta, "refusal") or ""
            if isinstance(_field(delta, "content"), list):
                delta.content = text_of(delta.content)  # litellm takes no parts
        return piece

    async def aclose(self) -> None:
        # Providers name it one way or the other.
        close = getattr(self._pieces, "aclose", None) or getattr(self._pieces, "close", None)
        closing = close() if close is not None else None
        if closing is not None:
            await closing


def _field(piece: Any, name: str) -> Any:
    return piece.get(name) if isinstance(piece, dict) else getattr(piece, name, None)


# How to ask a provider for an answer of a given form: by JSON Schema, as plain JSON, or not at all.

JSON_OBJECT: dict[str, Any] = {"type": "json_object"}


def response_format(schema: dict[str, Any], *, model: str, provider: str) -> dict[str, Any] | None:
    """The strongest `response_format` that `model` of `provider` is known to take; None where it takes none.

    An OpenAI-style server whose model litellm does not know gets the schema: most such servers enforce it, and one
    that does not is found out by its 400.
    """
    module = litellm()
    if "response_format" not in (module.get_supported_openai_params(model=model, custom_llm_provider=provider) or ()):
        return None
    unknown_server = (
        provider == "openai" and f"{provider}/{model}" not in module.model_cost and model not in module.model_cost
    )
    if unknown_server or module.supports_response_schema(model=model, custom_llm_provider=provider):
        # Strict mode refuses optional fields and open objects, which the schemas of the loops have.
        name = re.sub(r"\W+", "_", str(schema.get("title", "")), flags=re.ASCII).strip("_")[:64] or "answer"
        return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": False}}
    return JSON_OBJECT


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


def usual_arguments(model: str) -> dict[str, Any]:
    """The arguments of any call of `model`."""
    import httpx

    arguments: dict[str, Any] = {
        "model": model,
        "timeout": httpx.Timeout(READ_WITHIN_S, connect=CONNECT_WITHIN_S),
        # Retries are ours: these two would multiply them and know nothing of the deadline.
        "num_retries": 0,
        "max_retries": 0,
        # Some models take no temperature; they answer without it.
        "drop_params": True,
        "no-log": True,
    }
    own_server = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    if model.startswith("openai/") and own_server and not os.environ.get("OPENAI_API_KEY"):
        arguments["api_key"] = NO_KEY_NEEDED
    return arguments


def prepare(request: CompletionRequest) -> Call:
    """What to send for `request`. Raises litellm's errors for a name that it cannot place, and ModelRefused."""
    check_pictures(request)
    local = request.model.startswith(LOCAL_PREFIX)
    arguments = usual_arguments(f"openai/{request.model.removeprefix(LOCAL_PREFIX)}" if local else request.model)
    arguments["messages"] = [as_sent(message, request.pictures) for message in request.messages]
    if request.temperature is not None:
        arguments["temperature"] = request.temperature
    if request.top_p is not None:
        arguments["top_p"] = request.top_p
    if request.max_tokens is not None:
        arguments["max_tokens"] = min(request.max_tokens, LONGEST_LOCAL_ANSWER) if local else request.max_tokens
    if local:
        arguments |= {"api_base": local_model_address(), "api_key": os.environ.get("LOCAL_MODEL_KEY") or NO_KEY_NEEDED}
    if request.json_schema is not None:
        model, provider, *_ = litellm().get_llm_provider(arguments["model"])
        form = response_format(request.json_schema, model=model, provider=provider)
        if form is not None:
            arguments["response_format"] = form
    return Call(arguments, local=local)


async def send(call: Call) -> Any:
    """The provider's answer in litellm's form. Raises litellm's errors."""
    return await litellm().acompletion(**call.arguments)


async def send_streaming(call: Call, on_text: OnText) -> Any:
    """The same answer as from `send`, shown to `on_text` while it comes. Raises litellm's errors, or StreamBrokeOff."""
    stream = await litellm().acompletion(**call.arguments, **AS_STREAM)
    return await read_stream(stream, messages=call.arguments["messages"], on_text=on_text)


LONGEST_REASONING = 100_000


def read_answer(
    response: Any, request: CompletionRequest, *, words: Sequence[str], tries: int, local: bool
) -> Completion:
    """The completion in `response`, which the provider ended with `words`.

    Where it tells no tokens they are still to be counted: `with_counted_tokens`.
    """
    choice = response.choices[0]
    text = text_of(choice.message.content)
    usage = getattr(response, "usage", None)
    told_tokens = int(getattr(usage, "prompt_tokens", 0) or 0)
    # None where litellm does not know the model's price.
    cost = 0.0 if local else (getattr(response, "_hidden_params", None) or {}).get("response_cost")
    refusal = str((getattr(choice.message, "provider_specific_fields", None) or {}).get("refusal") or "")
    finish_reason = str(choice.finish_reason or STOP)
    # litellm looks the provider's own word up first, and then what it made of it.
    word = next(filter(None, words), "" if words else finish_reason)
    if finish_reason == STOP and not means_whole(word):
        finish_reason = word
    # litellm folds the refusals that Anthropic and others tell by this word alone into those of filters.
    if word == REFUSAL:
        refusal, finish_reason = refusal or text, REFUSAL
    # In the present form and in the old one.
    functions = [call.function for call in getattr(choice.message, "tool_calls", None) or ()]
    functions.append(getattr(choice.message, "function_call", None))
    return Completion(
        text=text,
        model=str(response.model or request.model),
        prompt_tokens=told_tokens,
        completion_tokens=int(getattr(usage, "completion_tokens", 0) or 0),
        cost_usd=_money(cost or 0.0),
        cost_known=cost is not None,
        finish_reason=finish_reason,
        refusal=refusal,
        reasoning=(getattr(choice.message, "reasoning_content", None) or "")[:LONGEST_REASONING],
        tool_calls=tuple(str(function.name or "") for function in functions if function is not None),
        # No prompt has no tokens: litellm gives 0 where the answer told nothing.
        is_estimated=not told_tokens,
        cached_tokens=getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None),
        reasoning_tokens=getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None),
        tries=tries,
    )


def with_counted_tokens(answer: Completion, response: Any, call: Call, request: CompletionRequest) -> Completion:
    """The answer with its tokens as this desk counts them, and what those cost where the price is known."""
    message = response.choices[0].message
    calls = [str(one.function.arguments or "") for one in getattr(message, "tool_calls", None) or ()]
    said = (answer.text, answer.refusal, getattr(message, "reasoning_content", None) or "", *answer.tool_calls, *calls)
    prompt, completion = prompt_tokens(request.messages), sum(text_tokens(text) for text in said)
    prompt += picture_tokens(request.pictures[one] for one in pictures_in(request.messages))
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
