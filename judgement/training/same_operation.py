"""Chooses how near `judgement.same_operation` asks two vectors to lie, and tells how well it does on rows left out.

A row is a root: texts of the `same` operation, and texts `apart` that look like them and are other ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from judgement.linear import Numbers, keep
from judgement.same_operation import CHINESE, NAME, near, says_the_same
from judgement.training.rows import folds_of, rows_of

# Every second root is never looked at while tables, rules and the threshold are chosen.
HALVES = 2
TRIED = np.arange(-0.2, 0.9, 0.01)
# Precision counts more than recall: F of a half.
BETA_SQUARED = 0.25


@dataclass(frozen=True)
class Pair:
    """Two texts, and whether they are one operation. `is_far`: of two roots, which nobody would mistake."""

    a: str
    b: str
    root: str
    is_same: bool
    is_far: bool = False


def train(
    embed: Callable[[Sequence[str], bool], NDArray[np.floating]],
    *,
    data: Path,
    labels: Path | None,
    judged: Path | None,
    write: bool,
) -> dict[str, float]:
    """The figures of the half left out, by language; `write` keeps the threshold that the other half chose."""
    pairs = _pairs(rows_of(NAME, data, labels, judged))
    texts = sorted({text for pair in pairs for text in (pair.a, pair.b)})
    vectors = dict(zip(texts, np.asarray(embed(texts, True), float), strict=True))
    alike = np.array([says_the_same(pair.a, pair.b) for pair in pairs])
    # How near is asked only of those that say the same.
    how_near = np.full(len(pairs), -1.0)
    for place in np.flatnonzero(alike):
        how_near[place] = near(vectors[pairs[place].a], vectors[pairs[place].b])
    chosen = np.array([crc32(pair.root.encode()) % HALVES == 0 for pair in pairs])
    fold = folds_of([pair.root for pair in pairs])
    # The strictest of those that five folds of six would choose.
    threshold = max(_best(pairs, how_near, chosen & (fold != left_out)) for left_out in sorted(set(fold.tolist())))
    said = how_near > threshold
    chinese = np.array([sum(bool(CHINESE.search(text)) for text in (pair.a, pair.b)) for pair in pairs])
    figures = {"threshold": threshold} | {f"chosen_{name}": n for name, n in _told(pairs, said, chosen).items()}
    figures |= _told(pairs, said, ~chosen)
    for name, count in (("english", 0), ("across", 1), ("chinese", 2)):
        figures |= {f"{name}_{of}": n for of, n in _told(pairs, said, ~chosen & (chinese == count)).items()}
    if write:
        keep(NAME, threshold=round(threshold, 3))
    return figures


def _best(pairs: Sequence[Pair], how_near: Numbers, among: NDArray[np.bool_]) -> float:
    """The middle of all thresholds that are as good as the best: that one alone is chance."""
    same = np.array([pair.is_same for pair in pairs])
    scores = []
    for at in TRIED:
        said = (how_near > at) & among
        true = int((said & same).sum())
        weighed = (1 + BETA_SQUARED) * true / max(1.0, said.sum() + BETA_SQUARED * (same & among).sum())
        scores.append(weighed)
    best = np.array(scores)
    return float(TRIED[best >= best.max() - 0.002].mean())


def _told(pairs: Sequence[Pair], said: NDArray[np.bool_], among: NDArray[np.bool_]) -> dict[str, float]:
    same = np.array([pair.is_same for pair in pairs])
    far = np.array([pair.is_far for pair in pairs])
    asked, true = among & ~far, int((said & among & same).sum())
    figures = {
        "pairs": float(asked.sum()),
        "precision": true / max(1, int((said & asked).sum())),
        "recall": true / max(1, int((same & asked).sum())),
        "f1": 2 * true / max(1, int((said & asked).sum()) + int((same & asked).sum())),
    }
    return figures | {"falsely_said_far": float((said & among & far).sum())}


def _pairs(rows: Sequence[dict[str, list[str]]]) -> list[Pair]:
    found: list[Pair] = []
    for row in rows:
        root, same = str(row["root"]), row["same"]
        found += [Pair(a, b, root, is_same=True) for a, b in combinations(same, 2)]
        found += [Pair(a, b, root, is_same=False) for a in same for b in row["apart"]]
    for one, other in combinations(rows, 2):
        roots = str(one["root"]), str(other["root"])
        if len({crc32(root.encode()) % HALVES for root in roots}) == 1:
            found += [Pair(a, b, roots[0], is_same=False, is_far=True) for a in one["same"] for b in other["same"]]
    return found
