"""What the classifier (see steering.py) is to read, and what is kept of its reading.

The vectors are made by whoever has the model, outside of any transaction. What changes meanwhile is read again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from notebook_app.changing import change
from notebook_app.kinds import (
    DESK,
    HOLDING,
    OF_THE_DESK,
    Change,
    ChangedMeanwhile,
    EntryState,
    NoSuchEntry,
    NotPossibleNow,
)
from notebook_app.models import Entry
from notebook_app.reading import KeptEntry, shown
from notebook_app.steering import RULE, flag_of, passages, weights


@dataclass(frozen=True)
class Unread:
    """An entry that these weights have not read. `as_of` tells which words of the entry these are."""

    entry_id: UUID
    project_id: UUID
    words: tuple[str, ...]
    labels: tuple[str, ...]
    version: int
    as_of: datetime

    def passages(self) -> list[str]:
        """What is to be made vectors of: takes up to a second of hostile words."""
        return passages(self.words, self.labels)


def unread(*, limit: int) -> list[Unread]:
    """The entries that hold and that these weights have not read, what was changed last first."""
    rows = Entry.objects.filter(read_by_weights__lt=weights().version, state__in=HOLDING).defer("search")
    return [
        Unread(
            entry.pk,
            entry.project_id,
            entry.texts,
            entry.labels,
            entry.version,
            entry.updated_at,
        )
        for entry in rows.order_by("-updated_at", "-pk")[:limit]
    ]


def count_unread() -> int:
    """How many entries that hold these weights have not read."""
    return Entry.objects.filter(read_by_weights__lt=weights().version, state__in=HOLDING).count()


def keep_reading(one: Unread, read: Sequence[str], vectors: Sequence[Sequence[float]]) -> KeptEntry | None:
    """Record that the entry was read. Return it if it is flagged now and was not before.

    What is flagged has another version, so that nobody approves or clears what they have not seen. A curator's clearing
    of the same words stays valid. So does a person's approval: the classifier may be wrong, and the entry stays in
    prompts until a curator decides on the flag. An entry that a key changed last is excluded until then.
    """
    # Before the row is locked: of hostile words it takes up to a second.
    found = flag_of(read, vectors, weights())
    with transaction.atomic():
        rows = Entry.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        entry = rows.filter(pk=one.entry_id, version=one.version, updated_at=one.as_of).first()
        if entry is None:
            return None
        flags = [flag for flag in entry.flags if flag["rule"] != RULE]
        was_found = len(flags) < len(entry.flags)
        if found is not None:
            flags.append(found.as_json())
        columns: dict[str, Any] = {
            "flags": flags,
            "read_by_weights": weights().version,
            "is_used_while_flagged": [flag["rule"] for flag in flags] == [RULE] and _was_approved_by_person(entry),
        }
        if found is None or was_found or entry.is_cleared:
            # An update leaves `updated_at` as it is, which tells whether the words have their vector.
            Entry.objects.filter(pk=entry.pk).update(**columns)
            return None
        try:
            return shown(
                change(entry.project_id, entry.pk, Change.FLAGGED, by=DESK, expected_version=one.version, **columns)
            )
        except (ChangedMeanwhile, NoSuchEntry, NotPossibleNow):
            # It was decided against meanwhile: brought back it is read then.
            return None


def _was_approved_by_person(entry: Entry) -> bool:
    """Return True if the entry is approved, and a person made the last change of it that anybody made."""
    last = entry.versions.exclude(change__in=OF_THE_DESK).order_by("-number").first()
    return entry.state == EntryState.APPROVED and last is not None and last.by_id is not None
