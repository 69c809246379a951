"""An answer that comes in pieces: shown while it grows, then read as if it had come in one.

A piece costs about half a millisecond inside litellm and the OpenAI client, so only some answers of a process are
streamed at once; the others come whole, as they do from providers that do not stream.
"""

import time
from collections.abc import Callable
from typing import Any

from reflection_app.adapters.llm.completion import CompletionRequest
from reflection_app.adapters.llm.litellm_import import litellm

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
            piece = _text_of(chunk)
            if not piece:
                others.append(chunk)
                continue
            first = first or chunk
            text += piece
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
            self.refusal += _field(_field(choice, "delta"), "refusal") or ""
        return piece

    async def aclose(self) -> None:
        # Providers name it one way or the other.
        close = getattr(self._pieces, "aclose", None) or getattr(self._pieces, "close", None)
        closing = close() if close is not None else None
        if closing is not None:
            await closing


def _field(piece: Any, name: str) -> Any:
    return piece.get(name) if isinstance(piece, dict) else getattr(piece, name, None)


def _text_of(chunk: Any) -> str:
    return (chunk.choices[0].delta.content or "") if chunk.choices else ""
