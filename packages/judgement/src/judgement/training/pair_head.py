"""Train the last step of comparing two entries (see judgement/entry_pairs.py) with jax: the same step, batched."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from judgement.encoder import Floats, as_floats

ROUNDS = 4
AT_ONCE = 32
FASTEST, SLOWEST = 1.5e-3, 3e-5
WARM_UP = 60
DECAY = 0.01
STEEPEST = 1.0
LEFT_OUT = 0.2
# Label smoothing: annotators are not certain either.
SMOOTH = 0.05
DIFFERENCES, INNER = 128, 96
# Batches are padded to one of these lengths; jax compiles once per length.
LENGTHS = (16, 24, 32, 48, 64)
FAR = -1e9

type Pairs = Sequence[tuple[Floats, Floats]]


def begin(*, wide: int, answers: int, chance: np.random.Generator) -> dict[str, Floats]:
    """Return the initial weights."""

    def drawn(come: int, go: int) -> Floats:
        return as_floats(chance.normal(size=(come, go)) / come**0.5)

    return {
        "align": np.eye(wide, dtype=np.float32),
        "sharpness": np.array(10, np.float32),
        "differ": drawn(4 * wide, DIFFERENCES),
        "differ_bias": np.zeros(DIFFERENCES, np.float32),
        "inner": drawn(4 * DIFFERENCES + 2 * wide, INNER),
        "inner_bias": np.zeros(INNER, np.float32),
        "outer": drawn(INNER, answers) * np.float32(0.1),
        "outer_bias": np.zeros(answers, np.float32),
    }


def learn(pairs: Pairs, labels: NDArray[np.int_], *, answers: int, seed: int) -> dict[str, Floats]:
    """Train on the pairs (states of both entries) and their labels, and return the weights. Seeded."""
    chance = np.random.default_rng(seed)
    learned: Any = begin(wide=pairs[0][0].shape[1], answers=answers, chance=chance)
    moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in learned.items()}
    batches = [batch for _ in range(ROUNDS) for batch in _batches(pairs, chance)]
    move, key = jax.jit(_move), jax.random.key(seed)
    for step, (length, rows) in enumerate(batches, 1):
        falls = (1 + np.cos(np.pi * step / len(batches))) / 2
        speed = max(SLOWEST, FASTEST * min(1.0, step / WARM_UP) * falls)
        batch = (*_filled(pairs, rows, length), labels[rows], jax.random.fold_in(key, step))
        learned, moments = move(learned, moments, batch, (step, speed))
    return {name: np.asarray(value) for name, value in learned.items()}


def _batches(pairs: Pairs, chance: np.random.Generator) -> list[tuple[int, NDArray[np.int_]]]:
    """Return all rows in random order as full batches, each of one length."""
    longest = [max(len(one), len(other)) for one, other in pairs]
    length = np.array(LENGTHS)[np.searchsorted(LENGTHS, longest)]
    found = []
    for one in LENGTHS:
        rows = chance.permutation(np.flatnonzero(length == one))
        found += [(one, np.resize(rows[at : at + AT_ONCE], AT_ONCE)) for at in range(0, len(rows), AT_ONCE)]
    return [found[at] for at in chance.permutation(len(found))]


def _filled(pairs: Pairs, rows: NDArray[np.int_], length: int) -> tuple[Floats, NDArray[np.bool_]]:
    states = np.zeros((len(rows), 2, length, pairs[0][0].shape[1]), np.float32)
    seen = np.zeros(states.shape[:3], bool)
    for place, row in enumerate(rows):
        for side, tokens in enumerate(pairs[row]):
            states[place, side, : len(tokens)] = tokens
            seen[place, side, : len(tokens)] = True
    return states, seen


def _move(learned: Any, moments: Any, batch: Any, pace: Any) -> Any:
    """Perform one step of Adam with decoupled weight decay and gradient clipping."""
    step, speed = pace
    slopes = jax.grad(_loss)(learned, batch)
    steep = jnp.sqrt(sum(jnp.sum(one**2) for one in slopes.values()))
    kept, moved = {}, {}
    for name, value in learned.items():
        slope = slopes[name] * jnp.minimum(1.0, STEEPEST / steep)
        first, second = 0.9 * moments[name][0] + 0.1 * slope, 0.999 * moments[name][1] + 0.001 * slope**2
        towards = first / (1 - 0.9**step) / (jnp.sqrt(second / (1 - 0.999**step)) + 1e-8)
        kept[name], moved[name] = (first, second), value - speed * (towards + DECAY * value)
    return moved, kept


def _loss(learned: Any, batch: Any) -> Any:
    states, seen, labels, key = batch
    said = jax.nn.log_softmax(_compared(states, seen, learned, key))
    wanted = jax.nn.one_hot(labels, said.shape[-1]) * (1 - SMOOTH) + SMOOTH / said.shape[-1]
    return -(wanted * said).sum(-1).mean()


def _compared(states: Any, seen: Any, head: Mapping[str, Any], key: Any) -> Any:
    """Return the same as `compared` for states (b, 2, n, d) with the mask `seen`, with dropout of features."""
    left, right, mine, theirs = states[:, 0], states[:, 1], seen[:, 0], seen[:, 1]
    keys = jax.random.split(key)
    aligned, aligned_too = _directions(left @ head["align"]), _directions(right @ head["align"])
    likeness = head["sharpness"] * jnp.einsum("bsd,btd->bst", aligned, aligned_too)
    differences = partial(_differences, head=head, key=keys[0])
    one = differences(left, right, likeness, mine, theirs)
    other = differences(right, left, likeness.transpose(0, 2, 1), theirs, mine)
    middle, middle_too = _middle(left, mine), _middle(right, theirs)
    directions = _directions(middle) * _directions(middle_too) * 20
    features = jnp.concatenate([one + other, jnp.abs(one - other), jnp.abs(middle - middle_too), directions], -1)
    hidden = jnp.tanh(_some_out(features, keys[1]) @ head["inner"] + head["inner_bias"])
    return hidden @ head["outer"] + head["outer_bias"]


def _differences(
    tokens: Any, others: Any, likeness: Any, mine: Any, theirs: Any, *, head: Mapping[str, Any], key: Any
) -> Any:
    likest = jax.nn.softmax(jnp.where(theirs[:, None], likeness, FAR)) @ others
    both = jnp.concatenate([tokens, likest, tokens - likest, tokens * likest], -1)
    found = jnp.tanh(_some_out(both, key) @ head["differ"] + head["differ_bias"])
    return jnp.concatenate([_middle(found, mine), jnp.where(mine[..., None], found, -1).max(1)], -1)


def _middle(states: Any, seen: Any) -> Any:
    return (states * seen[..., None]).sum(1) / seen.sum(1, keepdims=True)


def _directions(vectors: Any) -> Any:
    return vectors * jax.lax.rsqrt((vectors * vectors).sum(-1, keepdims=True) + 1e-6)


def _some_out(given: Any, key: Any) -> Any:
    return jnp.where(jax.random.bernoulli(key, 1 - LEFT_OUT, given.shape), given / (1 - LEFT_OUT), 0)
