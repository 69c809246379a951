"""Finding what an entry says again, narrows, or says the opposite of: candidates by words and by meaning, `pair_of`.

A pair has one row. What people settled stays settled until the words of one of the two are others.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from judgement.entry_pairs import CAN_BE_RELATED, Relation, Sides, is_duplicate_without_words, nearness, relation
from judgement.linear import MODEL
from notebook_app.changing import change, lock_notebook, lock_rows, reopen
from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import (
    DESK,
    HOLDING,
    Change,
    ChangedMeanwhile,
    EntryKind,
    EntryState,
    NoSuchEntry,
    NotPossibleNow,
)
from notebook_app.meaning import active_space, hash_of, nearest, said_by, vector_of
from notebook_app.models import Conflict, ConflictState, Entry, Settlement
from notebook_app.search import matching
from notebook_app.shared_words import Alike, alike

# Which entries are to be compared with the others, oldest first.

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


# What two entries are to one another: near-duplicates, contradictions, one narrowing the other, or none of these. Pure.
#
# With the wheel's model judgement/entry_pairs.py decides. Without it words find near-duplicates, and nothing else;
# those bounds were chosen on labelled pairs of both languages (tests/notebook).

# Without a vector, words have to say it alone.
SAME_BY_WORDS = 0.66
# With one, fewer words do where the meaning is near.
SAME_BY_BOTH = 0.55
NEAR = 0.94
NOT_FAR = 0.9
# A short entry that stands in a longer one.
CONTAINED = 0.85
FEWEST_CONTAINED = 4


class Pair(StrEnum):
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    REFINEMENT = "refinement"


RELATED = {
    Relation.DUPLICATE: Pair.DUPLICATE,
    Relation.CONTRADICT: Pair.CONTRADICTION,
    Relation.REFINE: Pair.REFINEMENT,
}


@dataclass(frozen=True)
class Said:
    """What an entry says. What tells a mistake is not opposed to the rule against it."""

    text: str
    tells_mistake: bool = False

    @property
    def sides(self) -> Sides:
        """As the classifier reads it: the name, and the rest."""
        title, _, text = self.text.partition("\n")
        return Sides(title, text)


@dataclass(frozen=True)
class Paired:
    """What two entries are to one another, and why."""

    kind: Pair
    alike: Alike
    meaning: float | None
    by_classifier: bool = False


def pair_of(
    left: Said, right: Said, *, meaning: float | None, model: Path | None = None, near: float | None = None
) -> Paired | None:
    """What the two are to one another; `meaning` is the cosine of their vectors, None where one has none.

    With `model`, the file of the wheel's model, the classifier decides; `near` is then the `nearness` of the two as
    wholes. What shares no word is a duplicate only where the classifier is sure, or the two are near.
    Without `model` words decide, and find near-duplicates alone.
    """
    words = alike(left.text, right.text)
    if model is None:
        return Paired(Pair.DUPLICATE, words, meaning) if _says_the_same(words, meaning) else None
    if near is not None and near < CAN_BE_RELATED:
        return None
    found, sure = relation(left.sides, right.sides, model=model)
    related = RELATED.get(found)
    if related is None or (related is Pair.CONTRADICTION and left.tells_mistake != right.tells_mistake):
        return None
    if related is Pair.DUPLICATE and not words.shared and not is_duplicate_without_words(sure, near or 0.0):
        return None
    return Paired(related, words, meaning, by_classifier=True)


def _says_the_same(words: Alike, meaning: float | None) -> bool:
    if meaning is not None and meaning < NOT_FAR:
        return False
    is_contained = words.containment >= CONTAINED and words.shared >= FEWEST_CONTAINED
    if words.overlap >= SAME_BY_WORDS or is_contained:
        return True
    return meaning is not None and meaning >= NEAR and words.overlap >= SAME_BY_BOTH


MOST_BY_WORDS = 20
MOST_BY_MEANING = 20
# What is told to agents at work, whatever kind it is kept as; fixes and supplements are about what they fix or add.
ADVICE = (
    EntryKind.ERROR_NOTE,
    EntryKind.ANTI_PATTERN,
    EntryKind.LESSON,
    EntryKind.RULE,
    EntryKind.FACT,
    EntryKind.PREFERENCE,
)
# They tell a mistake first.
TELL_MISTAKES = (EntryKind.ERROR_NOTE, EntryKind.ANTI_PATTERN, EntryKind.FIX_PAIR)


@dataclass(frozen=True)
class Candidate:
    """An entry that may be in conflict, and how near it is in meaning, as far as both have vectors."""

    entry: Entry
    meaning: float | None


type Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]


@dataclass(frozen=True)
class WheelsModel:
    """The wheel's model: `embed` gives texts its vectors, the classifier reads its `file`."""

    embed: Embed
    file: Path


