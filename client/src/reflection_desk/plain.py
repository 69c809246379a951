"""Values as JSON, and the desk's database, have a form for them."""

import json
import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

# The desk takes 64 levels, of which some stand around what is recorded.
DEEPEST = 40


def plain(value: Any, *, depth: int = 0) -> Any:
    """`value` in types of JSON. What has no form there is told in words, so that whatever is recorded can be sent."""
    if isinstance(value, BaseModel):
        value = _dumped(value)
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping | list | tuple | set | frozenset) and depth == DEEPEST:
        return _left_out(value)
    if isinstance(value, Mapping):
        return {_storable(str(name)): plain(one, depth=depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one, depth=depth + 1) for one in value]
    return _storable(str(value))


def _dumped(value: BaseModel) -> Any:
    try:
        return value.model_dump(mode="json", exclude_none=True, fallback=str)
    except ValueError:
        # It goes in circles, or is too deep for pydantic.
        return _left_out(value)


def _left_out(value: Any) -> str:
    return f"({type(value).__name__}, nested too deeply)"


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
