"""Train `does_not_know`: a small network on the embeddings of a text and its task."""

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgement.does_not_know import KIND, LONGEST_TASK, Embed, features, pieces_of
from judgement.linear import Numbers
from judgement.network import fit, keep_network
from judgement.training.rows import rows_of

FOLDS = 5
# The lower threshold, for calls known to have found nothing, is set to reach this recall.
SENSITIVE_RECALL = 0.97
# Thresholds within this distance of the best figure are equivalent; the median of them is used.
AS_GOOD = 0.003
# A text usually means the same for other tasks. Each row is therefore also trained with other tasks, at a lower weight.
# Without them the task alone would decide (whose number? nobody knows), and authors of requested reports would never
# count as lacking anything.
OTHER_TASKS = 2
OTHER_TASKS_COUNT = 0.15
# Rows that occur with several tasks each. They would be known from other folds, so they are not measured.
REPEATED = "plain_statement"
# Excluded: short texts, and texts that are valid for their task only. Examples are a translation, a line in a story,
# and "none" after "are there any?".
SHORTEST_WITH_OTHERS = 24
OF_ITS_TASK_ONLY = frozenset(
    {
        *("quote", "quote_other", "word_trap", "translation", "fiction", "poem", "code", "short", "self_report"),
        *("none_as_fact", "none_as_answer", "negative_fact", "missing_found", "knows_hard"),
    }
)


def train(
    embed: Embed, *, data: Path, labels: Path | None = None, judged: Path | None = None, write: bool = False
) -> dict[str, float]:
    """Return the figures of a cross-validation by task. With `write`, store the weights.

    `labels` and `judged` are folders with further rows. Rows without a usable label are ignored. Figures of `judged`
    rows are reported separately, as predicted when left out.
    """
    rows = _rows(data, labels)
    own = len(rows)
    rows += _rows(judged)
    wanted = np.array([row["label"] == KIND for row in rows], float)
    written = embed([pieces_of(row["text"])[0] for row in rows], True)
    asked = embed([row["task"][:LONGEST_TASK] for row in rows], True)
    folds = np.array([zlib.crc32(row["task"].encode()) % FOLDS for row in rows])
    texts, tasks = _with_other_tasks(rows, folds)
    inputs = features(written[texts], asked[tasks])
    counts = np.where(np.arange(len(texts)) < len(rows), 1.0, OTHER_TASKS_COUNT)
    odds = np.zeros(len(texts))
    for fold in range(FOLDS):
        inside = folds[texts] != fold
        odds[~inside] = fit(inputs[inside], wanted[texts[inside]], counts=counts[inside]).log_odds(inputs[~inside])
    measured = np.array([row.get("kind") != REPEATED for row in rows[:own]])
    plain, said = odds[:own][measured], wanted[:own][measured]
    threshold = best_threshold(plain, said)
    sensitive = min(threshold, float(np.quantile(plain[said > 0], 1 - SENSITIVE_RECALL)))
    if write:
        keep_network(KIND, fit(inputs, wanted[texts], counts=counts), threshold=threshold, sensitive=sensitive)
    figures = {
        "rows": float(own),
        "f1": f1(plain > threshold, said),
        "f1_with_other_tasks": f1(odds[len(rows) :] > threshold, wanted[texts[len(rows) :]]),
        "precision_when_sensitive": float(said[plain > sensitive].mean()),
        "threshold": threshold,
        "sensitive": sensitive,
    }
    if len(rows) > own:
        figures["f1_of_judged"] = f1(odds[own : len(rows)] > threshold, wanted[own:])
    return figures


def best_threshold(odds: Numbers, wanted: Numbers) -> float:
    """Return the median of the thresholds whose F1 is close to the best."""
    tried = np.unique(odds)
    reached = np.array([f1(odds > one, wanted) for one in tried])
    return round(float(np.median(tried[reached >= reached.max() - AS_GOOD])), 3)


def f1(said: NDArray[np.bool_], wanted: Numbers) -> float:
    """Return the F1 of predictions and labels."""
    both = float(said.sum() + wanted.sum())
    return 2 * float((said & (wanted > 0)).sum()) / both if both else 0.0


def _rows(*folders: Path | None) -> list[dict[str, Any]]:
    return [row for row in rows_of(KIND, *folders) if row["label"] in (KIND, "knows") and pieces_of(row["text"])]


def _with_other_tasks(rows: list[dict[str, Any]], folds: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return indexes of texts and of their tasks: first their own, then others of the same fold."""
    chance = np.random.default_rng(0)
    texts, tasks = list(range(len(rows))), list(range(len(rows)))
    for place, row in enumerate(rows):
        # A Chinese sentence has half as many bytes for its content.
        length = len(row["text"].encode()) if row["text"].isascii() else len(row["text"].encode()) // 2
        if length < SHORTEST_WITH_OTHERS or row.get("kind") in OF_ITS_TASK_ONLY:
            continue
        others = [
            other
            for other, one in enumerate(rows)
            if folds[other] == folds[place]
            and one["label"] != row["label"]
            and (one["lang"] == row["lang"] or other % 3 == 0)
            and (row["label"] != KIND or one.get("kind") not in OF_ITS_TASK_ONLY - {"short", "knows_hard"})
        ]
        chosen = chance.choice(others, min(OTHER_TASKS, len(others)), replace=False).tolist() if others else []
        texts += [place] * len(chosen)
        tasks += chosen
    return np.array(texts), np.array(tasks)
