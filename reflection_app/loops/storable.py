"""Values that PostgreSQL can keep: no NUL characters, no halves of surrogate pairs, no infinite numbers."""

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(value: Any) -> bool:
    """Whether every text and number inside a JSON value can be kept."""
    match value:
        case str():
            return _UNSTORABLE.search(value) is None
        case float():
            return math.isfinite(value)
        case dict():
            return all(is_storable(key) and is_storable(item) for key, item in value.items())
        case list() | tuple():
            return all(is_storable(item) for item in value)
    return True


def storable(text: str) -> str:
    """`text` with what cannot be kept shown as the replacement character."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


Text = Annotated[str, AfterValidator(storable)]


def storable_value(value: Any) -> Any:
    """A JSON value with every text in it made storable."""
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable_value(key): storable_value(item) for key, item in value.items()}
        case list():
            return [storable_value(item) for item in value]
    return value
