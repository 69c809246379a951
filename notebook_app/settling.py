"""Settling a conflict: the two are merged, both are kept, or one holds instead of the other; and taking that back.

A conflict is settled by whoever comes first, and only as it was seen: in its state, with both entries at the versions
that were looked at. Entries are locked before the conflict, as everywhere.
"""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from notebook_app.changing import lock_notebook, lock_rows
from notebook_app.comparing import text_of
from notebook_app.conflict_states import reopen
from notebook_app.errors import ChangedMeanwhile, ConflictMovedOn, NoSuchConflict, NotPossibleNow, Refused
from notebook_app.life import HOLDING, Change
from notebook_app.merging import merge, supersede
from notebook_app.models import Conflict, ConflictState, Settlement
from notebook_app.people import By
from notebook_app.said import hash_of
from notebook_app.undoing import undo

LONGEST_REASON = 10_000


@dataclass(frozen=True)
class Settling:
    """How a conflict is settled. `stays` is the entry that holds afterwards, for all but keeping both.

    `words` are columns of the entry that stays, where it is put into other words. `versions` are those that were seen.
    """

    how: Settlement
    stays: UUID | None = None
    words: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    versions: dict[UUID, int] = field(default_factory=dict)


@transaction.atomic
def settle_conflict(project_id: UUID, conflict_id: UUID, told: Settling, *, by: By) -> Conflict:
    """The settled conflict. Raises NoSuchConflict, ConflictMovedOn with who was quicker, ChangedMeanwhile, Refused."""
    lock_notebook(project_id)
    conflict = _found(project_id, conflict_id)
    entries = lock_rows(project_id, (conflict.first_id, conflict.second_id))
    conflict = _locked(conflict)
    if conflict.state != ConflictState.OPEN:
        raise ConflictMovedOn(state=conflict.state, by=conflict.settled_by_label)
    for entry_id, version in told.versions.items():
        if entry_id in entries and entries[entry_id].version != version:
            last = entries[entry_id].versions.order_by("-number").first()
            raise ChangedMeanwhile(version=entries[entry_id].version, by=last.by_label if last else "")
    if told.how is not Settlement.KEPT_BOTH:
        _take_away(project_id, conflict, told, by=by)
    conflict.why |= {"hashes": [hash_of(text_of(entries[one])) for one in (conflict.first_id, conflict.second_id)]}
    conflict.state, conflict.settlement, conflict.reason = ConflictState.SETTLED, told.how, told.reason[:LONGEST_REASON]
    conflict.settled_by_label, conflict.settled_at = by.label[:200], timezone.now()
    conflict.save()
    return conflict


def _take_away(project_id: UUID, conflict: Conflict, told: Settling, *, by: By) -> None:
    """Merges one into the other, or lets one hold instead of it; keeps what is needed to take that back."""
    both = {conflict.first_id, conflict.second_id}
    if told.stays not in both:
        raise Refused(_("one of the two entries of the conflict"), field="stays")
    (gone,) = both - {told.stays}
    if told.how is Settlement.MERGED:
        merge(project_id, gone_id=gone, into_id=told.stays, by=by, reason=told.reason, **told.words)
    elif told.words:
        raise Refused(_("only a merge is put into other words"), field="words")
    else:
        supersede(project_id, gone_id=gone, by_id=told.stays, by=by, reason=told.reason)
    conflict.why |= {"gone": str(gone)}


@transaction.atomic
def unsettle_conflict(project_id: UUID, conflict_id: UUID, *, by: By, reason: str = "") -> Conflict:
    """The conflict, open again, with both entries as they were before.

    Raises ConflictMovedOn where it is not settled, ChangedMeanwhile or Refused where something was built on it since.
    """
    lock_notebook(project_id)
    conflict = _found(project_id, conflict_id)
    entries = lock_rows(project_id, (conflict.first_id, conflict.second_id))
    conflict = _locked(conflict)
    if conflict.state != ConflictState.SETTLED:
        raise ConflictMovedOn(state=conflict.state, by=conflict.settled_by_label)
    if conflict.settlement != Settlement.KEPT_BOTH:
        gone = entries[UUID(conflict.why["gone"])]
        last = gone.versions.order_by("-number").first()
        if last is None or last.change not in {Change.MERGED, Change.SUPERSEDED}:
            raise ChangedMeanwhile(version=gone.version, by=last.by_label if last else "")
        undo(project_id, gone.pk, number=last.number, by=by, reason=reason)
    else:
        _check_both_hold(conflict)
    reopen(Conflict.objects.filter(pk=conflict.pk))
    conflict.refresh_from_db()
    return conflict


def _check_both_hold(conflict: Conflict) -> None:
    for entry in (conflict.first, conflict.second):
        if entry.state not in HOLDING:
            raise NotPossibleNow(change=Change.REOPENED.value, state=entry.state)


def _found(project_id: UUID, conflict_id: UUID) -> Conflict:
    conflict = Conflict.objects.filter(project_id=project_id, pk=conflict_id).first()
    if conflict is None:
        raise NoSuchConflict(conflict_id)
    return conflict


def _locked(conflict: Conflict) -> Conflict:
    rows = Conflict.objects.select_related("first", "second").select_for_update(of=("self",))
    return rows.get(pk=conflict.pk)
