"""The one way in which an entry changes: guarded by its state and version, with a version that tells who and why."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from notebook_app.identity import text_key
from notebook_app.kinds import (
    ALLOWED,
    HOLDING,
    By,
    Change,
    ChangedMeanwhile,
    NoSuchEntry,
    NotPossibleNow,
    after,
    may,
)
from notebook_app.models import Conflict, ConflictState, Entry, Settlement
from notebook_app.screening import STEERS, scan
from notebook_app.search import search_of
from notebook_app.versions import KEPT, WORDS, announce, write_version

# What becomes of an entry's conflicts when it no longer holds, or holds again.

# Settled by taking one of the two away: there again, it is to be settled anew.
BY_TAKING_AWAY = (Settlement.MERGED, Settlement.SUPERSEDED)


def follow_entry(entry: Entry) -> None:
    """Makes the open conflicts of an entry that holds no more moot, and opens them again once both sides hold.

    The entry's row is locked by the caller. The conflicts are locked before the other sides are looked at: of two
    entries that change at the same moment, the second to come sees what the first one did.
    """
    rows = Conflict.objects.select_for_update(of=("self",)).filter(Q(first=entry) | Q(second=entry)).order_by("pk")
    conflicts = list(rows)
    if entry.state not in HOLDING:
        open_ones = [one.pk for one in conflicts if one.state == ConflictState.OPEN]
        Conflict.objects.filter(pk__in=open_ones).update(state=ConflictState.MOOT)
        return
    others = {one.second_id if one.first_id == entry.pk else one.first_id for one in conflicts}
    held = set(Entry.objects.filter(pk__in=others, state__in=HOLDING).values_list("pk", flat=True)) | {entry.pk}
    back = []
    for one in conflicts:
        was_taken_away = one.state == ConflictState.SETTLED and one.settlement in BY_TAKING_AWAY
        comes_back = one.state == ConflictState.MOOT or was_taken_away
        if comes_back and {one.first_id, one.second_id} <= held:
            back.append(one.pk)
    reopen(Conflict.objects.filter(pk__in=back))


def reopen(conflicts: QuerySet[Conflict]) -> int:
    """How many of the conflicts are open now, as if nobody had settled them."""
    return conflicts.update(state=ConflictState.OPEN, settlement="", settled_by_label="", settled_at=None, reason="")


# What follows from an entry's words: what screening finds in them, and what it is searched by.


def derive(entry: Entry) -> None:
    """Sets, without saving, what follows from the words; a curator's clearing held for the earlier ones.

    Once the change is committed, those who listen to `words_changed` are told.
    """
    entry.is_cleared = entry.is_compared = entry.is_used_while_flagged = False
    entry.read_by_weights = 0
    entry.flags = flags_of(entry)
    entry.text_key = text_key({name: getattr(entry, name) for name in WORDS})
    entry.search = search_of(entry)
    announce(entry)


def flags_of(entry: Entry) -> list[dict[str, Any]]:
    """What screening finds in all that anybody may be told of the entry: in its words, and apart from them its labels.

    Read together, another tag would change what is quoted of the words, which a curator has cleared.
    """
    return [flag.as_json() for flag in (*scan(entry.texts), *scan(entry.labels))]


def screen_labels(entry: Entry) -> None:
    """Sets, without saving, what is found now that its labels are others; nothing new leaves a clearing as it is."""
    # What the classifier found in the words is still there; with the labels it reads all once more.
    flags = [*flags_of(entry), *(flag for flag in entry.flags if flag["rule"] == STEERS)]
    entry.read_by_weights = 0
    if any(flag not in entry.flags for flag in flags):
        entry.is_cleared = entry.is_used_while_flagged = False
    entry.flags = flags


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
        entry.state = after(made, entry.state)
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
        raise ChangedMeanwhile(version=entry.version, by=last_by(entry))
    if not may(made, entry.state):
        raise NotPossibleNow(change=made.value, state=entry.state, version=entry.version, by=last_by(entry))


def last_by(entry: Entry) -> str:
    """Who made the version that the entry is at."""
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
