"""What PostgreSQL can keep: proposals come from models and tools, whose texts may hold anything. Pure."""

import re
from typing import cast

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable[T](value: T) -> T:
    """The JSON value with NUL characters and halves of surrogate pairs shown as the replacement character."""
    match value:
        case str():
            return cast("T", _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value))
        case dict():
            return cast("T", {storable(key): storable(item) for key, item in value.items()})
        case list() | tuple():
            return cast("T", type(value)(storable(item) for item in value))
    return value
