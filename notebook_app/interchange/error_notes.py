"""The error notebook of the fifth design seed: `index.json` and `entries/<id>.json`, one note each."""

from typing import Any

from notebook_app.interchange.items import ImportItem, Unreadable, first_sentence
from notebook_app.kinds import CATEGORIES, EntryKind
from notebook_app.shown import KeptEntry

VERSION = 1


def is_note(value: Any) -> bool:
    """Whether this looks like a note of that notebook."""
    return isinstance(value, dict) and "description" in value and ("cause" in value or "suggestion" in value)


def read_note(value: dict[str, Any], *, file: str) -> ImportItem:
    """The note as an entry. Raises Unreadable, or pydantic's ValidationError."""
    description = _text(value, "description")
    if not description.strip():
        raise Unreadable("the description is missing")
    category = _text(value, "category").strip().lower() or "other"
    note_id = _text(value, "id") or _text(value, "entryId")
    return ImportItem(
        file=file,
        key=f"note:{note_id}"[:200] if note_id else "",
        kind=EntryKind.ERROR_NOTE,
        name=_text(value, "name") or first_sentence(description),
        description=description,
        details={name: text for name in ("cause", "suggestion") if (text := _text(value, name))},
        category=category if category in CATEGORIES else "other",
        agent=_text(value, "agent"),
        occurrences=_count(value),
    )


def written_note(entry: KeptEntry, *, session_id: str = "") -> dict[str, Any]:
    """The entry in the seed's form, with what it has besides under names of its own."""
    return {
        "id": f"nb_{entry.id.hex}",
        "sessionId": session_id,
        "category": entry.category or "other",
        "description": entry.description or entry.name,
        "cause": entry.details.get("cause", ""),
        "suggestion": entry.details.get("suggestion", ""),
        "createdAt": entry.created_at.isoformat(),
        "name": entry.name,
        "agent": entry.agent,
        "occurrences": entry.occurrences,
    }


def index_of(notes: list[dict[str, Any]]) -> dict[str, Any]:
    """The index: the metadata of every note, as that notebook keeps it beside them."""
    listed = ("id", "sessionId", "category", "description", "createdAt")
    return {"version": VERSION, "entries": [{name: note[name] for name in listed} for note in notes]}


def _text(value: dict[str, Any], name: str) -> str:
    found = value.get(name, "")
    if found is None:
        return ""
    if not isinstance(found, str):
        raise Unreadable(f"{name} is not a text")
    return found


def _count(value: dict[str, Any]) -> int:
    found = value.get("occurrences", 1)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 1
