"""What of a fix may be shown, and to whom: values of parameters may be secrets, their names are not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

HIDDEN = "…"
# Shorter texts are words of everyday, and taking them out would leave no sentence readable.
SHORTEST_HIDDEN = 8
# Of a page of some hundred failures, each with thousands of values, every one would be looked for in every text.
MOST_VALUES = 200


@dataclass(frozen=True)
class ChangedParam:
    """One parameter that a fix changes. `was_there` and `is_there` tell one that is added or left out."""

    name: str
    before: Any
    after: Any
    was_there: bool = True
    is_there: bool = True


def changed_params(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> tuple[ChangedParam, ...]:
    """What differs between two sets of parameters; nothing where there is no second one."""
    if after is None:
        return ()
    return tuple(
        ChangedParam(name, before.get(name), after.get(name), was_there=name in before, is_there=name in after)
        for name in dict.fromkeys((*before, *after))
        if name not in before or name not in after or before[name] != after[name]
    )


def without_values(texts: Sequence[str], *params: Mapping[str, Any] | None) -> list[str]:
    """`texts` with every longer value of `params` taken out. Where these are too many, nothing is shown."""
    longer = (value for given in params for value in _texts(given) if len(value) >= SHORTEST_HIDDEN)
    values = set(islice(longer, MOST_VALUES + 1))
    if len(values) > MOST_VALUES:
        return [HIDDEN for _ in texts]
    for value in sorted(values, key=len, reverse=True):
        texts = [text.replace(value, HIDDEN) for text in texts]
    return list(texts)


def _texts(value: Any) -> Iterator[str]:
    """Every text and number inside of a JSON value, as it would stand in a sentence. Without recursion."""
    left = [value]
    while left:
        match left.pop():
            case str() as text:
                yield text.strip()
            case bool() | None:
                pass
            case int() | float() as number:
                yield str(number)
            case dict() as inner:
                left += inner.values()
            case list() as items:
                left += items
