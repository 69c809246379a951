"""Messages that hold pictures, in the form that litellm turns into each provider's own, and what they may come to.

The bounds lie below the narrowest of the usual providers: Anthropic takes 5 MB of Base64 a picture and 32 MB a call,
and refuses a side of more than 2,000 pixels where there are many.
"""

import base64
import math
from collections.abc import Iterable, Mapping
from typing import Any

from reflection_app.adapters.llm.completion import CompletionRequest
from reflection_app.adapters.llm.errors import ModelRefused
from reflection_app.loops.values import PIXELS_PER_TOKEN, Message, Picture

PNG = b"\x89PNG\r\n\x1a\n"
MOST_PICTURES = 20
MOST_BYTES = 2_300_000
MOST_BYTES_IN_ALL = 20_000_000
LONGEST_SIDE_PX = 2_000

type Pictures = Mapping[Picture, bytes]


def size_of(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG as its header has them. Raises ValueError where it is none."""
    if not content.startswith(PNG) or content[12:16] != b"IHDR" or len(content) < 24:
        raise ValueError("it is no PNG")
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def picture_tokens(pictures: Iterable[bytes]) -> int:
    """About how many tokens a model reads of them."""
    return sum(math.ceil(math.prod(size_of(one)) / PIXELS_PER_TOKEN) for one in pictures)


def check_pictures(request: CompletionRequest) -> None:
    """Raises ModelRefused, before anything is sent, where what is to be sent is not there or is more than may be."""
    wanted = list(pictures_in(request.messages))
    if len(wanted) > MOST_PICTURES:
        raise ModelRefused(f"at most {MOST_PICTURES} pictures go into one call; these are {len(wanted)}", tries=0)
    in_all = 0
    for one in wanted:
        content = request.pictures.get(one, b"")
        in_all += len(content)
        try:
            longest = max(size_of(content))
        except ValueError as error:
            raise ModelRefused(f"page {one.page} of {one.sha256[:12]} cannot be sent: {error}", tries=0) from None
        if longest > LONGEST_SIDE_PX or len(content) > MOST_BYTES:
            raise ModelRefused(
                f"page {one.page} of {one.sha256[:12]} is too large to be sent: {longest} pixels, {len(content)} bytes",
                tries=0,
            )
    if in_all > MOST_BYTES_IN_ALL:
        raise ModelRefused(f"the pictures of one call may take {MOST_BYTES_IN_ALL} bytes; these take {in_all}", tries=0)


def pictures_in(messages: Iterable[Message]) -> Iterable[Picture]:
    """The pictures of the messages in their order."""
    return (one for message in messages for one in message.pictures)


def as_sent(message: Message, pictures: Pictures) -> dict[str, Any]:
    """The message as litellm takes it: a text alone, or the pictures, each after its number, and then the text."""
    if not message.pictures:
        return {"role": message.role, "content": message.content}
    parts: list[dict[str, Any]] = []
    for number, one in enumerate(message.pictures, start=1):
        encoded = base64.b64encode(pictures[one]).decode("ascii")
        parts.append({"type": "text", "text": f"Picture {number}:"})
        parts.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}})
    parts.append({"type": "text", "text": message.content})
    return {"role": message.role, "content": parts}
