"""How many items a list in the data has, or how long a text is, against what is required of it."""

import json
from itertools import repeat
from typing import Any

from reflection_app.loops.checked_answers import CheckedAnswer, Found
from reflection_app.loops.json_paths import (
    Gap,
    Looks,
    Part,
    PathRefused,
    TooManyPlaces,
    follow,
    parse_path,
    told_gap,
    written,
)
from reflection_app.loops.requirements import Counted, CountRequirement, RequirementKind, RequirementResult

LONGEST_SHOWN = 80
WHOLE = "$"


def check_count(count: CountRequirement, answer: CheckedAnswer) -> RequirementResult:
    """Whether there are as many as there must be."""
    met, actual, place = _counted(count, answer)
    return RequirementResult(
        kind=RequirementKind.COUNT,
        name=count.name.strip() or _what(count),
        met=met,
        expected=f"{_bounds(count)} {_what(count, is_one=(count.max or count.min) == 1)}",
        actual=actual,
        path=place,
    )


def _counted(count: CountRequirement, answer: CheckedAnswer) -> Found:
    if count.of is not Counted.ITEMS and count.path.strip() in {"", WHOLE}:
        return _within(count, answer.size(count.of), place="")
    if answer.no_data:
        return False, answer.no_data, ""
    try:
        return _counted_at(parse_path(count.path), count, answer)
    except PathRefused as error:
        return False, f"the path cannot be read: {error}", ""
    except TooManyPlaces as error:
        return False, str(error), ""


def _counted_at(path: tuple[Part, ...], count: CountRequirement, answer: CheckedAnswer) -> Found:
    reached, gaps = follow(answer.data, path, answer.looks)
    kind = list if count.of is Counted.ITEMS else str
    fitting = [(place, value) for place, value in reached if isinstance(value, kind)]
    if fitting:
        return _within(count, sum(_size(value, count, answer) for _, value in fitting), place=written(fitting[0][0]))
    if reached:
        place, value = reached[0]
        wanted = "a list" if kind is list else "a text"
        return False, f"{written(place)} is {_kind_of(value)}, not {wanted}", written(place)
    place, gap = gaps[0]
    if gap is Gap.EMPTY:
        return _within(count, 0, place=written(place))
    return False, f"{written(place)} {told_gap(gap)}", written(place)


def _within(count: CountRequirement, number: int, *, place: str) -> Found:
    met = (count.min is None or number >= count.min) and (count.max is None or number <= count.max)
    return met, f"{number:,}", place


def _size(value: Any, count: CountRequirement, answer: CheckedAnswer) -> int:
    if count.of is not Counted.ITEMS:
        return answer.size(count.of, value)
    return sum(1 for item in value if _fits(item, count.where, answer.looks)) if count.where else len(value)


def _fits(item: Any, where: dict[str, Any], looks: Looks) -> bool:
    looks.spend()
    return isinstance(item, dict) and all(
        name in item and _same(item[name], value, looks) for name, value in where.items()
    )


def _same(one: Any, other: Any, looks: Looks) -> bool:
    """Whether two JSON values are equal. To Python, 1 and true are."""
    looks.spend()
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key], looks) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other, repeat(looks)))
    return bool(one == other)


def _bounds(count: CountRequirement) -> str:
    if count.max is None:
        return f"at least {count.min:,}"
    if not count.min:
        return f"at most {count.max:,}"
    return f"exactly {count.min:,}" if count.min == count.max else f"{count.min:,} to {count.max:,}"


def _what(count: CountRequirement, *, is_one: bool = False) -> str:
    """What is counted, in words: `items in papers with is_key = true`."""
    where = count.path.strip() or WHOLE
    is_whole = where == WHOLE
    place = "" if is_whole and count.of is not Counted.ITEMS else f" in {'the list' if is_whole else where}"
    conditions = " and ".join(f"{_shortened(name)} = {_shown(value)}" for name, value in count.where.items())
    unit = count.of.value.removesuffix("s") if is_one else count.of.value
    return f"{unit}{place}{f' with {conditions}' if conditions else ''}"


def _shown(value: Any) -> str:
    return _shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return "a text"
    return "a number"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
