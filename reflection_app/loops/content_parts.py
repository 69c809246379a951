"""Content given as a list of parts (OpenAI, Anthropic, Gemini), converted to one text. Pure.

OpenAI: https://platform.openai.com/docs/api-reference/chat/create (messages) and /responses (input); Anthropic:
https://docs.anthropic.com/en/api/messages; Gemini: https://ai.google.dev/api/caching#Part.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

# Maximum nesting; a tool result may itself contain parts.
DEEPEST = 4
LONGEST_NAME = 200
LONGEST_ADDRESS = 2_000
# Reasoning parts are omitted: they are not part of the message.
THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
# Bounded, because a long text without a comma would otherwise be scanned repeatedly.
INLINE = re.compile(r"data:(?P<media_type>[\w.+-]{1,100}/[\w.+-]{1,100})?(?P<parameters>[^,]{0,300}),")
# Type of a part that names an uploaded file by id.
UPLOADED = "attachment"
# Keys that may hold a part's content, depending on the provider.
HOLDERS = ("image_url", "input_audio", "file", "source", "inline_data", "inlineData", "file_data", "fileData")
MEDIA_TYPES = ("media_type", "mime_type", "mimeType", "format")
NAMES = ("filename", "title", "name")
ADDRESSES = ("url", "file_uri", "fileUri", "uri")
DATA = ("data", "file_data", "url")


def text_of_parts(content: Any, *, depth: int = 0) -> str:
    """Return the text parts, one per line. Other parts become placeholders: `[image, image/png, 34 kB]`.

    Reasoning is omitted.
    """
    texts = (one if isinstance(one, str) else placeholder(one) for _number, one in _read(content, depth=depth))
    return "\n".join(text for text in texts if text)


def _read(content: Any, *, depth: int = 0) -> Iterator[tuple[int, str | Mapping[str, Any]]]:
    """Yield (index, content) for each part: its text, or the part itself if it is not text."""
    for number, part in enumerate(content):
        for one in _read_part(part, depth=depth):
            yield number, one


def _read_part(part: Any, *, depth: int) -> Iterator[str | Mapping[str, Any]]:
    if isinstance(part, str):
        yield part
        return
    if not isinstance(part, Mapping):
        yield json.dumps(part, ensure_ascii=False)
        return
    kind = part.get("type")
    if kind in THOUGHTS or part.get("thought") is True:
        return
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            yield str(part[key])
            return
    # A tool result is text or a list of parts.
    if kind == "tool_result" and depth < DEEPEST:
        inner = part.get("content")
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, list):
            yield from (one for _number, one in _read(inner, depth=depth + 1))
        return
    if kind in {"tool_use", "function_call", "tool_call"}:
        arguments = part.get("input", part.get("arguments", {}))
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield f"→ {part.get('name', '')}({written})"
        return
    yield part


@dataclass(frozen=True)
class _Held:
    """Content of a non-text part: data in its original form or an address, under any provider's key."""

    media_type: str
    name: str
    data: str
    address: str
    inline: re.Match[str] | None
    # Anthropic documents may contain plain text.
    is_text: bool
    # Data of a part that does not claim to be a file may be anything, and is ignored.
    claims_file: bool

    @property
    def has_data(self) -> bool:
        return bool(self.inline or (self.data and not self.address))


def _look_at(part: Mapping[str, Any]) -> _Held:
    holder = next((name for name in HOLDERS if name in part), "")
    held = part.get(holder)
    inside: Mapping[str, Any] = held if isinstance(held, Mapping) else {"url": held} if isinstance(held, str) else part
    data = next((str(inside[name]) for name in DATA if isinstance(inside.get(name), str)), "")
    inline = INLINE.match(data)
    media_type = next((str(inside[name]) for name in MEDIA_TYPES if isinstance(inside.get(name), str)), "")
    return _Held(
        media_type=(inline and inline["media_type"]) or media_type,
        name=next((str(one[name]) for one in (inside, part) for name in NAMES if isinstance(one.get(name), str)), ""),
        data=data,
        address=next((str(inside[name]) for name in ADDRESSES if isinstance(inside.get(name), str)), ""),
        inline=inline,
        is_text=inside.get("type") == "text",
        claims_file=bool(holder or media_type or inline),
    )


def placeholder(part: Mapping[str, Any]) -> str:
    """Return the placeholder for a non-text part: its kind, and for media the type, name, size or address."""
    held = _look_at(part)
    kind = part.get("type") if isinstance(part.get("type"), str) else held.media_type.partition("/")[0] or "part"
    told = [str(kind).removeprefix("input_").removesuffix("_url"), held.media_type, held.name]
    if held.has_data:
        size = (len(held.data) - (held.inline.end() if held.inline else 0)) * 3 // 4
        told.append(f"{max(1, round(size / 1000)):,} kB")
    elif held.address:
        told.append(held.address[:LONGEST_ADDRESS])
    elif kind == UPLOADED and isinstance(part.get("id"), str):
        told.append(part["id"])
    return f"[{', '.join(one if one.startswith('http') else one[:LONGEST_NAME] for one in told if one)}]"


@dataclass(frozen=True)
class MediaPart:
    """A part that represents a file. Exactly one of `content`, `url` and `uploaded` (an id) is set.

    `number` is the part's index from 0, `word` its placeholder in the text.
    """

    number: int
    word: str
    name: str = ""
    content: bytes = b""
    url: str = ""
    uploaded: str = ""


def media_of_parts(content: Any) -> tuple[MediaPart, ...]:
    """Return the files among the parts, in order. A part without data or address yields none.

    Raise ValueError, naming the part, if data is not Base64.
    """
    return tuple(_media(content))


def _media(content: Any) -> Iterator[MediaPart]:
    for number, part in _read(content):
        if isinstance(part, str):
            continue
        held, word = _look_at(part), placeholder(part)
        if held.has_data and held.claims_file:
            try:
                found = _bytes_of(held)
            except ValueError as error:
                raise ValueError(f"part {number + 1} cannot be read, its data is no Base64: {error}") from None
            if found:
                yield MediaPart(number=number, word=word, name=held.name, content=found)
        elif held.address.startswith(("https://", "http://")):
            yield MediaPart(number=number, word=word, name=held.name, url=held.address[:LONGEST_ADDRESS])
        elif part.get("type") == UPLOADED:
            yield MediaPart(number=number, word=word, name=held.name, uploaded=str(part.get("id", "")))


def _bytes_of(held: _Held) -> bytes:
    if held.inline:
        given = held.data[held.inline.end() :]
        if not held.inline["parameters"].endswith(";base64"):
            return unquote_to_bytes(given)
    elif held.is_text:
        return held.data.encode()
    else:
        given = held.data
    # Data may have line breaks, the URL-safe alphabet, or missing padding.
    plain = "".join(given.split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
