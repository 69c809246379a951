"""A small network with one hidden layer, for classifications that depend on how two texts relate."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgement.linear import WEIGHTS, Numbers

Floats = NDArray[np.float32]
HIDDEN = 32
# Number of members, each trained from another seed and averaged, because a single one depends on chance.
MEMBERS = 3
ROUNDS = 25
AT_ONCE = 64
FASTEST = 2e-3
# Strength of weight decay, and share of numbers dropped at random during training.
DECAY = 0.1
LEFT_OUT = 0.4


@dataclass(frozen=True)
class Network:
    """Weights per member: `inner` (m, d, h), `inner_bias` (m, h), `outer` (m, h), `outer_bias` (m,)."""

    inner: Floats
    inner_bias: Floats
    outer: Floats
    outer_bias: Floats

    def log_odds(self, features: Numbers) -> Numbers:
        """Return the log odds of each row of features (n, d). Shape (n,)."""
        said = [
            np.maximum(features @ inner + inner_bias, 0) @ outer + outer_bias
            for inner, inner_bias, outer, outer_bias in zip(
                self.inner, self.inner_bias, self.outer, self.outer_bias, strict=True
            )
        ]
        odds: Numbers = np.mean(said, axis=0)
        return odds


def fit(features: Numbers, labels: Numbers, *, counts: Numbers | None = None) -> Network:
    """Train the network for labels (0 or 1); `counts` are the weights of the rows. Seeded."""
    middle, spread = features.mean(0), features.std(0) + 1e-6
    inputs = ((features - middle) / spread).astype(np.float32)
    many = np.ones(len(labels), np.float32) if counts is None else counts.astype(np.float32)
    members = [_member(inputs, labels.astype(np.float32), many, seed=seed) for seed in range(MEMBERS)]
    # Standardization is folded into the weights, so callers need not apply it.
    inner = np.stack([member[0] / spread[:, None] for member in members])
    biases = [member[1] - (middle / spread) @ member[0] for member in members]
    return Network(
        inner.astype(np.float32),
        np.stack(biases).astype(np.float32),
        np.stack([member[2] for member in members]),
        np.stack([member[3] for member in members]).reshape(MEMBERS),
    )


def _member(inputs: Floats, labels: Floats, many: Floats, *, seed: int) -> list[Floats]:
    """Train one network by Adam with decoupled weight decay and a cosine learning-rate schedule down to 0."""
    chance = np.random.default_rng(seed)
    width = inputs.shape[1]
    shapes = ((width, HIDDEN), (HIDDEN,), (HIDDEN,), (1,))
    scales = (width**-0.5, 0.0, HIDDEN**-0.5, 0.0)
    learned = [
        (chance.normal(size=shape) * scale).astype(np.float32) for shape, scale in zip(shapes, scales, strict=True)
    ]
    first, second = [np.zeros_like(one) for one in learned], [np.zeros_like(one) for one in learned]
    step = 0
    for turn in range(ROUNDS):
        speed = FASTEST * (1 + np.cos(np.pi * turn / ROUNDS)) / 2
        for rows in np.split(order := chance.permutation(len(labels)), range(AT_ONCE, len(order), AT_ONCE)):
            step += 1
            slopes = _slopes(learned, inputs[rows], labels[rows], many[rows], chance=chance)
            for place, slope in enumerate(slopes):
                first[place] = 0.9 * first[place] + 0.1 * slope
                second[place] = 0.999 * second[place] + 0.001 * slope**2
                move = first[place] / (1 - 0.9**step) / (np.sqrt(second[place] / (1 - 0.999**step)) + 1e-8)
                drawn = DECAY * learned[place] if place in (0, 2) else 0.0
                learned[place] = (learned[place] - speed * (move + drawn)).astype(np.float32)
    return learned


def _slopes(
    learned: list[Floats], inputs: Floats, labels: Floats, many: Floats, *, chance: np.random.Generator
) -> tuple[Floats, ...]:
    inner, inner_bias, outer, outer_bias = learned
    seen = inputs * _kept(inputs.shape, chance)
    hidden = np.maximum(seen @ inner + inner_bias, 0)
    kept = _kept(hidden.shape, chance)
    odds = (hidden * kept) @ outer + outer_bias
    off = (1 / (1 + np.exp(-np.clip(odds, -30, 30))) - labels) * many / len(labels)
    back = off[:, None] * outer * kept * (hidden > 0)
    return seen.T @ back, back.sum(0), (hidden * kept).T @ off, off.sum(keepdims=True)


def _kept(shape: tuple[int, ...], chance: np.random.Generator) -> Floats:
    return ((chance.random(shape) > LEFT_OUT) / (1 - LEFT_OUT)).astype(np.float32)


def keep_network(name: str, network: Network, **values: float) -> None:
    """Store the network and numbers under this name in half precision; more changes no figure."""
    parts = {key: value.astype(np.float16) for key, value in vars(network).items()}
    numbers = {key: np.array(one, np.float32) for key, one in values.items()}
    kept: dict[str, Any] = {**parts, **numbers}
    np.savez_compressed(WEIGHTS / f"{name}.npz", **kept)
    load_network.cache_clear()


@cache
def load_network(name: str) -> tuple[Network, dict[str, float]]:
    """Return the network stored under this name, and the numbers stored with it."""
    with np.load(WEIGHTS / f"{name}.npz") as kept:
        parts = {key: kept[key].astype(np.float32) for key in Network.__dataclass_fields__}
        values = {key: float(kept[key]) for key in kept.files if key not in parts}
    return Network(**parts), values
