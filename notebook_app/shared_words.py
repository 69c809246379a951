"""Which of many texts share telling words with another, and which words. Pure; Chinese and English alike.

A word that few of the texts have tells more than one that many have. Chinese, written without spaces, is compared by
pairs of characters.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import log

LONGEST_READ = 1_500
MOST_TOLD = 6
# One rare word in common is chance; two make a subject.
FEWEST_SHARED = 2
SHORTEST = 3
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
PART = re.compile(rf"[{CJK}]+|[^\W\d_{CJK}]+")
USUAL = frozenset(
    "about above after again all also and another any are because been before being below between both but can cannot "  # noqa: SIM905
    "could did does doing done each else even ever every few for from give given had has have having her here his how "
    "into its itself just let like made make many may might more most must need needs next not now off once one only "
    "other our out over own per please same shall she should since some such task than that the their them then there "
    "these they this those through too two under until upon use used uses using very via was were what when where "
    "which while who whom whose why will with within without would write written yes yet you your answer result "
    "agent attempt".split()
)
ENDINGS = ("ing", "ies", "ed", "es", "s")


@dataclass(frozen=True)
class Likeness:
    """The place of a text among those compared, how much it is alike, and the words that it shares, rarest first."""

    place: int
    score: float
    words: tuple[str, ...]


def most_alike(text: str, others: Sequence[str], *, limit: int) -> list[Likeness]:
    """The `limit` of `others` that are most like `text`, the likest first; those that share too little are left out."""
    wanted = _words(text)
    held = [_words(other) for other in others]
    seen_in = Counter(stem for words in held for stem in words)
    found = []
    for place, words in enumerate(held):
        shared = wanted.keys() & words.keys()
        if len(shared) < FEWEST_SHARED:
            continue
        weight = {stem: log(1 + len(others) / seen_in[stem]) for stem in shared}
        # The sum alone would put the longest text first.
        score = sum(weight.values()) / (1 + log(1 + len(words)))
        told = sorted(shared, key=lambda stem: (-weight[stem], -len(stem), stem))[:MOST_TOLD]
        found.append(Likeness(place, score, tuple(wanted[stem] for stem in told)))
    return sorted(found, key=lambda one: (-one.score, one.place))[:limit]


@lru_cache(maxsize=2048)
def _words(text: str) -> dict[str, str]:
    """The telling words by their stems. Not to be changed: it is handed out again."""
    found: dict[str, str] = {}
    for part in PART.findall(text[:LONGEST_READ].casefold()):
        if part[0] > "\u3000":
            found.update((pair, pair) for pair in map("".join, pairwise(part)))
        elif len(part) >= SHORTEST and part not in USUAL:
            found.setdefault(_stem(part), part)
    return found


def _stem(word: str) -> str:
    ending = next((end for end in ENDINGS if word.endswith(end) and len(word) - len(end) >= SHORTEST), "")
    return word.removesuffix(ending)
