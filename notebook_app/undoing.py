"""Taking the last change of an entry back: words, labels and state as they were before it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils.translation import gettext as _

from notebook_app.changing import change, lock_notebook, lock_rows
from notebook_app.errors import ChangedMeanwhile, NoSuchEntry, Refused
from notebook_app.life import ALLOWED, OF_THE_DESK, Change, EntryState
from notebook_app.merging import lent_to, release
from notebook_app.models import Entry, EntryVersion, Exposure
from notebook_app.people import By
from notebook_app.versions import KEPT

UNDOABLE = frozenset(
    {
        Change.EDITED,
        Change.APPROVED,
        Change.REJECTED,
        Change.RETIRED,
        Change.MERGED,
        Change.SUPERSEDED,
        Change.RESTORED,
        Change.REOPENED,
        Change.TAGGED,
        Change.OWNED,
        Change.CLEARED,
    }
)


@dataclass(frozen=True)
class Undone:
    """The entry as it was before the change, and how many times it was told somebody while the change stood."""

    entry: Entry
    change: Change
    recalled: int


@transaction.atomic
def undo(project_id: UUID, entry_id: UUID, *, number: int, by: By, reason: str = "") -> Undone:
    """The entry without its version `number`, which must be the last that anybody made.

    Raises NoSuchEntry; ChangedMeanwhile where it is not the last; Refused where it cannot be taken back.
    """
    lock_notebook(project_id)
    others = lent_to(project_id, entry_id)
    rows = lock_rows(project_id, [entry_id, *others])
    if entry_id not in rows:
        raise NoSuchEntry(entry_id)
    entry = rows[entry_id]
    last = _last(entry)
    if last is None or last.number != number:
        raise ChangedMeanwhile(version=entry.version, by=last.by_label if last else "")
    was = entry.versions.filter(number__lt=number).order_by("-number").first()
    made = Change(last.change)
    if was is None or made not in UNDOABLE or (made is Change.REOPENED and was.state == EntryState.MERGED):
        raise Refused(_why_not(made))
    if made is Change.MERGED:
        _part(entry, others, rows, by=by, reason=reason)
    told = Exposure.objects.filter(entry=entry, is_withheld=False, created_at__gte=last.created_at)
    recalled = told.count() if made is Change.APPROVED else 0
    undone = change(
        project_id,
        entry_id,
        Change.UNDONE,
        by=by,
        reason=reason,
        put_back=_decided(was, made, entry),
        **_columns(was, entry),
    )
    return Undone(undone, made, recalled)


def _last(entry: Entry) -> EntryVersion | None:
    """The last change that somebody made: what the desk screened meanwhile keeps nobody from taking it back."""
    return entry.versions.exclude(change__in=OF_THE_DESK).order_by("-number").first()


def _why_not(made: Change) -> str:
    if made is Change.UNDONE:
        return _("This was taken back already.")
    if made is Change.REOPENED:
        return _("It was taken out of the entry that it was merged into. Merge it again.")
    if made in {Change.ABSORBED, Change.RELEASED}:
        return _("Take this back at the entry that was merged.")
    if made is Change.SPLIT:
        return _("An entry that was split stays so. Reject or merge the part.")
    return _("There is nothing to take back.")


def _columns(was: EntryVersion, entry: Entry) -> dict[str, Any]:
    """What differs between the entry and what it was, as columns."""
    kept: dict[str, Any] = was.kept
    columns = {
        name: kept[name] for name in (*KEPT, "is_cleared") if name in kept and kept[name] != getattr(entry, name)
    }
    if "owner_id" in kept and kept["owner_id"] != entry.owner_id:
        # Who looked after it may be gone by now.
        columns["owner_id"] = get_user_model().objects.filter(pk=kept["owner_id"]).values_list("pk", flat=True).first()
    return columns


def _decided(was: EntryVersion, made: Change, entry: Entry) -> dict[str, Any]:
    """The state before, with who decided it and why, where the change led to another."""
    if ALLOWED[made][1] is None:
        return {}
    kept: dict[str, Any] = was.kept
    decided_at = kept.get("decided_at")
    return {
        "state": was.state,
        "reason": kept.get("reason", ""),
        "decided_by_label": kept.get("decided_by_label", ""),
        "decided_at": datetime.fromisoformat(decided_at) if decided_at else None,
        "merged_into_id": _still_there(entry.project_id, kept.get("merged_into_id")),
    }


def _still_there(project_id: UUID, entry_id: str | None) -> UUID | None:
    if entry_id is None:
        return None
    return Entry.objects.filter(project_id=project_id, pk=entry_id).values_list("pk", flat=True).first()


def _part(entry: Entry, others: list[UUID], rows: dict[UUID, Entry], *, by: By, reason: str) -> None:
    """Takes what was lent from the entry that it was merged into, with the words that both got then."""
    into = rows[others[0]]
    last, was = into.versions.order_by("-number")[:2]
    if last.change != Change.ABSORBED or last.evidence.get("entry") != str(entry.pk):
        # Reopening it takes it out all the same, and leaves the other's words as they are.
        raise ChangedMeanwhile(version=into.version, by=last.by_label)
    words = {name: was.kept[name] for name in KEPT if name in was.kept and was.kept[name] != getattr(into, name)}
    release(entry, others, by=by, reason=reason, words=words)
