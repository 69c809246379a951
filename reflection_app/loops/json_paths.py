"""Paths into JSON data as people write them: `papers`, `papers[].title`, `$.a.b[0]`, `$['a b']`.

`[]` (or `[*]`) means every item of a list.
"""

import re
from enum import StrEnum
from typing import Any

from reflection_app.loops.json_schema import json_path

_PART = re.compile(
    r"(?P<dot>\.?)(?P<name>[^.\[\]]+)|(?P<every>\[\*?\])|\[(?P<index>[0-9]{1,9})\]"
    r"|\['(?P<single>(?:[^'\\]|\\.)*+)'\]|\[\"(?P<double>(?:[^\"\\]|\\.)*+)\"\]"
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
HOW = "write it as papers, papers[].title or $.a.b[0]"


# What an honest answer needs is a tenth of it: more fields than fit into the data are asked for by nobody.
MOST_LOOKS = 500_000
# A trail is kept as links to where it came from: copied at every step, a long path into a long list takes seconds.
type Trail = tuple["Trail", str | int] | None


class PathRefused(ValueError):
    """The path cannot be read; the message says where reading stopped."""


class TooManyPlaces(ValueError):
    """The paths lead to more places than are looked at in one answer."""


class Looks:
    """How many places of an answer may still be looked at, for all of its requirements together."""

    def __init__(self) -> None:
        self._left = MOST_LOOKS

    def spend(self, number: int = 1) -> None:
        """Raises TooManyPlaces where there are no more."""
        self._left -= number
        if self._left < 0:
            raise TooManyPlaces("the requirements lead to more places in it than can be looked at")


class Every(StrEnum):
    """Every item of a list."""

    ITEM = "[]"


type Part = str | int | Every


class Gap(StrEnum):
    """Why a path leads no further."""

    MISSING = "missing"
    EMPTY = "an empty list"
    NO_LIST = "not a list"


def parse_path(text: str) -> tuple[Part, ...]:
    """The parts of a path, none for `$`. Raises PathRefused."""
    text = text.strip()
    if not text:
        raise PathRefused(f"it is empty; {HOW}")
    at = 1 if text[0] == "$" and text[1:2] in {"", ".", "["} else 0
    parts: list[Part] = []
    while at < len(text):
        match = _PART.match(text, at)
        # A name stands at the very beginning or after a dot; `a[0]b` and `.a` are slips of the pen.
        if match is None or (match["name"] and (match["dot"] == "") != (at == 0)):
            raise PathRefused(f"it cannot be read from character {at + 1} on; {HOW}")
        if match["name"]:
            parts.append(match["name"].strip())
        elif match["every"]:
            parts.append(Every.ITEM)
        elif match["index"]:
            parts.append(int(match["index"]))
        else:
            quoted = match["single"] if match["single"] is not None else match["double"]
            parts.append(_ESCAPED.sub(r"\1", quoted))
        at = match.end()
    return tuple(parts)


def follow(
    value: Any, parts: tuple[Part, ...], looks: Looks
) -> tuple[list[tuple[Trail, Any]], list[tuple[Trail, Gap]]]:
    """What the path leads to, each with its trail, and where it leads no further. Raises TooManyPlaces."""
    # A gap is put aside at once: carried along, very many of them on a long path would take minutes.
    level: list[tuple[Trail, Any]] = [(None, value)]
    gaps: list[tuple[Trail, Gap]] = []
    for part in parts:
        reached: list[tuple[Trail, Any]] = []
        for trail, one in level:
            looks.spend(len(one) + 1 if isinstance(part, Every) and isinstance(one, list) else 1)
            match part:
                case Every() if isinstance(one, list) and one:
                    reached += [((trail, index), item) for index, item in enumerate(one)]
                case Every():
                    gaps.append((trail, Gap.EMPTY if isinstance(one, list) else Gap.NO_LIST))
                case str() if isinstance(one, dict) and part in one:
                    reached.append(((trail, part), one[part]))
                case int() if isinstance(one, list) and part < len(one):
                    reached.append(((trail, part), one[part]))
                case _:
                    gaps.append(((trail, part), Gap.MISSING))
        level = reached
    return level, gaps


def written(trail: Trail) -> str:
    """The place as people write it: `$.papers[1].title`."""
    parts: list[str | int] = []
    while trail is not None:
        trail, part = trail
        parts.append(part)
    return json_path(parts[::-1])


def gap_in_words(gap: Gap) -> str:
    """The gap as the end of a sentence that begins with its place."""
    return f"is {gap.value}"


# How many values a JSON text has, told before it is read: two bytes of it may become a hundred in memory.

# More than honest bodies of the largest size have; so many are read and refused in a few tenths of a second.
MOST_VALUES = 200_000
# What each value but the first comes after, and what begins those that hold others.
MARKS = (b",", b"[", b"{")
# A string ends with the text where its quote is missing, so that no byte is looked at twice. Only marks are a group.
_STRING_OR_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([,[{])', re.DOTALL)


def has_more_values(text: bytes, most: int = MOST_VALUES) -> bool:
    """Whether it has more values than this, a list or an object being one beside those in it.

    What stands in strings is none. A text that is no JSON has as many as it looks like.
    """
    if sum(text.count(mark) for mark in MARKS) <= most:
        return False
    marks = strings = 0
    for found in _STRING_OR_MARK.finditer(text):
        if found.lastindex:
            marks += 1
        else:
            strings += 1
        # Of a value there are two strings at most, with its key.
        if marks > most or strings > 2 * most + 2:
            return True
    return False
