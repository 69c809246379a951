"""Decide whether two issues from reports are the same mistake: the same root cause in any context.

An embedding mainly reflects a text's subject, and two mistakes on one subject are still two. A learned map brings texts
with one root cause together. A regression combines proximity on the map, plain proximity, and wording. Two sentences
that differ only in their decisive part are two mistakes; two without a shared word may be one.
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
# Proximity is computed over the first 8, 16, … directions of the map; the first carry the most information.
DIRECTIONS = (8, 16, 32, 64)
# Upper bound of the required log odds: at it, one in 200 random pairs passes. More would lose too many true repeats.
MOST_NEEDED = 2.0
# Issues make their point within this length; more text would only cost time.
LONGEST = 1_000
# Comparing the order of parts takes cubic time for texts of few distinct words; issues have a few dozen parts.
MOST_IN_ORDER = 100
CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
CHINESE = re.compile(f"[{CJK}]")
PART = re.compile(rf"\d+(?:[.,:]\d+)*%?|[{CJK}]|[^\W\d_{CJK}]+")
NUMBER = "#"
# Replaces a stemmer: words with the same beginning count as equal.
STEM = 5


@dataclass(frozen=True)
class Map:
    """Linear map: vectors minus `middle`, times `directions`, are arranged by root cause."""

    middle: Numbers
    directions: Numbers


@dataclass(frozen=True)
class Stated:
    """An issue's text, truncated, with its embedding as a question, which is independent of language."""

    text: str
    vector: Numbers


def log_odds(pairs: Sequence[tuple[Stated, Stated]]) -> Numbers:
    """Return the log odds of each pair to be one mistake; above 0 means more likely than not.

    This assumes that about half of the pairs match. A search among many candidates must require more (see `needed`).
    """
    if not pairs:
        return np.zeros(0)
    a, b = (np.array([pair[side].vector for pair in pairs], float) for side in (0, 1))
    wording_of = np.array([wording(one.text, other.text) for one, other in pairs])
    weights = shipped()
    odds: Numbers = weights.log_odds(features(nearness(a, b, the_map()), wording_of)) - weights.threshold
    return odds


def needed(compared: int) -> float:
    """Return the log odds required for a match among `compared` issues, since chance matches grow with their number."""
    return min(log(1 + compared), MOST_NEEDED) - shipped().threshold


def likeliest(now: Numbers, earlier: Numbers, *, most: int) -> list[int]:
    """Return the indexes of rows of `earlier` nearest to the vector `now`: half by the map, half by plain cosine."""
    known = the_map()
    near = set[int]()
    for onto in (known.directions[:, :16], np.eye(len(known.middle))):
        [one], others = (_of_length_1((vectors - known.middle) @ onto) for vectors in (now[None], earlier))
        near |= set(np.argsort(-(others @ one))[: most // 2].tolist())
    return sorted(near)


def nearness(a: Numbers, b: Numbers, known: Map) -> Numbers:
    """Return the cosines of each pair of rows: over increasing numbers of map directions, and of the plain vectors."""
    a, b = a - known.middle, b - known.middle
    on_map = a @ known.directions, b @ known.directions
    sides = [(on_map[0][:, :many], on_map[1][:, :many]) for many in DIRECTIONS] + [(a, b)]
    return np.stack([(_of_length_1(one) * _of_length_1(other)).sum(1) for one, other in sides], axis=1)


def features(near: Numbers, wording_of: Numbers) -> Numbers:
    """Return the regression's input: all values, and the product of each two."""
    plain = np.hstack([near, wording_of])
    one, other = np.triu_indices(plain.shape[1])
    return np.hstack([plain, plain[:, one] * plain[:, other]])


def wording(a: str, b: str) -> list[float]:
    """Return how two texts share words, letters, order and numbers; symmetric."""
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
    """Return the share of Chinese in the text, from 0 to 1; a character counts as two letters."""
    characters = len(CHINESE.findall(text))
    letters = sum(map(str.isalpha, text)) - characters
    return 2 * characters / (2 * characters + letters) if characters else 0.0


def _stem(part: str) -> str:
    return NUMBER if part[0].isdigit() else part[:STEM]


def _stems(parts: Sequence[str]) -> dict[str, float]:
    # Short words are mostly common to all sentences.
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
    """Return the map that ships."""
    with np.load(WEIGHTS / f"{NAME}.npz") as kept:
        return Map(kept["middle"].astype(float), kept["directions"].astype(float))


@cache
def shipped() -> Linear:
    """Return the regression that ships."""
    return linear(NAME)
