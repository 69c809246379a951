"""Retrieval: which lessons of a notebook concern a task, if any.

The subjects of a lesson and a task may be similar although the lesson does not help. The relevant dimensions of the
embeddings were learned, and also which tasks no notebook can help with. Rare words, and names such as FEE-608, count in
addition to meaning.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from judgement.linear import WEIGHTS, Linear, Numbers, load

KIND = "recall"


class Way(StrEnum):
    """Basis of a retrieval decision."""

    MEANING = "meaning"
    # Embeddings of another model: how far an entry stands out among the notebook's others.
    LIKENESS = "likeness"
    WORDS = "words"


# With fewer entries, none can be said to stand out.
FEWEST_TO_STAND_OUT = 8
# Weights of words and names, relative to meaning, in the ranking that precedes the regression.
WORDS_COUNT = 0.25
NAMES_COUNT = 0.1
STANDING_OUT_COUNTS = 0.1
MOST_STANDING_OUT = 8.0
SAME_PLACE = 0.005


@dataclass(frozen=True)
class Space:
    """Learned transformation of the wheel's embeddings. Shapes: `turn` (384, 384), all others (384,)."""

    turn: Numbers
    middle_of_questions: Numbers
    middle_of_entries: Numbers
    # Directions: how typical a question is of those without a lesson, and an entry of those that concern no question.
    usual_question: Numbers
    usual_entry: Numbers

    def searched(self, question: Numbers) -> Numbers:
        """Return the vector to search with.

        Among unit vectors, its nearest neighbors by cosine are the nearest in the learned space.
        """
        found: Numbers = self.turn @ (self.turn.T @ (question - self.middle_of_questions))
        return found

    def likeness(self, questions: Numbers, entries: Numbers) -> Numbers:
        """Return the cosines in the learned space. Shape (questions, entries)."""
        asked = _of_length_1((questions - self.middle_of_questions) @ self.turn)
        written = _of_length_1((entries - self.middle_of_entries) @ self.turn)
        found: Numbers = asked @ written.T
        return found


@dataclass(frozen=True)
class Candidate:
    """An entry that may concern the task. `vector` is the stored embedding, if there is one."""

    name: str
    text: str
    vector: Numbers | None = None


@dataclass(frozen=True)
class Judged:
    """Probability that the entry concerns the task, whether it is sufficient, and the similarity of meaning."""

    sure: float
    fits: bool
    likeness: float | None = None


@cache
def space() -> Space:
    """Return the learned space that ships."""
    kept = np.load(WEIGHTS / f"{KIND}.npz")
    return Space(**{name: kept[name].astype(float) for name in Space.__dataclass_fields__})


def gate(way: Way) -> Linear:
    """Return the regression for decisions on this basis."""
    kept = load(KIND)
    return Linear(kept[f"{way}_weights"], kept[f"{way}_bias"], kept[f"{way}_threshold"])


def least_sure(way: Way) -> float:
    """Return the minimum probability, from 0 to 1, for an entry to be used on this basis."""
    return 1 / (1 + exp(-gate(way).threshold))


def judge(
    question: str, candidates: Sequence[Candidate], *, vector: Numbers | None = None, is_wheels: bool = True
) -> tuple[list[Judged], Way]:
    """Return, for each candidate, whether it concerns the question, and the basis of the decision.

    `vector` is the question's embedding, from the same model as the candidates'. `is_wheels` is True if that is the
    wheel's model.
    """
    if not candidates:
        return [], Way.WORDS
    words = lexical(question, candidates, load(KIND)["counts"])
    has = np.array([one.vector is not None for one in candidates])
    likeness: Numbers | None = None
    way, odds = Way.WORDS, _odds(Way.WORDS, word_features(words))
    least = np.full(len(candidates), gate(Way.WORDS).threshold)
    if vector is not None and is_wheels and has.any():
        learned = space()
        entries = np.stack([one.vector for one in candidates if one.vector is not None])
        likeness = learned.likeness(vector[None], entries)[0]
        way, seen = Way.MEANING, meaning_features(learned, vector, entries, likeness, words[has])
    elif vector is not None and has.sum() >= FEWEST_TO_STAND_OUT:
        likeness = np.array([one.vector @ vector for one in candidates if one.vector is not None])
        way, seen = Way.LIKENESS, likeness_features(likeness, words[has])
    alike: list[float | None] = [None] * len(candidates)
    if likeness is not None:
        # A recently written entry without a vector is judged by its words.
        odds[has], least[has] = _odds(way, seen), gate(way).threshold
        by_place = iter(likeness.tolist())
        alike = [next(by_place) if is_there else None for is_there in has]
    looked_up = np.array([is_looked_up(question, one) for one in candidates])
    odds[looked_up] = np.maximum(odds, least + BY_ITS_NAME)[looked_up]
    return [
        Judged(1 / (1 + exp(-float(one))), bool(one > asked), like)
        for one, asked, like in zip(odds, least, alike, strict=True)
    ], way


def _odds(way: Way, features: Numbers) -> Numbers:
    return np.clip(gate(way).log_odds(features), -30, 30)


# Features of the regressions: for one question, a row per candidate


