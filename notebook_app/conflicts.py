"""Conflicts: listing them, settling them and undoing that, and the merge that a model suggests."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from notebook_app.changing import last_by, lock_notebook, lock_rows, reopen
from notebook_app.comparing import text_of
from notebook_app.entry_filter import beyond
from notebook_app.kinds import (
    HOLDING,
    By,
    Change,
    ChangedMeanwhile,
    ConflictMovedOn,
    Contradicted,
    EntryState,
    NoSuchConflict,
    NotPossibleNow,
    Refused,
)
from notebook_app.meaning import hash_of
from notebook_app.merging import merge, supersede, undo
from notebook_app.models import Conflict, ConflictKind, ConflictState, Entry, Settlement

NEWEST_FIRST = ("-created_at", "-id")
# An entry that narrows another is offered to be linked or merged; both can be followed as they are.
TO_BE_SETTLED = (ConflictKind.DUPLICATE, ConflictKind.CONTRADICTION)


def conflict_of(project_id: UUID, conflict_id: UUID) -> Conflict | None:
    """The project's conflict; None where there is no such one."""
    return _rows(project_id).filter(pk=conflict_id).first()


def list_conflicts(
    project_id: UUID,
    *,
    states: Sequence[ConflictState] = (ConflictState.OPEN,),
    kind: ConflictKind | None = None,
    limit: int,
    after: UUID | None = None,
) -> list[Conflict]:
    """The newest conflicts, those older than `after` where that is given and the project's."""
    rows = _rows(project_id).filter(state__in=states)
    rows = rows.filter(kind=kind) if kind is not None else rows.filter(kind__in=TO_BE_SETTLED)
    if after is not None:
        last = Conflict.objects.filter(project_id=project_id, pk=after).first()
        if last is None:
            return []
        rows = rows.filter(beyond(last, NEWEST_FIRST))
    return list(rows.order_by(*NEWEST_FIRST)[:limit])


def conflict_rows(
    project_id: UUID, *, state: ConflictState | None = None, kind: ConflictKind | None = None
) -> QuerySet[Any]:
    """The conflicts that are meant, in no order."""
    rows = _rows(project_id).order_by()
    rows = rows.filter(state=state) if state is not None else rows
    return rows.filter(kind=kind) if kind is not None else rows


def beside(conflict: Conflict) -> tuple[UUID | None, UUID | None]:
    """The open conflicts before and after this one in the inbox, which shows the newest first."""
    kinds = TO_BE_SETTLED if conflict.kind in TO_BE_SETTLED else (conflict.kind,)
    rows = Conflict.objects.filter(project_id=conflict.project_id, state=ConflictState.OPEN, kind__in=kinds)
    rows = rows.exclude(pk=conflict.id)
    before, after = (
        rows.filter(beyond(conflict, order)).order_by(*order).values_list("pk", flat=True).first()
        for order in (("created_at", "id"), NEWEST_FIRST)
    )
    return before, after


def count_open_conflicts(project_id: UUID) -> int:
    """How many conflicts wait for a curator; what only narrows another entry is none."""
    return Conflict.objects.filter(project_id=project_id, state=ConflictState.OPEN, kind__in=TO_BE_SETTLED).count()


def ask_for_suggestion(project_id: UUID, conflict_id: UUID, *, run_id: UUID, instead_of: UUID | None) -> bool:
    """Whether the run is the one that is asked for a merge: not where another has been asked meanwhile."""
    rows = Conflict.objects.filter(project_id=project_id, pk=conflict_id, state=ConflictState.OPEN)
    return bool(rows.filter(suggestion_run=instead_of).update(suggestion_run=run_id, suggestion=None))


def asked_of(project_id: UUID, *, run_id: UUID) -> bool:
    """Whether the run is still asked for a merge: not where another run is, or the words are others by now."""
    return Conflict.objects.filter(project_id=project_id, suggestion_run=run_id, state=ConflictState.OPEN).exists()


def keep_suggestion(project_id: UUID, *, run_id: UUID, suggestion: dict[str, Any]) -> bool:
    """Whether the run's suggestion is kept: not where another run was asked since, or the words are others by now."""
    rows = Conflict.objects.filter(project_id=project_id, suggestion_run=run_id)
    return bool(rows.update(suggestion=suggestion))


def _rows(project_id: UUID) -> QuerySet[Conflict]:
    rows = Conflict.objects.filter(project_id=project_id).select_related("first__owner", "second__owner")
    return rows.defer("first__search", "second__search")


# Settling a conflict: the two are merged, both are kept, or one holds instead of the other; and taking that back.
#
# A conflict is settled by whoever comes first, and only as it was seen: in its state, with both entries at the versions
# that were looked at. Entries are locked before the conflict, as everywhere.

LONGEST_REASON = 10_000


