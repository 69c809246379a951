"""What two entries are to one another: near-duplicates, contradictions, or neither. Pure.

The bounds were chosen on labelled pairs of both languages (tests/notebook). Nearness of meaning alone decides nothing:
opposites are as near to each other as paraphrases are, and unrelated Chinese sentences come up to 0.92.
"""

from dataclasses import dataclass
from enum import StrEnum

from notebook_app.clauses import scopes_differ
from notebook_app.contradictions import Opposed, contradictions
from notebook_app.likeness import Alike, alike

# Without a vector, words have to say it alone.
SAME_BY_WORDS = 0.66
# With one, fewer words do where the meaning is near.
SAME_BY_BOTH = 0.55
NEAR = 0.94
NOT_FAR = 0.9
# A short entry that stands in a longer one.
CONTAINED = 0.85
FEWEST_CONTAINED = 4
# On one subject: what opposes each other shares its words for the most part.
SUBJECT_BY_WORDS = 0.4
SUBJECT_BY_MEANING = 0.88


class Pair(StrEnum):
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"


@dataclass(frozen=True)
class Said:
    """What an entry says: all of its text for its subject, and its advice for what can be opposed."""

    text: str
    advice: str


@dataclass(frozen=True)
class Paired:
    """What two entries are to one another, and why."""

    kind: Pair
    alike: Alike
    meaning: float | None
    opposed: tuple[Opposed, ...]


def pair_of(left: Said, right: Said, *, meaning: float | None) -> Paired | None:
    """What the two are to one another; `meaning` is the cosine of their vectors, None where one has none.

    What says the opposite is a contradiction, however alike it is in words.
    """
    words = alike(left.text, right.text)
    opposed = contradictions(left.advice, right.advice) if _on_one_subject(words, meaning) else ()
    if opposed:
        return Paired(Pair.CONTRADICTION, words, meaning, opposed)
    if _says_the_same(words, meaning) and not scopes_differ(left.text, right.text):
        return Paired(Pair.DUPLICATE, words, meaning, ())
    return None


def _on_one_subject(words: Alike, meaning: float | None) -> bool:
    near = meaning is not None and meaning >= SUBJECT_BY_MEANING
    return bool(words.words) and (near or words.overlap >= SUBJECT_BY_WORDS)


def _says_the_same(words: Alike, meaning: float | None) -> bool:
    if meaning is not None and meaning < NOT_FAR:
        return False
    is_contained = words.containment >= CONTAINED and words.shared >= FEWEST_CONTAINED
    if words.overlap >= SAME_BY_WORDS or is_contained:
        return True
    return meaning is not None and meaning >= NEAR and words.overlap >= SAME_BY_BOTH
