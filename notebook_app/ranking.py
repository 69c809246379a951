"""In which order entries are told: two lists made one, and how often an entry was seen and of use. Pure.

The figures were chosen on one half of tests/notebook/recall_set.json; tests/load/quality_recall.py measures the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, log1p, sqrt
from uuid import UUID

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
            score = _fused_score(in_text, in_meaning if fits_by_meaning else None) * (
                1 + _for_use((use or {}).get(entry_id, Use()))
            )
            fused.append(Fused(entry_id, round(score, 6), in_text, in_meaning))
    return sorted(fused, key=lambda one: (-one.score, one.entry_id))


def _placed(scores: Mapping[UUID, float]) -> dict[UUID, Found]:
    return {entry_id: Found(rank, score) for rank, (entry_id, score) in enumerate(scores.items(), start=1)}


def _fused_score(in_text: Found | None, in_meaning: Found | None) -> float:
    score = 0.0
    if in_text is not None:
        share = min(1.0, in_text.score / FULL_TEXT_SCORE) ** TEXT_POWER
        score += TEXT_WEIGHT * share / (RANK_CONSTANT + in_text.rank)
    if in_meaning is not None:
        score += 1 / (RANK_CONSTANT + in_meaning.rank)
    return score


def _for_use(use: Use) -> float:
    """From -MOST_FOR_USE to MOST_FOR_USE."""
    seen = min(1.0, log(max(1, use.occurrences)) / log(50))
    return MOST_FOR_USE * max(-1.0, min(1.0, 0.5 * seen + 5 * use.lift))


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
