"""The approved entries that concern a text, the surest first, each with the reason why; none where none does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, log1p, sqrt
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import Q, QuerySet
from numpy.typing import NDArray

from judgement.linear import MODEL
from judgement.recall import Candidate, Judged, Way, judge, least_sure, space
from notebook_app.compiled import compiled
from notebook_app.entry_filter import EntryFilter
from notebook_app.meaning import active_space, nearest, said_by
from notebook_app.models import Embedding, Entry
from notebook_app.search import matching

# How use counts in the order in which entries are told. Pure.

# Use moves an entry past one that is nearly as fitting, never past one that fits.
MOST_FOR_USE = 0.05
# As if each entry had been given so often and without effect before anything is known of it.
PRIOR_GIVEN = 10


@dataclass(frozen=True)
class Use:
    """How often an entry was seen and given, and the difference it is known to make to first attempts, if any."""

    occurrences: int = 1
    recalled: int = 0
    lift: float = 0.0

    def score(self, sure: float) -> float:
        """How high an entry stands that so surely concerns the question."""
        seen = min(1.0, log(max(1, self.occurrences)) / log(50))
        return round(min(1.0, sure * (1 + MOST_FOR_USE * max(-1.0, min(1.0, 0.5 * seen + 5 * self.lift)))), 6)


def lift_of(*, given: int, helped: int, withheld: int, succeeded_without: int) -> float:
    """By how much first attempts go better with an entry than without, drawn towards nothing while little is known."""
    if not given or not withheld:
        return 0.0
    difference = helped / given - succeeded_without / withheld
    fewer = min(given, withheld)
    return difference * fewer / (fewer + PRIOR_GIVEN)


def use_rank(use: Use, *, age_days: float) -> float:
    """How high an entry stands among those that are told without a question: the higher the more it was seen and used.

    A mistake seen 50 times stands above any that was seen once, however new; equals are told apart by their age.
    """
    seen = log1p(max(0, use.occurrences - 1))
    used = 0.25 * log1p(sqrt(max(0, use.recalled)))
    newness = 0.5 / (1 + max(0.0, age_days) / 30)
    return (seen + used + newness) * max(0.0, 1 + 2 * max(-0.5, min(0.5, use.lift)))


def by_use[T](entries: Sequence[tuple[T, float]]) -> list[T]:
    """The entries by their rank of use, the highest first; equals keep their order."""
    return [entry for entry, _ in sorted(entries, key=lambda one: -one[1])]


# What entries did to first attempts lately, found quickly: for the order of recall, no claim (see lift_list.py).

NEWEST = 200
OUTCOMES = """
SELECT asked.id,
    count(*) FILTER (WHERE NOT newest.is_withheld), count(*) FILTER (WHERE NOT newest.is_withheld AND newest.succeeded),
    count(*) FILTER (WHERE newest.is_withheld), count(*) FILTER (WHERE newest.is_withheld AND newest.succeeded)
