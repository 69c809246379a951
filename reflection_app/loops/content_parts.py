"""Content that comes as a list of parts, in the forms of OpenAI, Anthropic and Gemini, as one text. Pure.

OpenAI: https://platform.openai.com/docs/api-reference/chat/create (messages) and /responses (input);
Anthropic: https://docs.anthropic.com/en/api/messages; Gemini: https://ai.google.dev/api/caching#Part.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# A part may hold parts: what a tool answered.
DEEPEST = 4
LONGEST_NAME = 200
LONGEST_ADDRESS = 2_000
# Models' thoughts are not what they said.
THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
INLINE = re.compile(r"data:(?P<media_type>[\w.+-]+/[\w.+-]+)?[^,]*,")
# Where a part keeps what it is about, in one form or another.
HOLDERS = ("image_url", "input_audio", "file", "source", "inline_data", "inlineData", "file_data", "fileData")
MEDIA_TYPES = ("media_type", "mime_type", "mimeType", "format")
NAMES = ("filename", "title", "name")
ADDRESSES = ("url", "file_uri", "fileUri", "uri")
DATA = ("data", "file_data", "url")


def text_of_parts(content: Any, *, depth: int = 0) -> str:
    """The texts of the parts, one a line; in the place of any other what it is: `[image, image/png, 34 kB]`.

    Of media nothing but its kind, name, size and address is kept. Thoughts are left out.
    """
    return "\n".join(text for part in content for text in _texts_of(part, depth=depth) if text)


def _texts_of(part: Any, *, depth: int) -> Iterator[str]:
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
    # What a tool answered is a text or parts again.
    if kind == "tool_result" and depth < DEEPEST:
        inner = part.get("content")
        yield (
            inner
            if isinstance(inner, str)
            else text_of_parts(inner if isinstance(inner, list) else [], depth=depth + 1)
        )
        return
    if kind in {"tool_use", "function_call", "tool_call"}:
        arguments = part.get("input", part.get("arguments", {}))
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield f"→ {part.get('name', '')}({written})"
        return
    yield placeholder(part)


def placeholder(part: Mapping[str, Any]) -> str:
    """What stands in a text for a part that is none: its kind, and of media the type, name, size or address."""
    holder = next((name for name in HOLDERS if name in part), "")
    held = part.get(holder)
    inside: Mapping[str, Any] = held if isinstance(held, Mapping) else {"url": held} if isinstance(held, str) else part
    data = next((str(inside[name]) for name in DATA if isinstance(inside.get(name), str)), "")
    inline = INLINE.match(data)
    media_type = next((str(inside[name]) for name in MEDIA_TYPES if isinstance(inside.get(name), str)), "")
    media_type = (inline and inline["media_type"]) or media_type
    kind = part.get("type") if isinstance(part.get("type"), str) else media_type.partition("/")[0] or "part"
    told = [str(kind).removeprefix("input_").removesuffix("_url"), media_type]
    told += [str(one[name]) for one in (inside, part) for name in NAMES if isinstance(one.get(name), str)][:1]
    addresses = [str(inside[name]) for name in ADDRESSES if isinstance(inside.get(name), str)]
    if inline or (data and not addresses):
        size = (len(data) - (inline.end() if inline else 0)) * 3 // 4
        told.append(f"{max(1, round(size / 1000)):,} kB")
    elif addresses:
        told.append(addresses[0][:LONGEST_ADDRESS])
    return f"[{', '.join(one if one.startswith('http') else one[:LONGEST_NAME] for one in told if one)}]"
