"""Entries by what they mean: the nearest to a vector, in the space of the model that is in use."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Expression, F, QuerySet
from django.db.models.functions import Cast
from pgvector import HalfVector
from pgvector.django import CosineDistance, HalfVectorField

from notebook_app.entry_filter import EntryFilter
from notebook_app.models import Embedding, EmbeddingSpace, Entry, SpaceState
from notebook_app.said import hash_of, said_by

# Of so many, every one is compared: that is exact, and no slower than the index.
FEW = 5_000
# Among fewer than this share of all, the index would pass by the others for longer than a comparison of each takes.
SMALL_SHARE = 0.02
MOST_COMPARED = 50_000
# pgvector makes no index of more dimensions of half a float.
MOST_INDEXED_DIMENSIONS = 4_000
# How many the index looks at, at least. Of the nearest ten among 30,000, 100 find 0.945 and 200 find 0.978; 400 find
# 0.995 and take twice as long (tests/load/bench_meaning.py).
SEARCHED = 200


@dataclass(frozen=True)
class Space:
    """One model's vectors."""

    id: UUID
    model: str
    dimensions: int

    @property
    def has_index(self) -> bool:
        return self.dimensions <= MOST_INDEXED_DIMENSIONS

    @property
    def index_name(self) -> str:
        return f"embedding_hnsw_{self.id.hex}"


@dataclass(frozen=True)
class Near:
    """An entry and how alike it is in meaning, from 0 to 1 (the cosine)."""

    entry_id: UUID
    likeness: float


def space_of(row: EmbeddingSpace) -> Space:
    """The row as a value."""
    return Space(id=row.pk, model=row.model, dimensions=row.dimensions)


def active_space() -> Space | None:
    """The space that answers; None where entries have no vectors yet, and are found by their words alone."""
    row = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).first()
    return space_of(row) if row else None


def nearest(project_id: UUID, vector: Sequence[float], *, among: EntryFilter, limit: int) -> list[Near]:
    """The entries that are likest in meaning, the likest first; none where the vector is not of the active space."""
    space = active_space()
    if space is None or len(vector) != space.dimensions or limit < 1:
        return []
    rows = among.among(project_id)
    if not space.has_index or _are_few(rows):
        return _compared(rows, space, vector, limit=limit)
    found = _by_index(rows, space, vector, limit=limit)
    # The index gives up after so many that the filter leaves out; whoever is missing is found by comparing all.
    return found if len(found) == limit else _compared(rows, space, vector, limit=limit)


def vector_of(entry_id: UUID) -> list[float] | None:
    """The entry's vector in the active space; None while there is none of the words that it has now."""
    space = active_space()
    if space is None:
        return None
    row = Embedding.objects.filter(entry=entry_id, space=space.id).select_related("entry").first()
    if row is None or row.text_hash != hash_of(said_by(row.entry)):
        return None
    vector: list[float] = row.vector
    # A vector of nothing but zeros stands for a text that no vector could be had for.
    return vector if any(vector) else None


def _are_few(rows: QuerySet[Entry]) -> bool:
    if not _more_than(FEW, rows):
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = 'notebook_app_embedding'::regclass")
        [about] = cursor.fetchone() or [0]
    most = min(MOST_COMPARED, int(about * SMALL_SHARE))
    return most > FEW and not _more_than(most, rows)


def _more_than(many: int, rows: QuerySet[Entry]) -> bool:
    return rows.order_by().values("pk")[: many + 1].count() > many


def _compared(rows: QuerySet[Entry], space: Space, vector: Sequence[float], *, limit: int) -> list[Near]:
    """The nearest of all, each compared. Without the cast to its dimensions, no index is used."""
    return _near(_ordered(rows, space, F("embeddings__vector"), vector), limit=limit)


def _by_index(rows: QuerySet[Entry], space: Space, vector: Sequence[float], *, limit: int) -> list[Near]:
    indexed = Cast("embeddings__vector", HalfVectorField(dimensions=space.dimensions))
    with transaction.atomic(), connection.cursor() as cursor:
        # For this transaction only. Relaxed: goes on until enough pass the filter; `_near` sorts what it finds.
        cursor.execute(
            "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),"
            " set_config('hnsw.ef_search', %s, true), set_config('enable_sort', 'off', true)",
            [str(max(SEARCHED, min(2 * limit, 1_000)))],
        )
        found = _near(_ordered(rows, space, indexed, vector), limit=limit)
        cursor.execute("SELECT set_config('enable_sort', 'on', true)")
    return found


def _ordered(
    rows: QuerySet[Entry], space: Space, column: Expression | F, vector: Sequence[float]
) -> QuerySet[Entry, tuple[UUID, float]]:
    here = rows.filter(embeddings__space=space.id)
    return (
        here.annotate(distance=CosineDistance(column, HalfVector(list(vector))))
        .order_by("distance")
        .values_list("pk", "distance")
    )


def _near(ordered: QuerySet[Entry, tuple[UUID, float]], *, limit: int) -> list[Near]:
    # The distance to a vector of zeros is no number, and comes last.
    found = sorted((distance, entry_id) for entry_id, distance in ordered[:limit] if not math.isnan(distance))
    return [Near(entry_id, likeness=min(1.0, max(0.0, 1 - distance))) for distance, entry_id in found]
