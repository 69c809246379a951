"""The spaces of vectors and their life: a model's space is filled, answers, and goes when another model's answers.

The models themselves are unknown here: whoever has one asks what lacks a vector (`lacking_vectors`), hands the vectors
in (`keep_vectors`) and has the space answer once it is full (`activate_space`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, FilteredRelation, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone
from pgvector import HalfVector

from notebook_app.life import HOLDING
from notebook_app.meaning import Space, active_space, space_of
from notebook_app.models import Embedding, EmbeddingSpace, Entry, SpaceState, new_id
from notebook_app.said import hash_of, said_by

DELETED_AT_ONCE = 5_000
KEEP = """
    INSERT INTO notebook_app_embedding (id, entry_id, space_id, project_id, text_hash, vector, updated_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (entry_id, space_id) DO UPDATE
    SET text_hash = EXCLUDED.text_hash, vector = EXCLUDED.vector, updated_at = EXCLUDED.updated_at
"""


class WrongDimensions(Exception):
    """A model gives vectors of another length than those that it gave before."""


@dataclass(frozen=True)
class Lacking:
    """An entry without a vector of its text. `as_of` tells which text of the entry this is."""

    entry_id: UUID
    project_id: UUID
    text: str
    text_hash: str
    as_of: datetime


@dataclass(frozen=True)
class EmbeddingStatus:
    """`model` answers; `filling` is to, once all `entries` have its vectors. Empty: none. Of `embedded`, either's."""

    model: str
    filling: str
    embedded: int
    entries: int


@transaction.atomic
def wanted_space(model: str, dimensions: int) -> Space:
    """The model's space, made where there is none, with its index. Raises WrongDimensions."""
    row, _ = EmbeddingSpace.objects.get_or_create(model=model, defaults={"dimensions": dimensions})
    if row.dimensions != dimensions:
        raise WrongDimensions(f"{model} gives vectors of {dimensions} numbers; those kept have {row.dimensions}")
    space = space_of(row)
    if space.has_index:
        # Begun empty: an index over rows that are there already would keep writers waiting while it is built.
        _execute(
            f"CREATE INDEX IF NOT EXISTS {space.index_name} ON notebook_app_embedding "
            f"USING hnsw ((vector::halfvec({int(space.dimensions)})) halfvec_cosine_ops) WHERE space_id = '{space.id}'"
        )
    return space


def known_space(model: str) -> Space | None:
    """The model's space, whether it answers or is being filled."""
    row = EmbeddingSpace.objects.filter(model=model).first()
    return space_of(row) if row else None


def lacking_vectors(space: Space, *, limit: int) -> list[Lacking]:
    """Entries that have no vector of the words they have now: of each project the longest waiting, in turns."""
    while ids := list(_in_turns(space)[:limit]):
        found = Entry.objects.in_bulk(ids)
        hashes = dict(Embedding.objects.filter(space=space.id, entry__in=ids).values_list("entry", "text_hash"))
        entries = [_as_lacking(found[pk]) for pk in ids if pk in found]
        changed = [one for one in entries if hashes.get(one.entry_id) != one.text_hash]
        noted = _still_right(space, [one for one in entries if hashes.get(one.entry_id) == one.text_hash])
        if changed or not noted:
            return changed
    return []


def keep_vectors(space: Space, vectors: Sequence[tuple[Lacking, Sequence[float] | None]]) -> int:
    """Keeps the vectors of the entries whose words are still the same; how many those were.

    None stands for a text that no vector can be had for: it is not asked for again until the entry says something else.
    Raises WrongDimensions, and keeps nothing then.
    """
    for _, vector in vectors:
        if vector is not None and len(vector) != space.dimensions:
            raise WrongDimensions(f"{space.model} gave {len(vector)} numbers in place of {space.dimensions}")
    with transaction.atomic(), connection.cursor() as cursor:
        unchanged = _unchanged([one for one, _ in vectors])
        rows = [_row(space, one, vector) for one, vector in vectors if one.entry_id in unchanged]
        if rows:
            cursor.executemany(KEEP, rows)
    return len(rows)


@transaction.atomic
def activate_space(space: Space) -> bool:
    """Whether the space answers from now on, in place of the one before: it does once no entry lacks a vector."""
    spaces = {row.pk: row for row in EmbeddingSpace.objects.select_for_update().order_by("pk")}
    mine = spaces.get(space.id)
    if mine is None or mine.state == SpaceState.ACTIVE or _waiting(space).exists():
        return False
    EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).update(state=SpaceState.FILLING)
    EmbeddingSpace.objects.filter(pk=space.id).update(state=SpaceState.ACTIVE, activated_at=timezone.now())
    return True