def meaning_features(learned: Space, question: Numbers, entries: Numbers, likeness: Numbers, words: Numbers) -> Numbers:
    """Return similarity, typicality of question and entry, rank among the candidates, and words."""
    usual = float((question - learned.middle_of_questions) @ learned.usual_question)
    by_entry = (entries - learned.middle_of_entries) @ learned.usual_entry
    order = likeness + _by_words(words)
    mine = np.column_stack([likeness, np.full(len(likeness), usual), by_entry])
    return np.hstack([mine, _places(order), words[:, [0, 3, 4]]])


def likeness_features(likeness: Numbers, words: Numbers) -> Numbers:
    """Return how far each candidate stands out among the others, its rank, and words."""
    middle = np.median(likeness)
    spread = np.median(np.abs(likeness - middle)) * 1.4826 + 1e-6
    out = np.clip((likeness - middle) / spread, -MOST_STANDING_OUT, MOST_STANDING_OUT)
    order = STANDING_OUT_COUNTS * out + _by_words(words)
    return np.hstack([out[:, None], _places(order), words])


def word_features(words: Numbers) -> Numbers:
    """Return the word features and the rank among the candidates."""
    return np.hstack([words, _places(_by_words(words))])


def _by_words(words: Numbers) -> Numbers:
    found: Numbers = WORDS_COUNT * (words[:, 1] + words[:, 2]) + NAMES_COUNT * words[:, 3]
    return found


def _places(order: Numbers) -> Numbers:
    """Return the gap to the first, the rank, the first's lead over the next, and that lead for the first only.

    Entries with the same value share a place. If there is no other entry, the next one is assumed as distant as an
    unrelated entry.
    """
    down = np.append(np.sort(order)[::-1], min(0.0, float(order.min())))
    before = (order[None] > order[:, None] + SAME_PLACE).sum(1)
    upto = (order[None] >= order[:, None] - SAME_PLACE).sum(1)
    lead = np.full(len(order), down[0] - down[upto[order.argmax()]])
    return np.column_stack([down[0] - order, np.minimum(np.log1p(before), 2.0), lead, lead * (before == 0)])


# Shared words; Chinese, Japanese and Korean are read as pairs of characters

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
RUN = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:[_./:@#+-]+[^\W_{CJK}]+)*")
JOINED = re.compile(r"[_./:@#+-]+")
# Identifiers: getUserProfile, snake_case, src/app.py, ops@example.
NAME = re.compile(r"[a-z][A-Z]|_|[^\W\d_][./:@#][^\W\d_]")
ENDINGS = ("ing", "ed", "es", "s")
SHORTEST_STEM = 4
LONGEST_READ = 4_000
# Smoothing: a single shared word says little in a text of few words.
AS_IF_MORE = 8.0
MOST_SHARED = 25.0
# A question of this few words names the entry it wants, if one of its words is this rare in the counted texts.
MOST_LOOKED_UP = 3
RARE = 10
BY_ITS_NAME = 0.5
# Words this rare, or rarer, in the counted texts have the maximum weight.
RAREST = 3


def words_of(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a text, and those that are names: with a digit, or joined like identifiers."""
    found, names = set[str](), set[str]()
    for run in RUN.findall(unicodedata.normalize("NFKC", text[:LONGEST_READ])):
        if re.match(f"[{CJK}]", run):
            found |= {run[place : place + 2] for place in range(max(1, len(run) - 1))}
            continue
        whole = run.casefold()
        if (len(whole) > 2 and any(sign.isdigit() for sign in whole)) or NAME.search(run):
            names.add(whole)
        found |= {whole, *map(_stem, JOINED.split(whole))}
    return frozenset(found), frozenset(names)


def is_looked_up(question: str, one: Candidate) -> bool:
    """Return True if the question is a few words, one of them rare, that the entry contains all. An exact rule."""
    asked, _ = words_of(question)
    counts: Mapping[str, int] = load(KIND)["counts"]
    if not 0 < len(asked) <= MOST_LOOKED_UP or min(counts.get(word, 0) for word in asked) > RARE:
        return False
    return asked <= words_of(f"{one.name}\n{one.text}")[0]


def lexical(question: str, candidates: Sequence[Candidate], counts: Mapping[str, int]) -> Numbers:
    """Return a row of features per candidate: weight of shared words, and their share of the question and of the name.

    Then the number of shared names, and whether both have names of which none is shared.
    """
    asked, names = words_of(question)
    all_asked = _weight(asked, counts)
    rows = []
    for one in candidates:
        words, called = words_of(f"{one.name}\n{one.text}")
        title, _ = words_of(one.name)
        shared, both = _weight(asked & words, counts), len(names & called)
        of_title = _weight(asked & title, counts) / (_weight(title, counts) + AS_IF_MORE)
        misses = bool(names) and bool(called) and not both
        rows.append(
            [min(shared, MOST_SHARED) / 10, shared / (all_asked + AS_IF_MORE), of_title, min(2, both), float(misses)]
        )
    return np.array(rows, float)


def _weight(words: Iterable[str], counts: Mapping[str, int]) -> float:
    # "" is the number of all texts. Words without a stored count are rare.
    return sum(log(counts[""] / max(RAREST, counts.get(word, RAREST))) for word in words)


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def _of_length_1(vectors: NDArray[np.float64]) -> Numbers:
    found: Numbers = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-12)
    return found
