"""Who is given which lesson, who is not on purpose, and how their first attempts went.

Each lesson is drawn for by itself: whether one is withheld tells nothing about the others, so that each can be judged
on its own even where several are recalled together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from notebook_app.changing import lock_notebook
from notebook_app.models import Entry, Exposure
from notebook_app.shown import KeptEntry


class Ranked(Protocol):
    """An entry that was recalled, with its score."""

    @property
    def entry(self) -> KeptEntry: ...

    @property
    def score(self) -> float: ...


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


def withhold(recalled: Sequence[Ranked], *, share: float, chance: Callable[[], float]) -> list[Drawn]:
    """The draws for what was recalled, best first; `chance` gives numbers from 0 up to but not 1."""
    drawn = []
    for rank, one in enumerate(recalled, start=1):
        draw = chance()
        drawn.append(
            Drawn(
                entry_id=one.entry.id,
                entry_version=one.entry.version,
                rank=rank,
                score=one.score,
                share=share,
                draw=draw,
                is_withheld=draw < share,
            )
        )
    return drawn


@transaction.atomic
def record_exposures(project_id: UUID, *, subject: str, drawn: Iterable[Drawn], is_counted: bool) -> None:
    """Keeps the draws; of an entry that was drawn for this subject before, the first draw stands.

    Of two callers at once one draws first: who has to act on the draws reads them with `earlier_draws` afterwards.
    What is recorded once the subject's outcome is known cannot have helped, and is kept but not counted.
    """
    wanted = {one.entry_id: one for one in drawn}
    lock_notebook(project_id)
    # The rows' locks are what makes of two draws for the same entry a first and a second.
    rows = Entry.objects.filter(project_id=project_id, pk__in=wanted).select_for_update(no_key=True).order_by("pk")
    known = set(rows.values_list("pk", flat=True))
    exposures = Exposure.objects.filter(project_id=project_id, subject=subject)
    known -= set(exposures.filter(entry__in=known).values_list("entry_id", flat=True))
    counts = is_counted and not exposures.filter(succeeded__isnull=False).exists()
    new = [wanted[entry_id] for entry_id in sorted(known)]
    Exposure.objects.bulk_create(_row(one, project_id=project_id, subject=subject, is_counted=counts) for one in new)
    given = [one.entry_id for one in new if not one.is_withheld]
    Entry.objects.filter(pk__in=given).update(recalled=F("recalled") + 1, last_recalled_at=timezone.now())


def _row(one: Drawn, *, project_id: UUID, subject: str, is_counted: bool) -> Exposure:
    return Exposure(
        project_id=project_id,
        subject=subject,
        is_counted=is_counted,
        entry_id=one.entry_id,
        entry_version=one.entry_version,
        rank=one.rank,
        score=one.score,
        share=one.share,
        draw=one.draw,
        is_withheld=one.is_withheld,
    )


def earlier_draws(project_id: UUID, subject: str, entry_ids: Iterable[UUID]) -> dict[UUID, Drawn]:
    """What was drawn for this subject before, by entry: a lesson that was withheld once stays so."""
    found = Exposure.objects.filter(project_id=project_id, subject=subject, entry__in=list(entry_ids))
    names = ("entry_id", "entry_version", "rank", "score", "share", "draw", "is_withheld")
    return {row[0]: Drawn(*row) for row in found.values_list(*names)}


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
