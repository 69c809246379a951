"""What an entry of the audit trail changed, field by field, in bounded space whatever was recorded."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_CHANGES = 40
LONGEST_VALUE = 300
DEEPEST = 4


@dataclass(frozen=True)
class FieldChange:
    """One field before and after, None where it was not there."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Changes:
    fields: tuple[FieldChange, ...]
    left_out: int


def changes_between(before: dict[str, Any], after: dict[str, Any]) -> Changes:
    """The fields that differ. Where nothing was recorded before, all that was recorded after."""
    olds, news = dict(_flat(before)), dict(_flat(after))
    names = [name for name in dict.fromkeys((*olds, *news)) if olds.get(name) != news.get(name)]
    fields = tuple(FieldChange(name, _shown(olds.get(name)), _shown(news.get(name))) for name in names[:MOST_CHANGES])
    return Changes(fields, len(names) - len(fields))


def _flat(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every value inside by its path, as text; what lies too deep as JSON."""
    inner: list[tuple[str, Any]] = []
    if depth < DEEPEST and isinstance(value, dict):
        inner = [(str(name), item) for name, item in value.items()]
    elif depth < DEEPEST and isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        inner = [(str(number), item) for number, item in enumerate(value, start=1)]
    if not inner:
        if path:
            yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return
    for name, item in inner:
        yield from _flat(item, f"{path}.{name}" if path else name, depth + 1)


def _shown(text: str | None) -> str | None:
    if text is None or len(text) <= LONGEST_VALUE:
        return text
    return text[:LONGEST_VALUE] + "…"
