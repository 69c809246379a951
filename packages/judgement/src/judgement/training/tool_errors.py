"""Train the remedies of failed calls. Rows: tool, params, tools, error, status, types, actions (acceptable ones)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from judgement.linear import Linear, Numbers, fit, keep
from judgement.tool_errors import REMEDIES, TYPES, Failure, features
from judgement.training.rows import folds_of, rows_of

RIDGE = 150.0
# Minimum matches for a rule to get its own weight, and share of right matches for it to be exact.
FEWEST_OF_A_RULE, EXACT_FROM = 4, 0.9
# Accepted share of wrong answers without a model, among all failures. Part of the product's limit of 15 % is a reserve.
MOST_WRONG = 0.12
# The types of the rows are finer than ours.
OURS = {
    "parameter_error": ("parameter_error",),
    "data_error": ("parameter_error",),
    "resource_error": ("parameter_error", "external_service_error"),
    "permission_error": ("permission_denied",),
    "permission_denied": ("permission_denied",),
    "quota": ("permission_denied", "external_service_error"),
    "quota_or_cost": ("permission_denied", "external_service_error"),
    "wrong_tool": ("wrong_tool",),
}
EXTERNAL = ("external_service_error",)
type Embed = Callable[[Sequence[str], bool], Numbers]
type AsFailure = Callable[[dict[str, Any]], Failure]


@dataclass(frozen=True)
class Rows:
    """Training data: facts, vectors, and the acceptable remedies (n, 5) and types (n, 3)."""

    failures: list[Failure]
    vectors: Numbers
    remedies: Numbers
    types: Numbers


def our_remedies(row: dict[str, Any]) -> set[str]:
    """Return the acceptable remedies under our names."""
    return {"skip" if one == "give_up_alternative" else one for one in row["actions"]}


def our_types(row: dict[str, Any]) -> set[str]:
    """Return the acceptable types under our names; all types if the row's own is unknown."""
    found = {ours for one in row["types"] for ours in OURS.get(one, EXTERNAL if one != "unknown" else TYPES)}
    return found or set(TYPES)


def train(
    embed: Embed,
    *,
    data: Path,
    labels: Path | None,
    judged: Path | None,
    write: bool,
    as_failure: AsFailure,
) -> dict[str, float]:
    """Return the figures of a cross-validation by tool. With `write`, store the weights.

    `as_failure` extracts the facts of a row in the same way as for a real call.
    """
    read = rows_of("tool_errors", data, labels, judged)
    failures = [as_failure(row) for row in read]
    rows = Rows(
        failures,
        embed([failure.text for failure in failures], True),
        np.array([[name in our_remedies(row) for name in REMEDIES] for row in read], float),
        np.array([[name in our_types(row) for name in TYPES] for row in read], float),
    )
    at = folds_of([row["tool"] for row in read])
    sure = np.zeros(rows.remedies.shape)
    for fold in range(at.max() + 1):
        rules = _rules(rows, at != fold)
        table = features(failures, rows.vectors, rules)
        for place in range(len(REMEDIES)):
            learned = fit(table[at != fold], rows.remedies[at != fold, place], ridge=RIDGE)
            sure[at == fold, place] = 1 / (1 + np.exp(-learned.log_odds(table[at == fold])))
    sure[[not failure.others for failure in failures], REMEDIES.index("switch_tool")] = 0
    threshold, figures = _threshold(sure, rows.remedies)
    if write:
        rules = _rules(rows, np.ones(len(read), bool))
        table = features(failures, rows.vectors, rules)
        learned_all = {
            name: fit(table, column, ridge=RIDGE)
            for name, column in zip((*REMEDIES, *TYPES), np.hstack([rows.remedies, rows.types]).T, strict=True)
        }
        _write(learned_all, rules=rules, exact=_exact(rows), threshold=threshold)
    return figures | {"rows": float(len(read))}


def _rules(rows: Rows, among: Numbers) -> list[str]:
    fitted = Counter(failure.rule for failure, is_among in zip(rows.failures, among, strict=True) if is_among)
    return sorted(name for name, many in fitted.items() if name and many >= FEWEST_OF_A_RULE)


def _exact(rows: Rows) -> list[str]:
    right, fitted = Counter[str](), Counter[str]()
    for failure, acceptable in zip(rows.failures, rows.remedies, strict=True):
        if failure.rule:
            fitted[failure.rule] += 1
            right[failure.rule] += int(acceptable[REMEDIES.index(failure.ruled)])
    return sorted(
        name for name, many in fitted.items() if many >= FEWEST_OF_A_RULE and right[name] / many >= EXACT_FROM
    )


def _threshold(sure: Numbers, acceptable: Numbers) -> tuple[float, dict[str, float]]:
    """Return the probability from which few enough answers are wrong, and the resulting figures."""
    picked, is_right = sure.max(1), acceptable[np.arange(len(sure)), sure.argmax(1)] > 0
    surest = np.argsort(-picked)
    wrong = np.cumsum(~is_right[surest]) / len(sure)
    last = int(np.flatnonzero(wrong <= MOST_WRONG).max())
    right = float(is_right[surest][: last + 1].sum()) / len(sure)
    figures = {"right": right, "wrong": float(wrong[last]), "right_if_all_are_answered": float(is_right.mean())}
    return float(picked[surest][last]), figures


def _write(learned: dict[str, Linear], *, rules: list[str], exact: list[str], threshold: float) -> None:
    keep(
        "tool_errors",
        rules=" ".join(rules),
        exact_rules=" ".join(exact),
        threshold=round(threshold, 3),
        bias={name: round(one.bias, 4) for name, one in learned.items()},
        **{name: one.weights for name, one in learned.items()},
    )
