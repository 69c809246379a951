"""Train the classifier of entry relations (see judgement/entry_pairs.py)."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgement.encoder import Floats
from judgement.entry_pairs import NAME, Relation, Sides, compared, states_of
from judgement.linear import WEIGHTS
from judgement.training.rows import rows_of

type Embed = Callable[[Sequence[str], bool], NDArray[np.float64]]
FOLDS = 5
SEED = 7
# Entries with a higher cosine concern one subject, and stay in one fold with everything they are compared with.
SAME_THING = 0.7
# Kind of a pair drawn from two families; it does not join them.
STRANGERS = "other family"
RELATIONS = list(Relation)
NO_JAX = "is trained with jax, which is not installed: uv sync --group train."


def _groups(rows: Sequence[dict[str, Any]], sides: NDArray[np.int_], vectors: Floats) -> NDArray[np.int_]:
    """Return each row's group number. Rows that share an entry, or have nearly equal ones, are joined."""
    group = np.arange(len(vectors))

    def join(entries: NDArray[np.int_]) -> None:
        joined = np.unique(group[entries])
        group[np.isin(group, joined)] = joined[0]

    for row, pair in zip(rows, sides, strict=True):
        if row.get("kind") != STRANGERS:
            join(pair)
    for number, vector in enumerate(vectors):
        join(np.append(np.flatnonzero(vectors @ vector > SAME_THING), number))
    found: NDArray[np.int_] = group[sides[:, 0]]
    return found


def train(
    embed: Embed, *, data: Path, labels: Path | None, judged: Path | None = None, model: Path, write: bool
) -> dict[str, float]:
    """Return the F1 of each relation and their mean, for rows whose group was left out. With `write`, store the
    weights.

    `labels` and `judged` are folders with more rows of the same form; `model` is the file of the wheel's model. Raise
    ValueError without jax.
    """
    if importlib.util.find_spec("jax") is None:
        raise ValueError(NO_JAX)
    from judgement.training.pair_head import learn

    rows = rows_of(NAME, data, labels, judged)
    texts = [[Sides(**row[side]).whole for side in ("a", "b")] for row in rows]
    each = list(dict.fromkeys(text for pair in texts for text in pair))
    place = {text: number for number, text in enumerate(each)}
    sides = np.array([[place[text] for text in pair] for pair in texts])
    vectors = np.asarray(embed(each, False), np.float32)
    middle = vectors.mean(0)
    apart = vectors - middle
    group = _groups(rows, sides, apart / np.linalg.norm(apart, axis=1, keepdims=True))
    states = [states_of(text, model=model) for text in each]
    pairs = [(states[one], states[other]) for one, other in sides]
    wanted = np.array([RELATIONS.index(Relation(row["label"])) for row in rows])

    def learned_of(chosen: NDArray[np.int_]) -> dict[str, Floats]:
        return learn([pairs[row] for row in chosen], wanted[chosen], answers=len(RELATIONS), seed=SEED)

    shuffled = np.random.default_rng(SEED).permutation(np.unique(group))
    fold = np.argsort(shuffled)[np.searchsorted(np.unique(group), group)] % FOLDS
    said = np.zeros(len(rows), int)
    for number in range(FOLDS):
        learned = learned_of(np.flatnonzero(fold != number))
        for row in np.flatnonzero(fold == number):
            said[row] = int(np.argmax(compared(*pairs[row], learned)))
    figures = {"rows": float(len(rows)), "groups": float(len(shuffled))}
    for number, relation in enumerate(RELATIONS):
        right_ones = float(((said == number) & (wanted == number)).sum())
        figures[f"f1_{relation}"] = round(2 * right_ones / float((said == number).sum() + (wanted == number).sum()), 3)
    figures["f1_mean"] = round(float(np.mean([figures[f"f1_{one}"] for one in RELATIONS])), 3)
    print(figures)  # noqa: T201 - a command's output
    if write:
        keep(learned_of(np.arange(len(rows))), middle)
    return figures


def keep(learned: dict[str, Floats], middle: Floats) -> None:
    """Store the learned weights in half precision; more changes no figure."""
    halves: dict[str, Any] = {name: value.astype(np.float16) for name, value in {**learned, "middle": middle}.items()}
    np.savez_compressed(WEIGHTS / f"{NAME}.npz", **halves)
