"""Who is given which lesson, who is not on purpose, and how their first attempts went.

Each lesson is drawn for by itself: whether one is withheld tells nothing about the others, so that each can be judged
on its own even where several are recalled together.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from notebook_app.changing import lock_notebook
from notebook_app.models import Entry, Exposure
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


@transaction.atomic
def record_exposures(project_id: UUID, *, subject: str, drawn: Iterable[Drawn], is_counted: bool) -> None:
    """Keeps the draws; of an entry that was drawn for this subject before, the first draw stands.

    Of two callers at once one draws first: who has to act on the draws reads them with `earlier_draws` afterwards.
    What is recorded once the subject's outcome is known cannot have helped, and is kept but not counted. Waits for
    nobody but another who draws for the same subject: runs do this in their journals' transactions, all at once. How
    often an entry was given is summed up by `sum_recalls`.
    """
    wanted = {one.entry_id: one for one in drawn}
    # In one order, or two who draw for the same subject could wait for each other.
    known = Entry.objects.filter(project_id=project_id, pk__in=wanted).order_by("pk").values_list("pk", flat=True)
    counts = (
        is_counted
        and not Exposure.objects.filter(project_id=project_id, subject=subject, succeeded__isnull=False).exists()
    )
    columns = {"project_id": project_id, "subject": subject, "is_counted": counts}
    new = [Exposure(**columns, **vars(one), is_summed=one.is_withheld) for one in map(wanted.__getitem__, known)]
    Exposure.objects.bulk_create(new, ignore_conflicts=True)


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


@transaction.atomic
def settle(project_id: UUID, *, subject: str, succeeded: bool | None) -> int:
    """Records how the subject's first attempt went, for how many exposures; None takes what was recorded back.

    An outcome that is corrected keeps its place in time: looks that have passed are not moved by it.
    """
    rows = Exposure.objects.select_for_update().filter(project_id=project_id, subject=subject).order_by("pk")
    ids = list(rows.values_list("pk", flat=True))
    mine = Exposure.objects.filter(pk__in=ids)
    if succeeded is None:
        mine.update(succeeded=None, settled_at=None)
    else:
        mine.filter(settled_at__isnull=True).update(settled_at=timezone.now())
        mine.update(succeeded=succeeded)
    return len(ids)