def compare(project_id: UUID, entry_id: UUID, *, model: WheelsModel | None = None) -> list[Conflict]:
    """The entry's open conflicts, found and kept; a proposal is screened then. None where it no longer holds.

    Without `model` entries are compared by their words.
    """
    entry = Entry.objects.filter(project_id=project_id, pk=entry_id, state__in=HOLDING).defer("search").first()
    if entry is None:
        return []
    read = said_of(entry)
    candidates = candidates_for(entry)
    near = _nearness(entry, candidates, model.embed) if model else {}
    file = model.file if model else None
    pairs = [
        (one, pair_of(read, said_of(one.entry), meaning=one.meaning, model=file, near=near.get(one.entry.pk)))
        for one in candidates
    ]
    with transaction.atomic():
        lock_notebook(project_id)
        # In few questions: everybody else who has to do with several entries is waiting.
        now = lock_rows(project_id, [entry.pk, *(one.entry.pk for one, _ in pairs)])
        rows = Conflict.objects.select_for_update(of=("self",)).filter(Q(first=entry) | Q(second=entry)).order_by("pk")
        known = {row.second_id if row.first_id == entry.pk else row.first_id: row for row in rows}
        found = [_keep(now, known.get(one.entry.pk), entry, one, paired) for one, paired in pairs]
        # Before the screening, which is another version of the same words.
        Entry.objects.filter(pk=entry.pk, version=entry.version).update(is_compared=True)
        if entry.state == EntryState.PROPOSED:
            # Somebody may be quicker: what they made of it is compared in its turn, and what was taken back is gone.
            with suppress(ChangedMeanwhile, NoSuchEntry, NotPossibleNow):
                change(entry.project_id, entry.pk, Change.SCREENED, by=DESK, expected_version=entry.version)
    return [row for row in found if row is not None and row.state == ConflictState.OPEN]


def _nearness(entry: Entry, candidates: Sequence[Candidate], embed: Embed) -> dict[UUID, float]:
    """Map candidate to how near it is to the entry as a whole."""
    space = active_space()
    is_kept = space is not None and space.model == MODEL

    def whole(of: Entry) -> Sequence[float]:
        return (vector_of(of.pk) if is_kept else None) or embed([said_by(of)])[0]

    mine = whole(entry)
    return {one.entry.pk: nearness(mine, whole(one.entry)) for one in candidates}


def candidates_for(entry: Entry) -> list[Candidate]:
    """The entries that hold and share its words or its meaning, and those that it is in an open conflict with."""
    kind = EntryKind(entry.kind)
    among = EntryFilter(states=HOLDING, kinds=ADVICE if kind in ADVICE else (kind,), agent=entry.agent)
    vector = vector_of(entry.pk)
    found: dict[UUID, float | None] = {}
    for match in matching(entry.project_id, text_of(entry), among=among, limit=MOST_BY_WORDS):
        found[match.entry_id] = None
    for near in nearest(entry.project_id, vector, among=among, limit=MOST_BY_MEANING) if vector else []:
        found[near.entry_id] = near.likeness
    for pair in Conflict.objects.filter(Q(first=entry) | Q(second=entry), state=ConflictState.OPEN):
        found.setdefault(pair.second_id if pair.first_id == entry.pk else pair.first_id, None)
    found.pop(entry.pk, None)
    rows = Entry.objects.filter(pk__in=found, project_id=entry.project_id).defer("search").order_by("pk")
    return [Candidate(row, found[row.pk] or _likeness(vector, row.pk)) for row in rows]


def _likeness(vector: Sequence[float] | None, other_id: UUID) -> float | None:
    other = vector_of(other_id) if vector else None
    if not vector or not other or len(vector) != len(other):
        return None
    product = sum(one * another for one, another in zip(vector, other, strict=True))
    length = math.hypot(*vector) * math.hypot(*other)
    return min(1.0, max(0.0, product / length)) if length else None


def text_of(entry: Entry) -> str:
    """All that the entry says, its name first."""
    return "\n".join(text for text in entry.texts if text)


def said_of(entry: Entry) -> Said:
    """What the entry says, as it is compared."""
    return Said(text_of(entry), tells_mistake=entry.kind in TELL_MISTAKES)


def _keep(
    now: Mapping[UUID, Entry], row: Conflict | None, entry: Entry, other: Candidate, paired: Paired | None
) -> Conflict | None:
    """The pair's `row` as it is then; None where the two have nothing to do with each other, or changed meanwhile.

    `now` are the entries and `row` is their conflict, all of them locked.
    """
    first, second = sorted((entry, other.entry), key=lambda row: row.pk)
    held = [now[one.pk] for one in (first, second) if one.pk in now and now[one.pk].state in HOLDING]
    hashes = [hash_of(text_of(one)) for one in (first, second)]
    if hashes != [hash_of(text_of(one)) for one in held]:
        return None
    known = Conflict.objects.filter(first=first, second=second)
    if paired is None:
        if row is not None and row.state == ConflictState.OPEN:
            # Its words were changed, and there is nothing left to settle.
            known.update(state=ConflictState.MOOT)
        return None
    columns = {
        "kind": paired.kind.value,
        "text_likeness": round(paired.alike.overlap, 4),
        "meaning_likeness": round(paired.meaning, 4) if paired.meaning is not None else None,
        "why": {
            "words": list(paired.alike.words),
            "hashes": hashes,
            "by": "meaning" if paired.by_classifier else "words",
        },
    }
    if row is None:
        return Conflict.objects.create(project_id=entry.project_id, first=first, second=second, **columns)
    if row.state == ConflictState.SETTLED and row.settlement == Settlement.KEPT_BOTH and row.why["hashes"] == hashes:
        return row
    if row.state != ConflictState.OPEN:
        reopen(known)
    if row.why.get("hashes") != hashes:
        # What a model suggested was for other words.
        columns |= {"suggestion": None, "suggestion_run": None}
    known.update(**columns)
    row.refresh_from_db()
    return row
