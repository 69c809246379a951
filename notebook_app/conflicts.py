"""Conflicts as others see them: both entries, why the two were found, how it was settled, and what a model suggests."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from notebook_app.models import Conflict, ConflictKind, ConflictState, Settlement
from notebook_app.shown import KeptEntry, shown


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
