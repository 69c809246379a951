"""Train `judgement.same_mistake`: first the map, then the regression on pairs that the map has not seen.

Rows are pairs (`root`, `a`, `b`, `label`) or roots (`root`, `texts`, `near`, `contrast`). `near` lists similar roots. A
`contrast` text looks like the text at index `of` and has another root.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import md5
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgement.linear import MODEL, WEIGHTS, Numbers, fit, keep
from judgement.same_mistake import DIRECTIONS, LONGEST, NAME, Map, features, nearness, shipped, the_map, wording
from judgement.training.rows import rows_of

FOLDS = 5
RIDGE = 5.0
# Shrinkage of the within-root scatter in every direction, because there are few texts for so many dimensions.
SHRINKAGE = 3.0
# Weight of differences between look-alike pairs among the directions that the map should separate.
LOOKALIKES_COUNT = 0.3
RANDOM_PAIRS = 1_500
# Weight of a pair by source: paraphrases of one root are numerous and are not real reports.
COUNTS = {"pair": 1.0, "contrast": 1.0, "paraphrase": 0.1, "near": 0.1, "random": 0.3}


@dataclass(frozen=True)
class Pair:
    """Two texts that are the same mistake or not, and the source of the pair."""

    a: str
    b: str
    is_same: bool
    root: str
    source: str = "pair"


def train(
    embed: Callable[[Sequence[str], bool], NDArray[np.floating]],
    *,
    data: Path,
    labels: Path | None,
    judged: Path | None,
    write: bool,
) -> dict[str, float]:
    """Return the figures over pairs whose root was left out. With `write`, store the weights learned from all pairs."""
    rows = rows_of(NAME, data, labels, judged)
    pairs, roots = _pairs(rows), _texts_by_root(rows)
    texts = sorted({text for pair in pairs for text in (pair.a, pair.b)} | {one for of in roots.values() for one in of})
    vectors = dict(zip(texts, np.asarray(embed(texts, True), float), strict=True))
    fold = np.array([_fold(pair.root) for pair in pairs])
    same = np.array([pair.is_same for pair in pairs])
    counts = np.array([COUNTS[pair.source] for pair in pairs])
    words = np.array([wording(pair.a, pair.b) for pair in pairs])
    near = np.zeros((len(pairs), len(DIRECTIONS) + 1))
    for left_out in range(FOLDS):
        seen = learn_map({root: of for root, of in roots.items() if _fold(root) != left_out}, pairs, vectors, left_out)
        near[fold == left_out] = nearness(*_sides(pairs, vectors, fold == left_out), seen)
    read = features(near, words)
    odds = np.zeros(len(pairs))
    for left_out in range(FOLDS):
        others = fold != left_out
        learned = fit(read[others], same[others].astype(float), ridge=RIDGE, counts=counts[others])
        odds[~others] = learned.log_odds(read[~others])
    is_pair = np.array([pair.source == "pair" for pair in pairs])
    # The mean of all thresholds close to the best one, which alone would depend on chance.
    tried = np.arange(-1.5, 1.0, 0.05)
    scores = np.array([_f1(odds[is_pair] > at, same[is_pair]) for at in tried])
    threshold = tried[scores >= scores.max() - 0.005].mean()
    figures = {
        "f1": _f1(odds[is_pair] > threshold, same[is_pair]),
        "auc": _auc(odds[is_pair], same[is_pair]),
        "threshold": float(threshold),
    }
    for source in COUNTS:
        of = np.array([pair.source == source for pair in pairs])
        for what, where in (("said", of & same), ("falsely_said", of & ~same)):
            if where.any():
                figures[f"{what}_{source}"] = float((odds[where] > threshold).mean())
    figures = {name: round(value, 3) for name, value in figures.items()}
    if write:
        whole = learn_map(roots, pairs, vectors)
        learned = fit(read, same.astype(float), ridge=RIDGE, counts=counts)
        half = {"middle": whole.middle.astype(np.float16), "directions": whole.directions.astype(np.float16)}
        np.savez_compressed(WEIGHTS / f"{NAME}.npz", **half)  # type: ignore[arg-type]
        keep(NAME, model=MODEL, weights=learned.weights, bias=learned.bias, threshold=figures["threshold"])
        the_map.cache_clear()
        shipped.cache_clear()
    return figures


def learn_map(
    roots: dict[str, list[str]], pairs: Sequence[Pair], vectors: dict[str, Numbers], left_out: int | None = None
) -> Map:
    """Return the directions that separate roots most and texts of one root least: a discriminant analysis.

    Only pairs outside of the fold `left_out` are used.
    """
    known = [pair for pair in pairs if _fold(pair.root) != left_out and pair.source in {"pair", "contrast"}]
    texts = np.array([vectors[text] for of in roots.values() for text in of])
    of_root = np.repeat(np.arange(len(roots)), [len(of) for of in roots.values()])
    middle = texts.mean(0)
    texts = texts - middle
    sizes = np.bincount(of_root)
    middles = np.zeros((len(roots), texts.shape[1]))
    np.add.at(middles, of_root, texts)
    middles /= sizes[:, None]
    inside = texts - middles[of_root]
    within = inside.T @ inside / (len(texts) - len(roots))
    apart, alike = (_scatter(known, vectors, is_same=is_same) for is_same in (False, True))
    kept_small = (within + alike) / 2
    kept_small += SHRINKAGE * np.trace(kept_small) / len(kept_small) * np.eye(len(kept_small))
    sizes_of, axes = np.linalg.eigh(kept_small)
    whiten = axes / np.sqrt(sizes_of)
    # Means of few texts also differ by chance.
    by_chance = (within + alike) / 2 * len(roots) / len(texts)
    between = (middles * sizes[:, None]).T @ middles / len(texts) - by_chance + LOOKALIKES_COUNT * apart
    gains, found = np.linalg.eigh(whiten.T @ between @ whiten)
    gains, found = np.clip(gains[::-1], 0, None)[: max(DIRECTIONS)], found[:, ::-1][:, : max(DIRECTIONS)]
    return Map(middle, (whiten @ found) * np.sqrt(gains / (1 + gains)))


def _scatter(pairs: Sequence[Pair], vectors: dict[str, Numbers], *, is_same: bool) -> Numbers:
    between = np.array([vectors[pair.a] - vectors[pair.b] for pair in pairs if pair.is_same is is_same])
    scatter: Numbers = between.T @ between / len(between) / 2
    return scatter


def _pairs(rows: Sequence[dict[str, object]]) -> list[Pair]:
    found: list[Pair] = []
    draw = np.random.default_rng(7)
    texts_of = {str(row["root"]): [text[:LONGEST] for text in row["texts"]] for row in rows if "texts" in row}  # type: ignore[attr-defined]
    for row in rows:
        if "texts" not in row:
            a, b = str(row["a"])[:LONGEST], str(row["b"])[:LONGEST]
            found.append(Pair(a, b, row["label"] == "same", str(row.get("root") or a)))
            continue
        root = str(row["root"])
        texts = texts_of[root]
        found += [Pair(a, b, is_same=True, root=root, source="paraphrase") for a, b in combinations(texts, 2)]
        for other in row["contrast"]:  # type: ignore[attr-defined]
            found.append(Pair(other["text"], texts[other["of"]], is_same=False, root=root, source="contrast"))
        near = [texts_of[name] for name in row["near"] if name in texts_of]  # type: ignore[attr-defined]
        found += [Pair(a, str(draw.choice(of)), is_same=False, root=root, source="near") for of in near for a in texts]
    every = sorted({(pair.a, pair.root) for pair in found})
    places = draw.integers(0, len(every), (RANDOM_PAIRS, 2))
    chance = [(every[one], every[other]) for one, other in places.tolist()]
    return found + [Pair(a, b, is_same=False, root=of, source="random") for (a, of), (b, its) in chance if of != its]


def _texts_by_root(rows: Sequence[dict[str, object]]) -> dict[str, list[str]]:
    found = defaultdict[str, set[str]](set)
    for row in rows:
        if "texts" in row:
            found[str(row["root"])] |= set(row["texts"])  # type: ignore[call-overload]
            for other in row["contrast"]:  # type: ignore[attr-defined]
                found[str(other["root"])].add(other["text"])
        else:
            of = found[str(row.get("root") or row["a"])]
            of |= {str(row["a"]), str(row["b"])} if row["label"] == "same" else {str(row["a"])}
    return {root: sorted({text[:LONGEST] for text in found[root]}) for root in sorted(found)}


def _sides(pairs: Sequence[Pair], vectors: dict[str, Numbers], where: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    chosen = [pair for pair, is_chosen in zip(pairs, where, strict=True) if is_chosen]
    return np.array([vectors[pair.a] for pair in chosen]), np.array([vectors[pair.b] for pair in chosen])


def _fold(root: str) -> int:
    return int(md5(root.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def _f1(said: NDArray[np.bool_], same: NDArray[np.bool_]) -> float:
    return 2 * int((said & same).sum()) / max(1, int(said.sum()) + int(same.sum()))


def _auc(odds: Numbers, same: NDArray[np.bool_]) -> float:
    order = np.argsort(np.argsort(odds))
    many = int(same.sum())
    return (int(order[same].sum()) - many * (many - 1) / 2) / many / int((~same).sum())
