"""Entries as JSON lines, with every field that they have: what one desk writes, another reads without loss."""

import json
from typing import Any

from notebook_app.interchange.items import ImportItem, Unreadable
from notebook_app.kinds import EntryKind
from notebook_app.shown import KeptEntry

FIELDS = ("name", "description", "content", "details", "agent", "category", "tags", "occurrences")


def read_line(value: Any, *, file: str) -> ImportItem:
    """The entry of one line. Raises Unreadable, or pydantic's ValidationError."""
    if not isinstance(value, dict):
        raise Unreadable("a line is a JSON object")
    try:
        kind = EntryKind(str(value.get("kind", "")))
    except ValueError:
        raise Unreadable(f"kind must be one of {', '.join(EntryKind)}") from None
    source = value.get("source") or value.get("id") or ""
    return ImportItem.model_validate(
        {
            "file": file,
            "key": str(source)[:200],
            "kind": kind,
            "id": str(value.get("id") or ""),
            **{name: value[name] for name in FIELDS if value.get(name) is not None},
        }
    )


def written_line(entry: KeptEntry) -> str:
    """The entry as one line."""
    told: dict[str, Any] = {
        "id": str(entry.id),
        "kind": entry.kind.value,
        "state": entry.state.value,
        "version": entry.version,
        **{name: getattr(entry, name) for name in FIELDS},
        "source": entry.source,
        "recalled": entry.recalled,
        "created_at": entry.created_at.isoformat(),
        "last_seen_at": entry.last_seen_at.isoformat(),
    }
    return json.dumps(told, ensure_ascii=False)
