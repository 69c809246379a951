"""The one way in which an entry changes: guarded by its state and version, with a version that tells who and why."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from notebook_app.conflict_states import follow_entry
from notebook_app.derived import derive, screen_labels
from notebook_app.errors import ChangedMeanwhile, NoSuchEntry, NotPossibleNow
from notebook_app.life import ALLOWED, HOLDING, Change, EntryState, after, may
from notebook_app.models import Entry
from notebook_app.people import By
from notebook_app.versions import KEPT, WORDS, write_version

# After these its conflicts follow the entry, which are rows that others come to from the other side.
FOLLOWED = frozenset(
    {Change.REJECTED, Change.RETIRED, Change.MERGED, Change.SUPERSEDED, Change.REOPENED, Change.UNDONE}
)


@transaction.atomic
def change(
    project_id: UUID,
    entry_id: UUID,
    made: Change,
    *,
    by: By,
    reason: str = "",
    expected_version: int | None = None,
    evidence: dict[str, Any] | None = None,
    put_back: dict[str, Any] | None = None,
    **columns: Any,
) -> Entry:
    """The entry after the change, locked until the caller's transaction ends.

    With `expected_version` only what the caller has seen is changed. `put_back` are columns of an earlier decision,
    which stand in the place of this one. Raises NoSuchEntry, NotPossibleNow or
    ChangedMeanwhile; nothing is changed then.
    """
    if made in FOLLOWED:
        lock_notebook(project_id)
    entry = locked(project_id, entry_id)
    guard(entry, made, expected_version=expected_version)
    held = entry.state in HOLDING
    for name, value in columns.items():
        setattr(entry, name, value)
    if any(name in WORDS for name in columns):
        derive(entry)
        entry.is_cleared = columns.get("is_cleared", entry.is_cleared)
    elif any(name in KEPT for name in columns):
        screen_labels(entry)
    if ALLOWED[made][1] is not None:
        entry.state = after(made, EntryState(entry.state)).value
        entry.reason, entry.decided_by_label, entry.decided_at = reason, by.label[:200], timezone.now()
    # What came meanwhile has never met it.
    entry.is_compared = entry.is_compared and entry.state in HOLDING
    for name, value in (put_back or {}).items():
        setattr(entry, name, value)
    entry.version += 1
    entry.save()
    write_version(entry, made, by=by, reason=reason, evidence=evidence)
    if held != (entry.state in HOLDING):
        follow_entry(entry)
    return entry


def guard(entry: Entry, made: Change, *, expected_version: int | None) -> None:
    """Raises ChangedMeanwhile or NotPossibleNow unless the entry, locked, can be changed so by who saw that version."""
    if expected_version is not None and entry.version != expected_version:
        raise ChangedMeanwhile(version=entry.version, by=_last_by(entry))
    if not may(made, EntryState(entry.state)):
        raise NotPossibleNow(change=made.value, state=entry.state, version=entry.version, by=_last_by(entry))


def _last_by(entry: Entry) -> str:
    last = entry.versions.order_by("-number").first()
    return last.by_label if last else ""


def locked(project_id: UUID, entry_id: UUID) -> Entry:
    """The project's entry, locked until the transaction ends. Raises NoSuchEntry."""
    entry = (
        Entry.objects.select_for_update(of=("self",), no_key=True).filter(project_id=project_id, pk=entry_id).first()
    )
    if entry is None:
        raise NoSuchEntry(entry_id)
    return entry


def lock_notebook(project_id: UUID) -> None:
    """Lets one transaction at a time lock several of the project's entries or conflicts, or add some.

    Whoever holds two rows and wants a third, or an index entry that somebody else is adding, could otherwise wait in a
    circle. Every row is locked after it; only who locks a single row, and waits for nothing then, needs it not.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"notebook {project_id}"])


def lock_rows(project_id: UUID, entry_ids: Iterable[UUID]) -> dict[UUID, Entry]:
    """The project's entries among these, locked in the one order in which entries are locked."""
    rows = Entry.objects.select_for_update(of=("self",), no_key=True).filter(
        project_id=project_id, pk__in=list(entry_ids)
    )
    return {entry.pk: entry for entry in rows.order_by("pk")}
