"""Who is given which lesson, who is not on purpose, and how their first attempts went.

Each lesson is drawn for by itself: whether one is withheld tells nothing about the others, so that each can be judged
on its own even where several are recalled together.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest

from notebook_app.changing import lock_notebook
from notebook_app.models import Entry, Exposure, new_id
from notebook_app.recall import RecalledEntry

MOST_SUMMED_AT_ONCE = 5_000


@dataclass(frozen=True)
class Drawn:
    """One lesson's draw; it is withheld where the draw is below the share."""

    entry_id: UUID
    entry_version: int
    rank: int
    score: float
    share: float
    draw: float
    is_withheld: bool


def withhold(recalled: Sequence[RecalledEntry], *, share: float, chance: Callable[[], float]) -> list[Drawn]:
    """The draws for what was recalled, best first; `chance` gives numbers from 0 up to but not 1."""
    drawn = []
    for rank, one in enumerate(recalled, start=1):
        draw = chance()
        drawn.append(Drawn(one.entry.id, one.entry.version, rank, one.score, share, draw, is_withheld=draw < share))
    return drawn


# In the order of their entries, or two who draw for the same subject could wait for each other. An entry that was
# deleted meanwhile has no row.
RECORD = """
INSERT INTO notebook_app_exposure (id, project_id, entry_id, entry_version, subject, is_counted, share, draw,
    is_withheld, rank, score, is_summed, created_at)
SELECT drawn.id, %s, entry.id, drawn.entry_version, %s, drawn.is_counted AND NOT EXISTS (
        SELECT 1 FROM notebook_app_exposure WHERE project_id = %s AND subject = %s AND succeeded IS NOT NULL
    ), drawn.share, drawn.draw, drawn.is_withheld, drawn.rank, drawn.score, drawn.is_withheld, statement_timestamp()
FROM unnest(%s::uuid[], %s::uuid[], %s::int[], %s::boolean[], %s::float8[], %s::float8[], %s::boolean[], %s::int[],
    %s::float8[]) AS drawn (id, entry_id, entry_version, is_counted, share, draw, is_withheld, rank, score)
JOIN notebook_app_entry AS entry ON entry.id = drawn.entry_id AND entry.project_id = %s
ORDER BY entry.id ON CONFLICT DO NOTHING
"""


def record_exposures(project_id: UUID, *, subject: str, drawn: Iterable[Drawn], is_counted: bool) -> None:
    """Execute `recorded_exposures`."""
    statement, values = recorded_exposures(project_id, subject=subject, drawn=[(one, is_counted) for one in drawn])
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def recorded_exposures(
    project_id: UUID, *, subject: str, drawn: Iterable[tuple[Drawn, bool]]
) -> tuple[str, tuple[Any, ...]]:
    """Return the statement, with its values, that records draws, each with whether it is counted.

    Of an entry that was drawn for this subject before, the first draw stands.

    Of two callers at once one draws first: who has to act on the draws reads them with `earlier_draws` afterwards.
    What is recorded once the subject's outcome is known cannot have helped, and is kept but not counted. Waits for
    nobody but another who draws for the same subject: runs do this in their journals' transactions, all at once. How
    often an entry was given is summed up by `sum_recalls`.
    """
    rows = [
        (new_id(), one.entry_id, one.entry_version, counted, one.share, one.draw, one.is_withheld, one.rank, one.score)
        for one, counted in drawn
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(9)]
    return RECORD, (project_id, subject, project_id, subject, *columns, project_id)


def sum_recalls() -> int:
    """Adds to each entry's count how often it was given since the last time; how many exposures were added."""
    projects = Exposure.objects.filter(is_summed=False).values_list("project_id", flat=True).distinct()
    added = 0
    for project_id in projects:
        with transaction.atomic():
            lock_notebook(project_id)
            due = Exposure.objects.filter(project_id=project_id, is_summed=False).select_for_update(skip_locked=True)
            rows = list(due.values_list("pk", "entry_id", "created_at")[:MOST_SUMMED_AT_ONCE])
            Exposure.objects.filter(pk__in=[pk for pk, _entry, _at in rows]).update(is_summed=True)
            times = Counter(entry_id for _pk, entry_id, _at in rows)
            last = {entry_id: at for _pk, entry_id, at in sorted(rows, key=lambda row: row[2])}
            for entry_id in sorted(times):
                Entry.objects.filter(pk=entry_id).update(
                    recalled=F("recalled") + times[entry_id],
                    last_recalled_at=Greatest("last_recalled_at", last[entry_id]),
                )
        added += len(rows)
    return added


def earlier_draws(project_id: UUID, subject: str, entry_ids: Iterable[UUID]) -> dict[UUID, Drawn]:
    """What was drawn for this subject before, by entry: a lesson that was withheld once stays so."""
    found = Exposure.objects.filter(project_id=project_id, subject=subject, entry__in=list(entry_ids))
    return {row[0]: Drawn(*row) for row in found.values_list(*Drawn.__dataclass_fields__)}


def was_drawn_for(project_id: UUID, *, subject: str) -> bool:
    """Whether any lesson was given to this subject or withheld from it."""
    return Exposure.objects.filter(project_id=project_id, subject=subject).exists()


# The rows are locked in one order: two who settle the same subject must not wait for each other.
SETTLE = """
WITH mine AS (
    SELECT id FROM notebook_app_exposure WHERE project_id = %s AND subject = %s ORDER BY id FOR UPDATE
)
UPDATE notebook_app_exposure AS exposure SET succeeded = %s::boolean,
    settled_at = CASE WHEN %s THEN COALESCE(settled_at, clock_timestamp()) END
FROM mine WHERE exposure.id = mine.id
"""


def settle(project_id: UUID, *, subject: str, succeeded: bool | None) -> int:
    """Records how the subject's first attempt went, for how many exposures; None takes what was recorded back.

    An outcome that is corrected keeps its place in time: looks that have passed are not moved by it.
    """
    statement, values = settled(project_id, subject=subject, succeeded=succeeded)
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def settled(project_id: UUID, *, subject: str, succeeded: bool | None) -> tuple[str, tuple[Any, ...]]:
    """Return the statement of `settle`, with its values."""
    return SETTLE, (project_id, subject, succeeded, succeeded is not None)
