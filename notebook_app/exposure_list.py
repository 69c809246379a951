"""The draws of one entry, newest first: who was given it, from whom it was withheld, and how it went."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from notebook_app.models import Exposure


@dataclass(frozen=True)
class KeptExposure:
    """One draw. `subject` is a run's id, or an outside agent's own name for its work."""

    id: UUID
    subject: str
    entry_version: int
    rank: int
    score: float
    share: float
    draw: float
    is_withheld: bool
    is_counted: bool
    succeeded: bool | None
    settled_at: datetime | None
    created_at: datetime


@dataclass(frozen=True)
class ExposurePage:
    """The exposures of one page; `last` is None where no more come after it."""

    exposures: list[KeptExposure]
    last: UUID | None


FIELDS = tuple(KeptExposure.__dataclass_fields__)


def exposures_of(project_id: UUID, entry_id: UUID, *, limit: int, after: UUID | None = None) -> ExposurePage:
    """The page that begins after the exposure `after`; the first where the entry has none of that id."""
    of_entry = Exposure.objects.filter(project_id=project_id, entry_id=entry_id)
    rows = of_entry.order_by("-created_at", "-id")
    begun = of_entry.filter(pk=after).values_list("created_at", "id").first() if after else None
    if begun is not None:
        rows = rows.filter(Q(created_at__lt=begun[0]) | Q(created_at=begun[0], id__lt=begun[1]))
    found = [KeptExposure(*row) for row in rows.values_list(*FIELDS)[: limit + 1]]
    return ExposurePage(found[:limit], last=found[limit - 1].id if len(found) > limit else None)
