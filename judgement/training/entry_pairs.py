"""Learns what two entries are to each other (see judgement/entry_pairs.py): one regression a relation."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgement.entry_pairs import NAME, Relation, Sides, Vectors, features, units
from judgement.linear import Linear, Numbers, fit, keep

type Embed = Callable[[Sequence[str], bool], NDArray[np.float64]]
FOLDS = 5
RIDGE = 10.0
SEED = 7
# Two rows of which any entries are nearer than this are about one thing, and stay in one fold.
SAME_THING = 0.7
RELATIONS = list(Relation)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _groups(left: Numbers, right: Numbers) -> NDArray[np.int_]:
    """Of each row the number of its group: rows are joined that share an entry or have nearly the same."""
    both = np.vstack([left, right])
    both = both / np.linalg.norm(both, axis=1, keepdims=True)
    group = np.arange(len(left))
    for at, near in enumerate(both @ both.T > SAME_THING):
        joined = np.unique(group[np.append(np.flatnonzero(near), at) % len(left)])
        group[np.isin(group, joined)] = joined[0]
    return group


def _learn(rows: Numbers, labels: NDArray[np.int_]) -> list[Linear]:
    return [fit(rows, (labels == number).astype(float), ridge=RIDGE) for number in range(len(RELATIONS))]


def _best(each: list[Linear], rows: Numbers) -> NDArray[np.int_]:
    best: NDArray[np.int_] = np.stack([one.log_odds(rows) for one in each], axis=1).argmax(1)
    return best


def train(
    embed: Embed, *, data: Path, labels: Path | None, judged: Path | None = None, write: bool
) -> dict[str, float]:
    """F1 of each relation and their mean, of rows whose group was left out; with `write` the weights are kept.

    `labels` and `judged` are folders with more rows of the same shape.
    """
    folders = [folder for folder in (data, labels, judged) if folder and (folder / f"{NAME}.jsonl").exists()]
    rows = [row for folder in folders for row in _rows(folder / f"{NAME}.jsonl")]
    pairs = [(Sides(**row["a"]), Sides(**row["b"])) for row in rows]
    texts = list(dict.fromkeys(side.whole for pair in pairs for side in pair))
    by_text = dict(zip(texts, embed(texts, False), strict=True))
    left, right = (np.array([by_text[pair[at].whole] for pair in pairs], float) for at in (0, 1))
    middle = np.vstack([left, right]).mean(0)
    words = list(dict.fromkeys(unit for pair in pairs for side in pair for unit in units(side)))
    by_word = dict(zip(words, embed(words, False), strict=True))
    words_middle = np.mean(list(by_word.values()), axis=0)
    found = np.array(
        [
            features(*pair, Vectors(list(one), list(other), by_word), middle, words_middle)
            for pair, one, other in zip(pairs, left, right, strict=True)
        ]
    )
    wanted = np.array([RELATIONS.index(Relation(row["label"])) for row in rows])
    group = _groups(left - middle, right - middle)
    shuffled = np.random.default_rng(SEED).permutation(np.unique(group))
    fold = np.array([int(np.flatnonzero(shuffled == one)[0]) % FOLDS for one in group])
    said = np.zeros(len(rows), int)
    for number in range(FOLDS):
        held = fold == number
        said[held] = _best(_learn(found[~held], wanted[~held]), found[held])
    figures = {"rows": float(len(rows)), "groups": float(len(shuffled))}
    for number, relation in enumerate(RELATIONS):
        right_ones = float(((said == number) & (wanted == number)).sum())
        figures[f"f1_{relation}"] = round(2 * right_ones / float((said == number).sum() + (wanted == number).sum()), 3)
    figures["f1_mean"] = round(float(np.mean([figures[f"f1_{one}"] for one in RELATIONS])), 3)
    print(figures)  # noqa: T201 - a command's output
    if write:
        each = _learn(found, wanted)
        weights, bias = np.array([one.weights for one in each]), np.array([one.bias for one in each])
        keep(NAME, weights=weights, bias=bias, middle=middle, words_middle=words_middle)
    return figures
