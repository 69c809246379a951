"""A whole project's notebook: forgotten with it, or taken along to another desk."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import models, transaction

from notebook_app.models import Conflict, Entry, EntryVersion, Evidence, Exposure, ImportBatch
from notebook_app.proposing import refs_key

# Forgetting a project's notebook, once the project itself is gone.


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


# Which of the notebook's rows go along with a project that is taken to another desk, and what is made anew there.

Row = dict[str, Any]


@dataclass(frozen=True)
class TakenTable:
    """A table of which a project's rows are taken along.

    `path` leads from a row to its project, `only` narrows the rows. Columns in `without` stay behind; where they need
    a value on the other desk, it is the model's default. `mended` is a row as it is written there, its ids being new.
    `dropped` are keys of older files that are ignored.
    """

    name: str
    model: type[models.Model]
    path: str = "project_id"
    without: frozenset[str] = frozenset()
    only: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    mended: Callable[[Row], Row] | None = None
    dropped: frozenset[str] = frozenset()


def _with_key(row: Row) -> Row:
    """The key is made of the ids, which are others now."""
    return row | {"refs_key": refs_key(row["refs"])}


# Vectors and search words are made anew of the words. Imports that were begun are files of that desk.
TAKEN = (
    # An entry's words are compared again only if they change; what was found is in the conflicts.
    TakenTable("notebook_entries", Entry, without=frozenset({"search", "text_key", "read_by_weights"})),
    TakenTable("notebook_versions", EntryVersion, path="entry__project_id"),
    TakenTable("notebook_evidence", Evidence, mended=_with_key),
    TakenTable("notebook_conflicts", Conflict),
    TakenTable("notebook_exposures", Exposure),
)
