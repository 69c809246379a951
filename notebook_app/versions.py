"""What a version of an entry keeps, and writing one."""

from datetime import datetime
from typing import Any
from uuid import UUID

from notebook_app.life import Change
from notebook_app.models import Entry, EntryVersion
from notebook_app.people import By

# The words and their labels; restoring a version brings back these and no state.
KEPT = ("kind", "name", "description", "content", "details", "agent", "category", "tags")
# What people and models are told of it: a change of these is screened and compared anew.
WORDS = ("kind", "name", "description", "content", "details")
# Kept besides, for whoever takes the next change back.
BESIDE = ("owner_id", "is_cleared", "merged_into_id", "reason", "decided_by_label", "decided_at")


def kept_of(entry: Entry) -> dict[str, Any]:
    """The columns that a version keeps, as they are now."""
    return {name: _as_json(getattr(entry, name)) for name in (*KEPT, *BESIDE)}


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def write_version(
    entry: Entry, change: Change, *, by: By, reason: str = "", evidence: dict[str, Any] | None = None
) -> EntryVersion:
    """The version that the entry's row, locked by the caller and saved, is at now."""
    return EntryVersion.objects.create(
        entry=entry,
        number=entry.version,
        change=change.value,
        state=entry.state,
        kept=kept_of(entry),
        reason=reason,
        by_label=by.label[:200],
        by_id=by.user_id,
        evidence=evidence or {},
    )
