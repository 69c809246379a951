"""Values that PostgreSQL can keep: no NUL characters, no halves of surrogate pairs, no infinite numbers."""

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
    """Whether every text and number inside a JSON value can be kept."""
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
    """`text` with what cannot be kept shown as the replacement character.

    Both halves of a character are joined first: a stream may send them in two pieces.
    """
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", with_joined_halves(text))


def with_joined_halves(text: str) -> str:
    """Return `text` with each surrogate pair as the one character that it encodes. Lone surrogates stay."""
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


Text = Annotated[str, AfterValidator(storable)]
LONGEST_AGENT = 120


def agent_name(text: str) -> str:
    """Return an agent's name in Unicode's composed form (NFC): however it was typed, it is one agent."""
    return unicodedata.normalize("NFC", text)[:LONGEST_AGENT]


AgentName = Annotated[str, AfterValidator(agent_name)]
# For filters: what cannot be stored finds nothing.
AgentFilter = Annotated[Text, AfterValidator(agent_name)]


def only_storable(text: str) -> str:
    """`text` as it is. Raises ValueError where it cannot be kept."""
    if not is_storable(text):
        raise ValueError("it holds characters that cannot be stored")
    return text


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


def leaves(value: Any) -> Iterator[Any]:
    """Yield the texts, numbers, truth values and nulls in a JSON value, in order.

    Without recursion: models and agents nest as deep as they like.
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


# Points in time as callers write them, in a form that can be looked for.


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC: PostgreSQL refuses zones 16 hours off. Raises ValueError for what no calendar has."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("is before the first or after the last day of the calendar") from None


Moment = Annotated[AwareDatetime, AfterValidator(in_utc)]
