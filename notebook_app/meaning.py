"""Entries by what they mean: the nearest to a vector, in the space of the model that is in use."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Expression, F, FilteredRelation, Q, QuerySet, Window
from django.db.models.functions import Cast, RowNumber
from django.utils import timezone
from pgvector import HalfVector
from pgvector.django import CosineDistance, HalfVectorField

from notebook_app.compiled import compiled
from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import HOLDING
from notebook_app.models import Embedding, Entry, SpaceState, new_id
from notebook_app.models import EmbeddingSpace as Space

# What an entry says, as the text that its meaning is taken from. Pure, but for the row that it reads.

# A model's time grows with the text, and what an entry is about stands at its beginning.
MOST_TOKENS = 500
# Models cut English into pieces of about four letters, and most other writing into single characters.
LETTERS_PER_TOKEN = 4


def said_by(entry: Entry) -> str:
    """The name, the description, the content and the fields of its kind, as far as a model is given them."""
    return opening("\n".join(text for text in entry.texts if text), most_tokens=MOST_TOKENS)


def hash_of(text: str) -> str:
    """The same for the same text. 64 characters."""
    return hashlib.sha256(text.encode()).hexdigest()


def opening(text: str, *, most_tokens: int) -> str:
    """As much of the beginning as comes to about so many of a model's tokens."""
    text = text[: most_tokens * LETTERS_PER_TOKEN]
    left = most_tokens * LETTERS_PER_TOKEN
    for place, character in enumerate(text):
        left -= 1 if character.isascii() else LETTERS_PER_TOKEN
        if left < 0:
            return text[:place]
    return text


# Of so many, every one is compared: that is exact, and no slower than the index.
FEW = 5_000
# Among fewer than this share of all, the index would pass by the others for longer than a comparison of each takes.
SMALL_SHARE = 0.02
MOST_COMPARED = 50_000
# How many the index looks at, at least. Of the nearest ten among 30,000, 100 find 0.945 and 200 find 0.978; 400 find
# 0.995 and take twice as long.
SEARCHED = 200


@dataclass(frozen=True)
class Near:
    """An entry and how alike it is in meaning, from 0 to 1 (the cosine)."""

    entry_id: UUID
    likeness: float


@compiled
def _active_spaces() -> QuerySet[Space]:
    return Space.objects.filter(state=SpaceState.ACTIVE).order_by("pk")[:1]


def active_space() -> Space | None:
    """The space that answers; None where entries have no vectors yet, and are found by their words alone."""
    return _active_spaces.first()


def nearest(
    project_id: UUID, vector: Sequence[float], *, among: EntryFilter, limit: int, space: Space | None = None
) -> list[Near]:
    """The entries that are likest in meaning, the likest first; none where the vector is not of the active space.

    `space` is the active space, if the caller has read it.
    """
    space = space or active_space()
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


# The spaces of vectors and their life: a model's space is filled, answers, and goes when another model's answers.
#
# The models themselves are unknown here: whoever has one asks what lacks a vector (`lacking_vectors`), hands the
# vectors in (`keep_vectors`) and has the space answer once it is full (`activate_space`).

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
    space, _ = Space.objects.get_or_create(model=model, defaults={"dimensions": dimensions})
    if space.dimensions != dimensions:
        raise WrongDimensions(f"{model} gives vectors of {dimensions} numbers; those kept have {space.dimensions}")
    if space.has_index:
        # Begun empty: an index over rows that are there already would keep writers waiting while it is built.
        _execute(
            f"CREATE INDEX IF NOT EXISTS {space.index_name} ON notebook_app_embedding "
            f"USING hnsw ((vector::halfvec({int(space.dimensions)})) halfvec_cosine_ops) WHERE space_id = '{space.id}'"
        )
    return space


def known_space(model: str) -> Space | None:
    """The model's space, whether it answers or is being filled."""
    return Space.objects.filter(model=model).first()


def lacking_vectors(space: Space, *, limit: int) -> list[Lacking]:
    """Entries that have no vector of the words they have now: of each project the longest waiting, in turns."""
    turn = Window(RowNumber(), partition_by="project_id", order_by=("updated_at", "pk"))
    in_turns = _waiting(space).annotate(turn=turn).order_by("turn", "project_id").values_list("pk", flat=True)
    while ids := list(in_turns[:limit]):
        found = Entry.objects.in_bulk(ids)
        hashes = dict(Embedding.objects.filter(space=space.id, entry__in=ids).values_list("entry", "text_hash"))
        changed, same = list[Lacking](), list[Lacking]()
        for entry in (found[pk] for pk in ids if pk in found):
            text = said_by(entry)
            one = Lacking(entry.pk, entry.project_id, text=text, text_hash=hash_of(text), as_of=entry.updated_at)
            (same if hashes.get(entry.pk) == one.text_hash else changed).append(one)
        # Noted is that these say what they said when their vectors were made.
        with transaction.atomic():
            unchanged = _unchanged(same)
            for one in same:
                if one.entry_id in unchanged:
                    Embedding.objects.filter(entry=one.entry_id, space=space.id).update(updated_at=one.as_of)
        if changed or not unchanged:
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
        rows = []
        for one, vector in vectors:
            if one.entry_id in unchanged:
                kept = HalfVector([0.0] * space.dimensions if vector is None else list(vector)).to_text()
                rows.append((new_id(), one.entry_id, space.id, one.project_id, one.text_hash, kept, one.as_of))
        if rows:
            cursor.executemany(KEEP, rows)
    return len(rows)


@transaction.atomic
def activate_space(space: Space) -> bool:
    """Whether the space answers from now on, in place of the one before: it does once no entry lacks a vector."""
    spaces = {row.pk: row for row in Space.objects.select_for_update().order_by("pk")}
    mine = spaces.get(space.id)
    if mine is None or mine.state == SpaceState.ACTIVE or _waiting(space).exists():
        return False
    Space.objects.filter(state=SpaceState.ACTIVE).update(state=SpaceState.FILLING)
    Space.objects.filter(pk=space.id).update(state=SpaceState.ACTIVE, activated_at=timezone.now())
    return True


def drop_other_spaces(model: str) -> None:
    """Deletes the spaces that neither answer nor are the model's, their vectors and indexes; in small steps."""
    for row in Space.objects.filter(state=SpaceState.FILLING).exclude(model=model):
        rows = Embedding.objects.filter(space=row)
        while batch := list(rows.values_list("pk", flat=True)[:DELETED_AT_ONCE]):
            Embedding.objects.filter(pk__in=batch).delete()
        with transaction.atomic():
            # Dropping an index waits for whoever reads the table, and everybody else would wait behind it.
            _execute("SET LOCAL lock_timeout = '2s'")
            _execute(f"DROP INDEX IF EXISTS {row.index_name}")
            row.delete()


def embedding_status() -> EmbeddingStatus:
    """Which model answers, which is being made ready, and how far that is."""
    active = active_space()
    # One that has answered before is on its way out.
    coming = Space.objects.filter(state=SpaceState.FILLING, activated_at__isnull=True)
    filling = coming.order_by("-created_at").first()
    newest = filling or active
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


def _unchanged(read: Sequence[Lacking]) -> set[UUID]:
    """Those that are as they were read, locked. What is being changed is passed by: waiting could end in a circle."""
    rows = Entry.objects.select_for_update(of=("self",), skip_locked=True, no_key=True)
    now = dict(rows.filter(pk__in=[one.entry_id for one in read]).order_by("pk").values_list("pk", "updated_at"))
    return {one.entry_id for one in read if now.get(one.entry_id) == one.as_of}


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
