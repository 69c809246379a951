"""Conflicts as others see them: both entries, why the two were found, how it was settled, and what a model suggests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from notebook_app.changing import lock_notebook, lock_rows, reopen
from notebook_app.comparing import text_of
from notebook_app.kinds import (
    HOLDING,
    By,
    Change,
    ChangedMeanwhile,
    ConflictMovedOn,
    NoSuchConflict,
    NotPossibleNow,
    Refused,
)
from notebook_app.meaning import hash_of
from notebook_app.merging import merge, supersede, undo
from notebook_app.models import Conflict, ConflictKind, ConflictState, Settlement
from notebook_app.reading import KeptEntry, shown


@dataclass(frozen=True)
class OpposedPhrases:
    """What the first entry says and the second says otherwise; `kind` is what they differ in."""

    kind: str
    left: str
    right: str


@dataclass(frozen=True)
class SeenConflict:
    """One conflict. `words` are those that both share; `gone_id` is the entry that was merged or superseded."""

    id: UUID
    project_id: UUID
    kind: ConflictKind
    state: ConflictState
    first: KeptEntry
    second: KeptEntry
    text_likeness: float
    meaning_likeness: float | None
    words: tuple[str, ...]
    opposed: tuple[OpposedPhrases, ...]
    settlement: Settlement | None
    settled_by: str
    settled_at: datetime | None
    reason: str
    gone_id: UUID | None
    suggestion: dict[str, Any] | None
    suggestion_run: UUID | None
    created_at: datetime

    @property
    def is_open(self) -> bool:
        return self.state is ConflictState.OPEN

    @property
    def entries(self) -> tuple[KeptEntry, KeptEntry]:
        return self.first, self.second


def seen(row: Conflict) -> SeenConflict:
    """The row, with both of its entries read, as a value."""
    why = row.why if isinstance(row.why, dict) else {}
    is_settled = row.state == ConflictState.SETTLED
    return SeenConflict(
        id=row.pk,
        project_id=row.project_id,
        kind=ConflictKind(row.kind),
        state=ConflictState(row.state),
        first=shown(row.first),
        second=shown(row.second),
        text_likeness=row.text_likeness,
        meaning_likeness=row.meaning_likeness,
        words=tuple(str(word) for word in why.get("words", [])),
        opposed=tuple(OpposedPhrases(one["kind"], one["left"], one["right"]) for one in why.get("opposed", [])),
        settlement=Settlement(row.settlement) if row.settlement else None,
        settled_by=row.settled_by_label,
        settled_at=row.settled_at,
        reason=row.reason,
        gone_id=UUID(why["gone"]) if is_settled and why.get("gone") else None,
        suggestion=row.suggestion,
        suggestion_run=row.suggestion_run,
        created_at=row.created_at,
    )


def conflict_of(project_id: UUID, conflict_id: UUID) -> SeenConflict | None:
    """The project's conflict; None where there is no such one."""
    row = _rows(project_id).filter(pk=conflict_id).first()
    return seen(row) if row else None


def list_conflicts(
    project_id: UUID,
    *,
    states: Sequence[ConflictState] = (ConflictState.OPEN,),
    kind: ConflictKind | None = None,
    limit: int,
    after: UUID | None = None,
) -> list[SeenConflict]:
    """The newest conflicts, those older than `after` where that is given and the project's."""
    rows = _rows(project_id).filter(state__in=states)
    if kind is not None:
        rows = rows.filter(kind=kind)
    if after is not None:
        last = Conflict.objects.filter(project_id=project_id, pk=after).first()
        if last is None:
            return []
        rows = rows.filter(Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, pk__lt=last.pk))
    return [seen(row) for row in rows.order_by("-created_at", "-id")[:limit]]


def conflict_rows(
    project_id: UUID, *, state: ConflictState | None = None, kind: ConflictKind | None = None
) -> QuerySet[Any]:
    """The conflicts that are meant, in no order; each can be `seen`."""
    rows = _rows(project_id).order_by()
    rows = rows.filter(state=state) if state is not None else rows
    return rows.filter(kind=kind) if kind is not None else rows


def beside(conflict: SeenConflict) -> tuple[UUID | None, UUID | None]:
    """The open conflicts before and after this one in the inbox, which shows the newest first."""
    rows = Conflict.objects.filter(project_id=conflict.project_id, state=ConflictState.OPEN)
    newer = rows.filter(Q(created_at__gt=conflict.created_at) | Q(created_at=conflict.created_at, pk__gt=conflict.id))
    older = rows.filter(Q(created_at__lt=conflict.created_at) | Q(created_at=conflict.created_at, pk__lt=conflict.id))
    return (
        newer.order_by("created_at", "id").values_list("pk", flat=True).first(),
        older.order_by("-created_at", "-id").values_list("pk", flat=True).first(),
    )


def count_open_conflicts(project_id: UUID) -> int:
    """How many conflicts wait for a curator."""
    return Conflict.objects.filter(project_id=project_id, state=ConflictState.OPEN).count()


def ask_for_suggestion(project_id: UUID, conflict_id: UUID, *, run_id: UUID, instead_of: UUID | None) -> bool:
    """Whether the run is the one that is asked for a merge: not where another has been asked meanwhile."""
    rows = Conflict.objects.filter(project_id=project_id, pk=conflict_id, state=ConflictState.OPEN)
    return bool(rows.filter(suggestion_run=instead_of).update(suggestion_run=run_id, suggestion=None))


def keep_suggestion(project_id: UUID, *, run_id: UUID, suggestion: dict[str, Any]) -> bool:
    """Whether the run's suggestion is kept: not where another run was asked since, or the words are others by now."""
    rows = Conflict.objects.filter(project_id=project_id, suggestion_run=run_id)
    return bool(rows.update(suggestion=suggestion))


def _rows(project_id: UUID) -> QuerySet[Conflict]:
    rows = Conflict.objects.filter(project_id=project_id).select_related("first", "second")
    return rows.defer("first__search", "second__search")


# Settling a conflict: the two are merged, both are kept, or one holds instead of the other; and taking that back.
#
# A conflict is settled by whoever comes first, and only as it was seen: in its state, with both entries at the versions
# that were looked at. Entries are locked before the conflict, as everywhere.

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
        # Merges one into the other, or lets one hold instead of it; keeps what is needed to take that back.
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
    conflict.why |= {"hashes": [hash_of(text_of(entries[one])) for one in (conflict.first_id, conflict.second_id)]}
    conflict.state, conflict.settlement, conflict.reason = ConflictState.SETTLED, told.how, told.reason[:LONGEST_REASON]
    conflict.settled_by_label, conflict.settled_at = by.label[:200], timezone.now()
    conflict.save()
    return conflict


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
        for entry in (conflict.first, conflict.second):
            if entry.state not in HOLDING:
                raise NotPossibleNow(change=Change.REOPENED.value, state=entry.state)
    reopen(Conflict.objects.filter(pk=conflict.pk))
    conflict.refresh_from_db()
    return conflict


def _found(project_id: UUID, conflict_id: UUID) -> Conflict:
    conflict = Conflict.objects.filter(project_id=project_id, pk=conflict_id).first()
    if conflict is None:
        raise NoSuchConflict(conflict_id)
    return conflict


def _locked(conflict: Conflict) -> Conflict:
    rows = Conflict.objects.select_related("first", "second").select_for_update(of=("self",))
    return rows.get(pk=conflict.pk)
