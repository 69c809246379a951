"""How alike two texts are in words. Pure; Chinese and English alike.

English is compared by the stems of its telling words, Chinese, written without spaces, by pairs of characters.
Numbers count: two rules may differ in nothing else.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from notebook_app.kinds import CJK

LONGEST_READ = 6_000
MOST_TOLD = 8
_PART = re.compile(rf"[{CJK}]+|[^\W\d_{CJK}]+|\d+(?:\.\d+)*")
# Says nothing of what a text is about.
_USUAL = frozenset(
    "a an and any are as at be been being but by can could did do does doing each even ever every for from get gets "  # noqa: SIM905
    "given had has have having he her here his how i if in instead into is it its itself just let like make many may "
    "might more most must need needs of off on once one only or other our out over own per please rather same shall "
    "she should since so some such than that the their them then there these they this those through to too until up "
    "upon use used uses using very via was were what when where which while who whom whose why will with would yet "
    "you your always never not no avoid ensure sure dont cannot before after agent agents".split()
)
# As frequent as the English ones, in pairs of characters.
_USUAL_PAIRS = frozenset(
    "这个 那个 一个 我们 你们 他们 以及 或者 并且 因为 所以 如果 时候 应该 必须 需要 可以 不要 不能 不得".split()  # noqa: SIM905
)
_SINGLE = frozenset("的了在是和与也都就被把将会要请")
_DOUBLED = re.compile(r"([bdfgmnprt])\1$")


@dataclass(frozen=True)
class Alike:
    """From 0 to 1: `overlap` of all telling words of both (Dice), `containment` of the shorter in the longer."""

    overlap: float
    containment: float
    shared: int
    words: tuple[str, ...]


def alike(left: str, right: str) -> Alike:
    """How much of their telling words the texts share, and the words, the longest first."""
    first, second = telling_words(left), telling_words(right)
    shared = first.keys() & second.keys()
    if not shared:
        return Alike(0.0, 0.0, 0, ())
    told = sorted(shared, key=lambda stem: (-len(first[stem]), stem))[:MOST_TOLD]
    return Alike(
        overlap=2 * len(shared) / (len(first) + len(second)),
        containment=len(shared) / min(len(first), len(second)),
        shared=len(shared),
        words=tuple(first[stem] for stem in told),
    )


@lru_cache(maxsize=4096)
def telling_words(text: str) -> dict[str, str]:
    """The telling words by their stems, in order. Not to be changed: it is handed out again."""
    found: dict[str, str] = {}
    for part in _PART.findall(unicodedata.normalize("NFKC", text[:LONGEST_READ]).casefold()):
        if part[0] > "\u3000":
            found.update((pair, pair) for pair in _pairs(part))
        elif part not in _USUAL and (len(part) > 1 or part.isdigit()):
            found.setdefault(stem_of(part), part)
    return found


def _pairs(run: str) -> list[str]:
    """The pairs of characters of a run of Chinese that tell something; a lone character is kept as it is."""
    if len(run) == 1:
        return [] if run in _SINGLE else [run]
    pairs = map("".join, pairwise(run))
    return [pair for pair in pairs if pair not in _USUAL_PAIRS and not _SINGLE.intersection(pair)]


def stem_of(word: str) -> str:
    """What is left of an English word without its usual endings: the same for most forms of a verb or a noun."""
    if not word.isascii() or len(word) <= 3:
        return word
    if word.endswith(("ies", "ied")):
        return f"{word[:-3]}y"
    ending = next((one for one in ("ing", "ed", "es", "s") if word.endswith(one) and len(word) - len(one) >= 3), "")
    if word.endswith("ss"):
        ending = ""
    stem = word.removesuffix(ending)
    if ending in {"ing", "ed"}:
        stem = _DOUBLED.sub(r"\1", stem)
    return stem.removesuffix("e") if len(stem) > 3 else stem