@transaction.atomic
def settle_conflict(
    project_id: UUID,
    conflict_id: UUID,
    how: Settlement,
    *,
    by: By,
    stays: UUID | None = None,
    words: Mapping[str, Any] | None = None,
    reason: str = "",
    versions: Mapping[UUID, int | None] | None = None,
) -> Conflict:
    """The settled conflict. `stays` is the entry that holds afterwards, for all but keeping both.

    `words` are columns of the entry that stays, where a merge puts it into other words. `versions` are those that were
    seen. Raises NoSuchConflict, ConflictMovedOn with who was quicker, ChangedMeanwhile, Refused.
    """
    conflict, entries = _locked(project_id, conflict_id, ConflictState.OPEN)
    for entry_id, version in (versions or {}).items():
        if version is not None and entry_id in entries and entries[entry_id].version != version:
            raise ChangedMeanwhile(version=entries[entry_id].version, by=last_by(entries[entry_id]))
    if how is not Settlement.KEPT_BOTH:
        # Merges one into the other, or lets one hold instead of it; keeps what is needed to take that back.
        both = {conflict.first_id, conflict.second_id}
        if stays not in both:
            raise Refused(_("must be one of the two conflicting entries"), field="stays")
        (gone,) = both - {stays}
        if how is Settlement.MERGED:
            merge(project_id, gone_id=gone, into_id=stays, by=by, reason=reason, **(words or {}))
        elif words:
            raise Refused(_("new text is allowed only when merging"), field="words")
        else:
            supersede(project_id, gone_id=gone, by_id=stays, by=by, reason=reason)
        conflict.why |= {"gone": str(gone)}
    conflict.why |= {"hashes": [hash_of(text_of(entries[one])) for one in (conflict.first_id, conflict.second_id)]}
    conflict.state, conflict.settlement, conflict.reason = ConflictState.SETTLED, how, reason[:LONGEST_REASON]
    conflict.settled_by_label, conflict.settled_at = by.label[:200], timezone.now()
    conflict.save()
    return conflict


@transaction.atomic
def unsettle_conflict(project_id: UUID, conflict_id: UUID, *, by: By, reason: str = "") -> Conflict:
    """The conflict, open again, with both entries as they were before.

    Raises ConflictMovedOn where it is not settled, ChangedMeanwhile or Refused where something was built on it since,
    Contradicted where an entry was approved by settling it and the other would be approved again, too.
    """
    conflict, entries = _locked(project_id, conflict_id, ConflictState.SETTLED)
    if opposed := _approved_by_settling(conflict, [*entries.values()]):
        raise Contradicted([conflict.pk], names=[opposed.name])
    if conflict.settlement != Settlement.KEPT_BOTH:
        gone = entries[UUID(conflict.why["gone"])]
        last = gone.versions.order_by("-number").first()
        if last is None or last.change not in {Change.MERGED, Change.SUPERSEDED}:
            raise ChangedMeanwhile(version=gone.version, by=last.by_label if last else "")
        undo(project_id, gone.pk, number=last.number, by=by, reason=reason)
    else:
        for entry in (conflict.first, conflict.second):
            if entry.state not in HOLDING:
                raise NotPossibleNow(change=Change.REOPENED.value, state=entry.state)
    reopen(Conflict.objects.filter(pk=conflict.pk))
    conflict.refresh_from_db()
    return conflict


def _approved_by_settling(conflict: Conflict, entries: Sequence[Entry]) -> Entry | None:
    """Return the entry whose approval settled the conflict by retiring the other one, if it is approved still."""
    for entry in entries:
        approval = entry.versions.filter(change=Change.APPROVED).order_by("-number").first()
        if entry.state != EntryState.APPROVED or approval is None or conflict.settlement != Settlement.SUPERSEDED:
            continue
        gone = next(other for other in entries if other.pk != entry.pk)
        before = gone.versions.exclude(change=Change.SUPERSEDED).order_by("-number").first()
        was_approved = before is not None and before.state == EntryState.APPROVED
        if was_approved and str(conflict.pk) in approval.evidence.get("settled", []):
            return entry
    return None


def _locked(project_id: UUID, conflict_id: UUID, state: ConflictState) -> tuple[Conflict, dict[UUID, Entry]]:
    """The conflict and its entries, locked before it. Raises NoSuchConflict, and ConflictMovedOn in another state."""
    lock_notebook(project_id)
    found = Conflict.objects.filter(project_id=project_id, pk=conflict_id).first()
    if found is None:
        raise NoSuchConflict(conflict_id)
    entries = lock_rows(project_id, (found.first_id, found.second_id))
    rows = Conflict.objects.select_related("first", "second").select_for_update(of=("self",))
    conflict = rows.get(pk=conflict_id)
    if conflict.state != state:
        raise ConflictMovedOn(state=conflict.state, by=conflict.settled_by_label)
    return conflict, entries
