"""Forgetting a project's notebook, once the project itself is gone."""

from collections import Counter
from uuid import UUID

from django.db import transaction

from notebook_app.models import Entry, Exposure, ImportBatch

PIECE = 200


@transaction.atomic
def forget_some(project_id: UUID) -> Counter[str]:
    """How many entries, exposures and imports of the project were deleted; nothing where none is left."""
    gone: Counter[str] = Counter()
    # Exposures first: an entry may have very many.
    for name, rows in (
        ("exposures", Exposure.objects.filter(project_id=project_id)),
        ("imports", ImportBatch.objects.filter(project_id=project_id)),
        ("entries", Entry.objects.filter(project_id=project_id)),
    ):
        wanted = list(rows.order_by("pk").values_list("pk", flat=True)[:PIECE])
        if wanted:
            rows.filter(pk__in=wanted).delete()
            gone[name] = len(wanted)
            break
    return gone