FROM unnest(%s::uuid[]) AS asked (id), LATERAL (
    SELECT is_withheld, succeeded FROM notebook_app_exposure
    WHERE project_id = %s AND entry_id = asked.id AND is_counted AND succeeded IS NOT NULL
    ORDER BY settled_at DESC, id DESC LIMIT %s
) AS newest
GROUP BY asked.id
"""


def lifts_of(project_id: UUID, entry_ids: Iterable[UUID], *, newest: int | None = None) -> dict[UUID, float]:
    """By how much attempts go better with each of these entries, from -1 to 1; without what nothing is known of.

    Of each entry the `newest` outcomes, or all.
    """
    wanted = list(entry_ids)
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(OUTCOMES, [wanted, project_id, newest])
        return {
            row[0]: lift_of(given=row[1], helped=row[2], withheld=row[3], succeeded_without=row[4])
            for row in cursor.fetchall()
        }


# By words and by meaning, each; what stands further down in both is not told.
LOOKED_AT = 30


@dataclass(frozen=True)
class RecalledEntry:
    """An entry and why it was recalled. `fits` says whether it is to be told to whoever works on the text.

    `score` is how sure it is that the entry concerns the text, from 0 to 1, and a little for how much it was of use.
    """

    entry: Entry
    score: float
    fits: bool
    words: tuple[str, ...]
    likeness: float | None


@dataclass(frozen=True)
class RejectedEntry:
    """An approved entry that was considered and not returned, and its confidence from 0 to 1."""

    entry_id: UUID
    version: int
    confidence: float
    fits: bool
    is_flagged: bool


@dataclass(frozen=True)
class Recalled:
    """What was recalled, best first. `used_meaning`: meaning was asked, and not the words alone.

    `rejected` are the entries that were considered and are not among `entries`, the most confident first: those that
    are flagged, those that do not fit, and those beyond the limit.

    `decided_by` is what decided what fits; of the `looked_at` entries, those below `least_sure` do not.
    """

    entries: tuple[RecalledEntry, ...]
    used_meaning: bool
    decided_by: Way
    looked_at: int
    surest: float
    least_sure: float
    rejected: tuple[RejectedEntry, ...] = ()


@compiled
def _entries(project_id: UUID, ids: list[UUID]) -> QuerySet[Entry]:
    return Entry.objects.filter(Q(pk__any=ids), project_id=project_id).defer("search").order_by("pk")


@compiled
def _stored_vectors(ids: list[UUID], space_id: UUID) -> QuerySet[Embedding, tuple[UUID, Any]]:
    return Embedding.objects.filter(Q(entry__pk__any=ids), space=space_id).values_list("entry", "vector")


def recall(
    project_id: UUID,
    text: str,
    *,
    vector: Sequence[float] | None = None,
    among: EntryFilter | None = None,
    limit: int = 5,
    with_others: bool = False,
) -> Recalled:
    """At most `limit` entries, and none that does not concern the text. `vector` is the text's, of `query_vector`.

    `with_others` ranks those that do not fit behind those that do, for people who search. Those that screening has
    flagged are left out until a curator has cleared them, but for what only the classifier flagged after a person had
    approved it.
    """
    among = among or EntryFilter()
    known = active_space() if vector is not None else None
    asked = vector if known is not None and vector is not None and len(vector) == known.dimensions else None
    is_wheels = known is not None and known.model == MODEL
    matches = matching(project_id, text, among=among, limit=LOOKED_AT)
    ids = [match.entry_id for match in matches]
    if asked is not None:
        searched = space().searched(np.array(asked)).tolist() if is_wheels else asked
        ids += [one.entry_id for one in nearest(project_id, searched, among=among, limit=LOOKED_AT, space=known)]
    rows = _entries(project_id, ids)
    found = [row for row in rows if not row.is_excluded]
    vectors = _vectors(found, known.id) if asked is not None and known is not None else {}
    candidates = [Candidate(one.name, said_by(one), vectors.get(one.pk)) for one in found]
    of_question = np.array(asked) if asked is not None else None
    judged, way = judge(text, candidates, vector=of_question, is_wheels=is_wheels)
    words = {match.entry_id: match.words for match in matches}
    entries = _ranked(project_id, found, judged, words=words, limit=limit, with_others=with_others)
    return Recalled(
        entries=entries,
        used_meaning=asked is not None,
        decided_by=way,
        looked_at=len(found),
        surest=round(max((one.sure for one in judged), default=0.0), 4),
        least_sure=round(least_sure(way), 4),
        rejected=_rejected(rows, dict(zip((row.pk for row in found), judged, strict=True)), entries),
    )


def _rejected(
    rows: Sequence[Entry], judged: dict[UUID, Judged], entries: Sequence[RecalledEntry]
) -> tuple[RejectedEntry, ...]:
    returned = {one.entry.id for one in entries}
    left = [(row, judged.get(row.pk)) for row in rows if row.pk not in returned]
    return tuple(
        sorted(
            (
                RejectedEntry(
                    entry_id=row.pk,
                    version=row.version,
                    confidence=round(one.sure, 4) if one else 0.0,
                    fits=one.fits if one else False,
                    is_flagged=one is None,
                )
                for row, one in left
            ),
            key=lambda one: (-one.confidence, one.entry_id),
        )
    )


def _ranked(
    project_id: UUID,
    found: Sequence[Entry],
    judged: Sequence[Judged],
    *,
    words: dict[UUID, tuple[str, ...]],
    limit: int,
    with_others: bool,
) -> tuple[RecalledEntry, ...]:
    """The first, best first; equals in the order of their ids. What does not fit stands behind all that does."""
    pairs = [(entry, one) for entry, one in zip(found, judged, strict=True) if one.fits or with_others]
    lifts = lifts_of(project_id, [entry.pk for entry, _ in pairs], newest=NEWEST)
    ranked = sorted(
        (
            RecalledEntry(
                entry=entry,
                score=Use(entry.occurrences, entry.recalled, lifts.get(entry.pk, 0.0)).score(one.sure),
                fits=one.fits,
                words=words.get(entry.pk, ()),
                likeness=None if one.likeness is None else round(one.likeness, 4),
            )
            for entry, one in pairs
        ),
        key=lambda one: (not one.fits, -one.score, one.entry.id),
    )
    return tuple(ranked[:limit])


def _vectors(entries: Iterable[Entry], space_id: UUID) -> dict[UUID, NDArray[np.float64]]:
    """The entries' vectors. One of nothing but zeros stands for a text that none could be had for, and is left out."""
    rows = _stored_vectors([entry.pk for entry in entries], space_id)
    vectors = ((entry_id, np.array(kept, float)) for entry_id, kept in rows)
    return {entry_id: vector for entry_id, vector in vectors if vector.any()}
