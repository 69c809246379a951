"""Whether two issues, as reports state them, are the same mistake: the same root, whatever it happened to.

A vector says above all what a text is about, and two mistakes with one subject are still two. So a map of the vectors
was learned in which texts of one root lie together, and a regression weighs nearness there, nearness as it is, and the
wording: two sentences that share all but their decisive part are two mistakes, and two that share no word may be one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from math import log

import numpy as np

from judgement.linear import WEIGHTS, Linear, Numbers, linear

NAME = "same_mistake"
# Nearness is taken over the first so many directions of the map: the first tell most.
DIRECTIONS = (8, 16, 32, 64)
# From there on one of 200 pairs taken at random passes, and of true repeats too few would if more were asked.
MOST_NEEDED = 2.0
# An issue's point is made by then; the rest would only cost time.
LONGEST = 1_000
# Parts that are compared in their order, which of few words takes the third power of them; issues have a few dozen.
MOST_IN_ORDER = 100
CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
CHINESE = re.compile(f"[{CJK}]")
PART = re.compile(rf"\d+(?:[.,:]\d+)*%?|[{CJK}]|[^\W\d_{CJK}]+")
NUMBER = "#"
# In place of a stemmer: words that begin alike are taken for one.
STEM = 5


@dataclass(frozen=True)
class Map:
    """Vectors less their middle, times `directions`, lie as their roots do."""

    middle: Numbers
    directions: Numbers


@dataclass(frozen=True)
class Stated:
    """An issue's text, cut, with its vector as a question's: free of its language."""

    text: str
    vector: Numbers


def log_odds(pairs: Sequence[tuple[Stated, Stated]]) -> Numbers:
    """Of each pair, the logarithm of the odds that it is one mistake; above 0 it is likelier than not.

    That is for pairs of which about half are: who looks among many, asks for more (see `needed`).
    """
    if not pairs:
        return np.zeros(0)
    a, b = (np.array([pair[side].vector for pair in pairs], float) for side in (0, 1))
    wording_of = np.array([wording(one.text, other.text) for one, other in pairs])
    weights = shipped()
    odds: Numbers = weights.log_odds(features(nearness(a, b, the_map()), wording_of)) - weights.threshold
    return odds


def needed(compared: int) -> float:
    """The log odds from which one of `compared` issues is taken for the same: chance finds more among many."""
    return min(log(1 + compared), MOST_NEEDED) - shipped().threshold


def likeliest(now: Numbers, earlier: Numbers, *, most: int) -> list[int]:
    """The places of the rows of `earlier` nearest to the vector `now`: half of them by the map, half as they are."""
    known = the_map()
    near = set[int]()
    for onto in (known.directions[:, :16], np.eye(len(known.middle))):
        [one], others = (_of_length_1((vectors - known.middle) @ onto) for vectors in (now[None], earlier))
        near |= set(np.argsort(-(others @ one))[: most // 2].tolist())
    return sorted(near)


def nearness(a: Numbers, b: Numbers, known: Map) -> Numbers:
    """Cosines of each pair of rows: over more and more directions of the map, and of the vectors themselves."""
    a, b = a - known.middle, b - known.middle
    on_map = a @ known.directions, b @ known.directions
    sides = [(on_map[0][:, :many], on_map[1][:, :many]) for many in DIRECTIONS] + [(a, b)]
    return np.stack([(_of_length_1(one) * _of_length_1(other)).sum(1) for one, other in sides], axis=1)


def features(near: Numbers, wording_of: Numbers) -> Numbers:
    """What the regression reads: all of it, and each number times each other."""
    plain = np.hstack([near, wording_of])
    one, other = np.triu_indices(plain.shape[1])
    return np.hstack([plain, plain[:, one] * plain[:, other]])


def wording(a: str, b: str) -> list[float]:
    """How two texts share their words, letters, order and numbers: the same from both sides."""
    a, b = a[:LONGEST].lower(), b[:LONGEST].lower()
    a, b = min(a, b), max(a, b)
    parts = PART.findall(a), PART.findall(b)
    words, others = set(parts[0]), set(parts[1])
    shared = len(words & others)
    every = max(1, len(words | others))
    stems, theirs = _stems(parts[0]), _stems(parts[1])
    common = sum(min(stems[stem], theirs[stem]) for stem in stems.keys() & theirs.keys())
    covered = common / (sum(stems.values()) or 1), common / (sum(theirs.values()) or 1)
    in_order, in_their_order = (list(map(_stem, one[:MOST_IN_ORDER])) for one in parts)
    blocks = SequenceMatcher(None, in_order, in_their_order, autojunk=False).get_matching_blocks()
    fewest = max(1, min(len(in_order), len(in_their_order)))
    numbers, their_numbers = ({part for part in one if part[0].isdigit()} for one in (words, others))
    chinese, theirs_chinese = chinese_share(a), chinese_share(b)
    grams, other_grams = _grams(a, chinese), _grams(b, theirs_chinese)
    between = abs(chinese - theirs_chinese)
    return [
        shared / max(1, min(len(words), len(others))),
        shared / every,
        abs(len(words) - len(others)) / every,
        2 * len(grams & other_grams) / max(1, len(grams) + len(other_grams)),
        between,
        abs(log(max(1, len(a)) / max(1, len(b)))) if between < 0.5 else 0.0,
        max(covered),
        min(covered),
        2 * sum(block.size for block in blocks) / max(1, len(in_order) + len(in_their_order)),
        max(block.size for block in blocks) / fewest,
        blocks[0].size / fewest if blocks[0].a == blocks[0].b == 0 else 0.0,
        float(bool(numbers) and bool(their_numbers) and numbers != their_numbers),
        float(bool(numbers) != bool(their_numbers)),
    ]


def chinese_share(text: str) -> float:
    """Which part of the text is Chinese, from 0 to 1; a character says about as much as two letters."""
    characters = len(CHINESE.findall(text))
    letters = sum(map(str.isalpha, text)) - characters
    return 2 * characters / (2 * characters + letters) if characters else 0.0


def _stem(part: str) -> str:
    return NUMBER if part[0].isdigit() else part[:STEM]


def _stems(parts: Sequence[str]) -> dict[str, float]:
    # Short words are mostly those that every sentence has.
    found: dict[str, float] = {}
    for part in parts:
        if not part[0].isdigit():
            weight = 2.0 if CHINESE.match(part) or len(part) == 4 else 1.0 if len(part) < 4 else 4.0
            found[part[:STEM]] = max(weight, found.get(part[:STEM], 0.0))
    return found


def _grams(text: str, chinese: float) -> set[str]:
    size = 3 if chinese < 0.5 else 2
    return {text[at : at + size] for at in range(len(text) - size + 1)}


def _of_length_1(vectors: Numbers) -> Numbers:
    scaled: Numbers = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)
    return scaled


@cache
def the_map() -> Map:
    """The map that ships."""
    with np.load(WEIGHTS / f"{NAME}.npz") as kept:
        return Map(kept["middle"].astype(float), kept["directions"].astype(float))


@cache
def shipped() -> Linear:
    """The regression that ships."""
    return linear(NAME)
