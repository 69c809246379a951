"""Values that PostgreSQL can store: no NUL characters, no lone surrogates, no infinite numbers."""

import math
import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def is_storable(value: Any) -> bool:
    """Return True if every text and number in a JSON value can be stored."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            if _UNSTORABLE.search(one) is not None:
                return False
        elif isinstance(one, dict):
            left += one
            left += one.values()
        elif isinstance(one, list | tuple):
            left += one
        elif isinstance(one, float) and not math.isfinite(one):
            return False
    return True


def storable(text: str) -> str:
    """Return `text` with unstorable characters replaced by U+FFFD.

    Surrogate pairs are joined first: a stream may send the halves of a character separately.
    """
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", with_joined_halves(text))


def with_joined_halves(text: str) -> str:
    """Return `text` with each surrogate pair as the character it encodes. Lone surrogates stay."""
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


Text = Annotated[str, AfterValidator(storable)]
LONGEST_AGENT = 120


def agent_name(text: str) -> str:
    """Return an agent's name in Unicode NFC, so that equal names compare equal; at most LONGEST_AGENT characters."""
    return unicodedata.normalize("NFC", text)[:LONGEST_AGENT]


AgentName = Annotated[str, AfterValidator(agent_name)]
# For filters: an unstorable name matches nothing.
AgentFilter = Annotated[Text, AfterValidator(agent_name)]


def only_storable(text: str) -> str:
    """Return `text` unchanged. Raise ValueError if it cannot be stored."""
    if not is_storable(text):
        raise ValueError("it holds characters that cannot be stored")
    return text


def storable_value(value: Any) -> Any:
    """Return a JSON value with all its texts made storable."""
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable_value(key): storable_value(item) for key, item in value.items()}
        case list():
            return [storable_value(item) for item in value]
    return value


def leaves(value: Any) -> Iterator[Any]:
    """Yield the texts, numbers, booleans and nulls in a JSON value, in order.

    Iterative, because models and agents may nest without limit.
    """
    left = [value]
    while left:
        match left.pop():
            case dict() as inner:
                left += reversed(inner.values())
            case list() | tuple() as items:
                left += reversed(items)
            case one:
                yield one


# Timestamps in requests, in a form that queries accept


def in_utc(moment: datetime) -> datetime:
    """Return the moment in UTC, because PostgreSQL refuses offsets of 16 hours.

    Raise ValueError if it is outside of the calendar.
    """
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("is before the first or after the last day of the calendar") from None


Moment = Annotated[AwareDatetime, AfterValidator(in_utc)]
