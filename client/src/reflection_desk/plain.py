"""Values as JSON, and the desk's database, have a form for them."""

import json
import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def plain(value: Any) -> Any:
    """`value` in types of JSON. What has no form there is told in words, so that whatever is recorded can be sent."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json", exclude_none=True))
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {_storable(str(name)): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    return _storable(str(value))


def _storable(text: str) -> str:
    """The text without what no database of text takes: NUL, and halves of surrogate pairs."""
    if text.isascii() and "\0" not in text:
        return str(text)
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\N{REPLACEMENT CHARACTER}")


def clipped(value: Any, longest: int) -> Any:
    """`value` with its long texts cut in the middle, and how much is missing in its place."""
    if isinstance(value, str) and len(value) > longest:
        half = longest // 2
        return f"{value[:half]}\n… ({len(value) - 2 * half:,} characters left out) …\n{value[-half:]}"
    if isinstance(value, dict):
        return {name: clipped(one, longest) for name, one in value.items()}
    if isinstance(value, list):
        return [clipped(one, longest) for one in value]
    return value


def size_of(value: Any) -> int:
    """The bytes of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())
