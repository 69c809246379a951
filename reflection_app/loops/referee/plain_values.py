"""Values read back from the texts in which a test report shows them."""

import ast
import math
from collections.abc import Iterator
from typing import Any

LONGEST_TEXT = 20_000


class Unreadable(ValueError):
    """The text is no plain value: shortened, an object of the code's own, or no literal at all."""


def read_value(text: str) -> Any:
    """The value that the text writes out, or Unreadable."""
    if len(text) > LONGEST_TEXT:
        raise Unreadable("longer than a report shows")
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise Unreadable(str(error)) from error


def is_same_text_or_value(left: str, right: str) -> bool:
    """Whether two shown values are one; sets and dictionaries may be written in another order."""
    if left == right:
        return True
    try:
        values = read_value(left), read_value(right)
        return bool(values[0] == values[1]) and type(values[0]) is type(values[1])
    except (Unreadable, RecursionError):
        return False


def leaves(value: Any) -> Iterator[Any]:
    """The parts of a value that hold no others, in order."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(key)
            yield from leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, set | frozenset):
        for part in sorted(value, key=repr):
            yield from leaves(part)
    else:
        yield value


def is_number(value: Any) -> bool:
    """Whether it is a finite number; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)
