"""Paths into JSON data: `papers`, `papers[].title`, `$.a.b[0]`, `$['a b']`.

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


# About ten times what a legitimate answer needs.
MOST_LOOKS = 500_000
# A trail is a linked list: copying a long path at each step into a long list would take seconds.
type Trail = tuple["Trail", str | int] | None


class PathRefused(ValueError):
    """The path cannot be parsed; the message says where parsing stopped."""


class TooManyPlaces(ValueError):
    """The paths lead to more places than may be visited in one answer."""


class Looks:
    """Budget of places to visit in an answer, shared by all of its requirements."""

    def __init__(self) -> None:
        self._left = MOST_LOOKS

    def spend(self, number: int = 1) -> None:
        """Use up `number` places. Raise TooManyPlaces if the budget is exceeded."""
        self._left -= number
        if self._left < 0:
            raise TooManyPlaces("the requirements lead to more places in it than can be looked at")


class Every(StrEnum):
    """Selector for every item of a list."""

    ITEM = "[]"


type Part = str | int | Every


class Gap(StrEnum):
    """Reason why a path leads no further."""

    MISSING = "missing"
    EMPTY = "an empty list"
    NO_LIST = "not a list"


def parse_path(text: str) -> tuple[Part, ...]:
    """Return the parts of a path; () for `$`. Raise PathRefused."""
    text = text.strip()
    if not text:
        raise PathRefused(f"it is empty; {HOW}")
    at = 1 if text[0] == "$" and text[1:2] in {"", ".", "["} else 0
    parts: list[Part] = []
    while at < len(text):
        match = _PART.match(text, at)
        # A name must be first or follow a dot. `a[0]b` and `.a` are treated as typing errors.
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
    """Return the values that the path reaches, with their trails, and the gaps where it stops.

    Raise TooManyPlaces if the budget is exceeded.
    """
    # Gaps are set aside at once: carrying very many along a long path would take minutes.
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
    """Return the place as a path: `$.papers[1].title`."""
    parts: list[str | int] = []
    while trail is not None:
        trail, part = trail
        parts.append(part)
    return json_path(parts[::-1])


def gap_in_words(gap: Gap) -> str:
    """Return the gap as the end of a sentence that starts with its place."""
    return f"is {gap.value}"


# Count the values of a JSON text before parsing it, since two bytes of it may take a hundred in memory.

# More than legitimate bodies of the largest size have. That many are read and refused in a few tenths of a second.
MOST_VALUES = 200_000
# Every value but the first follows one of these; the brackets also open containers.
MARKS = (b",", b"[", b"{")
# An unclosed string extends to the end of the text, so no byte is scanned twice. Only marks are a group.
_STRING_OR_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([,[{])', re.DOTALL)


def has_more_values(text: bytes, most: int = MOST_VALUES) -> bool:
    """Return True if the text has more than `most` values; containers count in addition to their items.

    Text in strings does not count. A text that is not JSON is counted by its punctuation.
    """
    if sum(text.count(mark) for mark in MARKS) <= most:
        return False
    marks = strings = 0
    for found in _STRING_OR_MARK.finditer(text):
        if found.lastindex:
            marks += 1
        else:
            strings += 1
        # A value accounts for at most two strings: its key and itself.
        if marks > most or strings > 2 * most + 2:
            return True
    return False
