"""Paths into JSON data as people write them: `papers`, `papers[].title`, `$.a.b[0]`, `$['a b']`.

`[]` (or `[*]`) means every item of a list.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from reflection_app.loops.json_schema import Place, json_path

_PART = re.compile(
    r"(?P<dot>\.?)(?P<name>[^.\[\]]+)|(?P<every>\[\*?\])|\[(?P<index>[0-9]{1,9})\]"
    r"|\['(?P<single>(?:[^'\\]|\\.)*+)'\]|\[\"(?P<double>(?:[^\"\\]|\\.)*+)\"\]"
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
HOW = "write it as papers, papers[].title or $.a.b[0]"


class PathRefused(ValueError):
    """The path cannot be read; the message says where reading stopped."""


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
    start = 1 if text[0] == "$" and text[1:2] in {"", ".", "["} else 0
    return tuple(_parts(text, start))


def _parts(text: str, start: int) -> Iterator[Part]:
    at = start
    while at < len(text):
        match = _PART.match(text, at)
        # A name stands at the very beginning or after a dot; `a[0]b` and `.a` are slips of the pen.
        if match is None or (match["name"] and (match["dot"] == "") != (at == 0)):
            raise PathRefused(f"it cannot be read from character {at + 1} on; {HOW}")
        yield _part(match)
        at = match.end()


def _part(match: re.Match[str]) -> Part:
    if match["name"]:
        return match["name"].strip()
    if match["every"]:
        return Every.ITEM
    if match["index"]:
        return int(match["index"])
    return _ESCAPED.sub(r"\1", match["single"] if match["single"] is not None else match["double"])


def follow(value: Any, parts: tuple[Part, ...]) -> tuple[list[tuple[Place, Any]], list[tuple[Place, Gap]]]:
    """What the path leads to, each with its place, and the places where it leads no further."""
    # A gap is put aside at once: carried along, very many of them on a long path would take minutes.
    level: list[tuple[Place, Any]] = [((), value)]
    gaps: list[tuple[Place, Gap]] = []
    for part in parts:
        reached: list[tuple[Place, Any]] = []
        for place, one in level:
            further = _step(place, one, part)
            if isinstance(further, Gap):
                gaps.append((place if isinstance(part, Every) else (*place, part), further))
            else:
                reached += further
        level = reached
    return level, gaps


def _step(place: Place, value: Any, part: Part) -> list[tuple[Place, Any]] | Gap:
    match part:
        case Every():
            if not isinstance(value, list):
                return Gap.NO_LIST
            return [((*place, index), item) for index, item in enumerate(value)] or Gap.EMPTY
        case str():
            return [((*place, part), value[part])] if isinstance(value, dict) and part in value else Gap.MISSING
        case int():
            is_there = isinstance(value, list) and part < len(value)
            return [((*place, part), value[part])] if is_there else Gap.MISSING


def written(place: Place) -> str:
    """The place as people write it: `$.papers[1].title`."""
    return json_path(list(place))


def told_gap(gap: Gap) -> str:
    """The gap as the end of a sentence that begins with its place."""
    return f"is {gap.value}"
