"""Which entries are to be compared with the others, oldest first."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from notebook_app.life import HOLDING, Change, EntryState
from notebook_app.meaning import active_space, vector_of
from notebook_app.models import Entry, EntryVersion

# Whoever has no vector by then is compared by words alone.
WAITS_FOR_VECTOR = timedelta(seconds=60)
# Changes that give an entry other words. For so long after one, an entry that was compared before is compared again.
OTHER_WORDS = (Change.EDITED, Change.RESTORED, Change.ABSORBED, Change.RELEASED, Change.UNDONE)
COMPARED_AGAIN = timedelta(minutes=2)


def due(now: datetime, *, limit: int) -> list[tuple[UUID, UUID]]:
    """Ids of projects and entries: proposals, and what holds in other words than it was compared in."""
    has_space = active_space() is not None
    changed = EntryVersion.objects.filter(change__in=OTHER_WORDS, created_at__gte=now - COMPARED_AGAIN)
    waiting = Q(state=EntryState.PROPOSED) | Q(state__in=HOLDING, pk__in=changed.values("entry"))
    rows = Entry.objects.filter(waiting).order_by("created_at", "pk")
    found = rows.values_list("project_id", "pk", "created_at")[:limit]
    return [
        (project_id, entry_id)
        for project_id, entry_id, created_at in found
        if not has_space or created_at <= now - WAITS_FOR_VECTOR or vector_of(entry_id) is not None
    ]