def drop_other_spaces(model: str) -> None:
    """Deletes the spaces that neither answer nor are the model's, their vectors and indexes; in small steps."""
    for row in EmbeddingSpace.objects.filter(state=SpaceState.FILLING).exclude(model=model):
        rows = Embedding.objects.filter(space=row)
        while batch := list(rows.values_list("pk", flat=True)[:DELETED_AT_ONCE]):
            Embedding.objects.filter(pk__in=batch).delete()
        with transaction.atomic():
            # Dropping an index waits for whoever reads the table, and everybody else would wait behind it.
            _execute("SET LOCAL lock_timeout = '2s'")
            _execute(f"DROP INDEX IF EXISTS {space_of(row).index_name}")
            row.delete()


def embedding_status() -> EmbeddingStatus:
    """Which model answers, which is being made ready, and how far that is."""
    active = active_space()
    # One that has answered before is on its way out.
    coming = EmbeddingSpace.objects.filter(state=SpaceState.FILLING, activated_at__isnull=True)
    filling = coming.order_by("-created_at").first()
    newest = space_of(filling) if filling else active
    entries = Entry.objects.filter(state__in=HOLDING).count()
    lacks = _waiting(newest).count() if newest else entries
    return EmbeddingStatus(
        model=active.model if active else "",
        filling=filling.model if filling else "",
        embedded=entries - lacks,
        entries=entries,
    )


def _waiting(space: Space) -> QuerySet[Entry]:
    """Entries that were changed since their vector was made, or have none.

    An embedding's `updated_at` is its entry's, as it was when the text was read: a clock of its own would call a vector
    new that was made, a moment after a change, of the words before it.
    """
    mine = FilteredRelation("embeddings", condition=Q(embeddings__space=space.id))
    return (
        Entry.objects.filter(state__in=[state.value for state in HOLDING])
        .annotate(mine=mine)
        .filter(
            Q(mine__isnull=True) | Q(mine__updated_at__lt=F("updated_at")) | Q(mine__updated_at__gt=F("updated_at"))
        )
        .order_by()
    )


def _in_turns(space: Space) -> QuerySet[Entry, UUID]:
    turn = Window(RowNumber(), partition_by="project_id", order_by=("updated_at", "pk"))
    return _waiting(space).annotate(turn=turn).order_by("turn", "project_id").values_list("pk", flat=True)


def _as_lacking(entry: Entry) -> Lacking:
    text = said_by(entry)
    return Lacking(entry.pk, entry.project_id, text=text, text_hash=hash_of(text), as_of=entry.updated_at)


def _unchanged(read: Sequence[Lacking]) -> set[UUID]:
    """Those that are as they were read, locked. What is being changed is passed by: waiting could end in a circle."""
    rows = Entry.objects.select_for_update(of=("self",), skip_locked=True, no_key=True)
    now = dict(rows.filter(pk__in=[one.entry_id for one in read]).order_by("pk").values_list("pk", "updated_at"))
    return {one.entry_id for one in read if now.get(one.entry_id) == one.as_of}


def _still_right(space: Space, read: Sequence[Lacking]) -> int:
    """Notes that these say what they said when their vectors were made; of how many that could be noted."""
    with transaction.atomic():
        unchanged = _unchanged(read)
        for one in read:
            if one.entry_id in unchanged:
                Embedding.objects.filter(entry=one.entry_id, space=space.id).update(updated_at=one.as_of)
    return len(unchanged)


def _row(space: Space, one: Lacking, vector: Sequence[float] | None) -> tuple[str | UUID | datetime, ...]:
    kept = HalfVector([0.0] * space.dimensions if vector is None else list(vector)).to_text()
    return (new_id(), one.entry_id, space.id, one.project_id, one.text_hash, kept, one.as_of)


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
