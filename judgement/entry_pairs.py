"""What two notebook entries are to each other: the same again, the opposite, one narrowing the other, or unrelated.

Decided by how near the vectors of both are and by what their words share and differ in. Pure.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise

import numpy as np

from judgement.linear import Linear, Numbers, load

NAME = "entry_pairs"
LONGEST_READ = 6_000


class Relation(StrEnum):
    DUPLICATE = "duplicate"
    CONTRADICT = "contradict"
    REFINE = "refine"
    UNRELATED = "unrelated"


@dataclass(frozen=True)
class Sides:
    """An entry as it is compared: its name and the rest of what it says."""

    title: str
    text: str

    @property
    def whole(self) -> str:
        """What its vector is made of."""
        return f"{self.title}\n{self.text}" if self.title and self.text else self.title or self.text


_LATIN = re.compile(r"[^\W\d_\u2e80-\u9fff]+|\d+")
_CJK = re.compile(r"[\u3040-\u9fff]")
_REFUSING = re.compile(
    r"\b(?:not|never|no|cannot|without|nobody|none|nothing|avoid|stop|forbid\w*|refus\w*|skip|neither|nor|unless|"
    r"kein\w*|nicht|nie|ohne|ne|pas|jamais|sans|sin|nunca)\b|n't\b|[不没别勿禁无未免拒]|ない|ません"
)
_ADDING = re.compile(
    r"\b(?:except|unless|only|but|however|though|too|also|even|besides|if|when|because|since|each|same|both)\b"
    r"|[除只也但还才都]|如果|因为|例外|同样"
)
_REASON = re.compile(r"\b(?:because|since|due|reason|cause\w*)\b|因为|由于|原因|所以")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_CHINESE_NUMBER = re.compile("[〇零一二两三四五六七八九十百千万]+")
_CHINESE = dict(
    zip("〇零一二两三四五六七八九十百千万", (0, 0, 1, 2, 2, *range(3, 11), 100, 1_000, 10_000), strict=True)
)
_ENGLISH = {
    **{word: number for number, word in enumerate("one two three four five six seven eight nine ten".split(), 1)},  # noqa: SIM905
    "once": 1,
    "twice": 2,
    "half": 0.5,
    "eleven": 11,
    "twelve": 12,
    "dozen": 12,
    "fortnight": 14,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "ninety": 90,
    "hundred": 100,
    "thousand": 1_000,
}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:LONGEST_READ]).lower()


def numbers_in(folded: str) -> frozenset[float]:
    """The numbers that a text names, in figures or in words of English and Chinese."""
    plain = folded.replace(",", "")
    found = {float(match) for match in _DIGITS.findall(plain)}
    found |= {float(_ENGLISH[word]) for word in _LATIN.findall(plain) if word in _ENGLISH}
    for run in _CHINESE_NUMBER.findall(plain):
        total = now = 0
        for sign in run:
            value = _CHINESE[sign]
            if value < 10:
                now = value
            elif value < 10_000:
                total, now = total + (now or 1) * value, 0
            else:
                total, now = (total + now) * value, 0
        found.add(float(total + now))
    return frozenset(found)


def _words(folded: str) -> frozenset[str]:
    """Words without a plural's or a verb's ending, and single characters of Chinese and Japanese."""
    words = {re.sub(r"(?<=\w{3})(?:ing|ed|es|s|e)$", "", word) for word in _LATIN.findall(folded)}
    return frozenset(words | set(_CJK.findall(folded)))


def _pieces(folded: str) -> frozenset[str]:
    """Runs of three letters, and pairs of Chinese characters."""
    line = " ".join(folded.split())
    pairs = {one + other for one, other in pairwise(line) if one > "\u3000" and other > "\u3000"}
    return frozenset({line[at : at + 3] for at in range(len(line) - 2)} | pairs)


def _overlap(one: frozenset[str], other: frozenset[str]) -> tuple[float, float]:
    """Shared of both (Dice), and of the shorter."""
    shared = len(one & other)
    return 2 * shared / max(1, len(one) + len(other)), shared / max(1, min(len(one), len(other)))


def words_compared(left: Sides, right: Sides) -> list[float]:
    """What the words of the two share and differ in; the same whichever comes first."""
    one, other = _folded(left.text), _folded(right.text)
    words, others = _words(one), _words(other)
    title, title_too = _words(_folded(left.title)), _words(_folded(right.title))
    numbers, numbers_too = numbers_in(one), numbers_in(other)
    refusals, refusals_too = len(_REFUSING.findall(one)), len(_REFUSING.findall(other))
    added, added_too = set(_ADDING.findall(one)), set(_ADDING.findall(other))
    fewer, more = sorted((len(words - others), len(others - words)))
    long, long_too = len(one.encode()) + 1, len(other.encode()) + 1
    return [
        *_overlap(words, others),
        *_overlap(words | title, others | title_too),
        *_overlap(_pieces(one), _pieces(other)),
        float(np.log1p(fewer)),
        float(np.log1p(more)),
        fewer / max(1, more),
        _overlap(title, title_too)[0],
        len(title & others) / max(1, len(title)) + len(title_too & words) / max(1, len(title_too)),
        abs(float(np.log(long / long_too))),
        float(np.log(long + long_too)),
        float(bool(numbers & numbers_too)),
        float(bool(numbers - numbers_too) and bool(numbers_too - numbers)),
        float(bool(numbers) != bool(numbers_too)),
        float(bool(numbers) and numbers == numbers_too),
        float((refusals > 0) != (refusals_too > 0)),
        float(refusals > 0 and refusals_too > 0),
        float(min(3, abs(refusals - refusals_too))),
        float(len(added ^ added_too)),
        float(len(added & added_too)),
        float(bool(_REASON.search(one)) != bool(_REASON.search(other))),
    ]


# Says nothing of what a text is about; what turns a rule round stays.
_USUAL = frozenset(
    "a an and any are as at be been being but by can could did do does doing each even ever every for from get gets "  # noqa: SIM905
    "given had has have having he her here his how i if instead into is it its itself just let like make many may "
    "might more most must need needs of once one or other our own per please rather same shall she should since so "
    "some such than that the their them then there these they this those through to too until upon use used uses "
    "using very via was were what when where which while who whom whose why will with would yet you your not no we us "
    "nothing nobody".split()
)
_RUN = re.compile(r"[\u3040-\u9fff]+|[a-zà-ÿ][a-zà-ÿ'_-]*")
MOST_UNITS = 80
# The same word is as near to itself as vectors kept in few digits are.
SAME_WORD = 0.999
UNLIKE = 0.4


def units(side: Sides) -> tuple[str, ...]:
    """Words and pairs of Chinese characters whose vectors are compared: the first MOST_UNITS that tell something."""
    found: dict[str, None] = {}
    for run in _RUN.findall(_folded(side.whole)):
        if run[0] > "\u3000":
            found.update(dict.fromkeys([one + other for one, other in pairwise(run)] or [run]))
        elif run not in _USUAL:
            found[run] = None
    return tuple(found)[:MOST_UNITS]


def _aligned(left: Sides, right: Sides, words: Mapping[str, Numbers]) -> list[float]:
    """How near the words of each are to the nearest of the other, the side that fits worse first.

    Where one adds to the other only one side has words that are far from all; opposites have such words on both sides.
    """
    one, other = (np.array([words[unit] for unit in units(side)]) for side in (left, right))
    if not len(one) or not len(other):
        return [0.0] * 12
    likeness = one @ other.T
    near, near_too = likeness.max(1), likeness.max(0)
    rest, rest_too = near[near < SAME_WORD], near_too[near_too < SAME_WORD]
    found = sorted((float(near.mean()), float(near_too.mean())))
    found += sorted(float(some.mean()) if len(some) else 1.0 for some in (rest, rest_too))
    for share in (25, 75):
        found += sorted(float(np.percentile(some, share)) if len(some) else 1.0 for some in (rest, rest_too))
    found += sorted((float((near < UNLIKE).sum()), float((near_too < UNLIKE).sum())))
    has_rests = bool(len(rest)) and bool(len(rest_too))
    between = 0.0
    if has_rests:
        left_out, left_out_too = one[near < SAME_WORD].mean(0), other[near_too < SAME_WORD].mean(0)
        lengths = float(np.linalg.norm(left_out) * np.linalg.norm(left_out_too))
        between = float(left_out @ left_out_too) / (lengths + 1e-9)
    return [*found, between, float(has_rests)]


@dataclass(frozen=True)
class Vectors:
    """What the model makes of two entries as wholes, and of each of their units."""

    left: Sequence[float]
    right: Sequence[float]
    units: Mapping[str, Sequence[float]]


def features(left: Sides, right: Sides, vectors: Vectors, middle: Numbers, words_middle: Numbers) -> Numbers:
    """One row: how near the two are as wholes and word by word, and what their words share."""
    one, other = (_direction(vector, middle) for vector in (vectors.left, vectors.right))
    words = {
        unit: _direction(vectors.units[unit], words_middle) for unit in dict.fromkeys((*units(left), *units(right)))
    }
    return np.array([float(one @ other), *words_compared(left, right), *_aligned(left, right, words)])


def _direction(vector: Sequence[float], middle: Numbers) -> Numbers:
    apart: Numbers = np.asarray(vector, float) - middle
    return apart / (np.linalg.norm(apart) + 1e-9)


@cache
def _learned() -> tuple[Numbers, Numbers, tuple[Linear, ...]]:
    kept = load(NAME)
    each = [Linear(weights, float(bias)) for weights, bias in zip(kept["weights"], kept["bias"], strict=True)]
    return kept["middle"], kept["words_middle"], tuple(each)


# Two entries that are further apart as wholes have nothing to do with each other: so 98 of 100 labelled pairs that had
# are nearer, and 17 of 100 that had not are further.
CAN_BE_RELATED = 0.1


def can_be_related(left: Sequence[float], right: Sequence[float]) -> bool:
    """Whether the two are near enough as wholes for their words to be compared."""
    middle = _learned()[0]
    return float(_direction(left, middle) @ _direction(right, middle)) > CAN_BE_RELATED


def relation(left: Sides, right: Sides, vectors: Vectors) -> Relation:
    """What the two are to each other: the likeliest. Every unit of both needs its vector."""
    middle, words_middle, each = _learned()
    row = features(left, right, vectors, middle, words_middle)[None, :]
    return list(Relation)[int(np.argmax([one.log_odds(row)[0] for one in each]))]
