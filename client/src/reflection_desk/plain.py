"""Convert values to JSON that the server can store."""

import json
import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

# The server accepts 64 levels; the request around the value uses some of them.
DEEPEST = 40


def plain(value: Any, *, depth: int = 0) -> Any:
    """Return `value` as JSON types. Never fails on an unsupported value: it becomes its `str()` or a placeholder."""
    if isinstance(value, BaseModel):
        value = _dumped(value)
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping | list | tuple | set | frozenset) and depth == DEEPEST:
        return _placeholder(value)
    if isinstance(value, Mapping):
        return {_storable(str(name)): plain(one, depth=depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one, depth=depth + 1) for one in value]
    return _storable(str(value))


def _dumped(value: BaseModel) -> Any:
    try:
        return value.model_dump(mode="json", exclude_none=True, fallback=str)
    except ValueError:
        # The model contains itself or is too deep for pydantic.
        return _placeholder(value)


def _placeholder(value: Any) -> str:
    return f"({type(value).__name__}, nested too deeply)"


def _storable(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced: PostgreSQL cannot store them."""
    if text.isascii() and "\0" not in text:
        return str(text)
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\N{REPLACEMENT CHARACTER}")


def clipped(value: Any, longest: int) -> Any:
    """Return `value` with strings longer than `longest` cut in the middle, with a note of the omitted length."""
    if isinstance(value, str) and len(value) > longest:
        half = longest // 2
        return f"{value[:half]}\n… ({len(value) - 2 * half:,} characters omitted) …\n{value[-half:]}"
    if isinstance(value, dict):
        return {name: clipped(one, longest) for name, one in value.items()}
    if isinstance(value, list):
        return [clipped(one, longest) for one in value]
    return value


def size_of(value: Any) -> int:
    """Return the size of `value` as JSON, in bytes."""
    return len(json.dumps(value, ensure_ascii=False).encode())
