"""Which entries are to be compared with the others, oldest first."""

from datetime import datetime, timedelta
from uuid import UUID

from notebook_app.life import HOLDING
from notebook_app.meaning import active_space, vector_of
from notebook_app.models import Entry

# Whoever has no vector by then is compared by words alone.
WAITS_FOR_VECTOR = timedelta(seconds=60)


def due(now: datetime, *, limit: int) -> list[tuple[UUID, UUID]]:
    """Ids of projects and entries: those that hold, in words that were not compared yet."""
    has_space = active_space() is not None
    rows = Entry.objects.filter(is_compared=False, state__in=HOLDING).order_by("created_at", "pk")
    found = rows.values_list("project_id", "pk", "updated_at")[:limit]
    return [
        (project_id, entry_id)
        for project_id, entry_id, updated_at in found
        if not has_space or updated_at <= now - WAITS_FOR_VECTOR or vector_of(entry_id) is not None
    ]
