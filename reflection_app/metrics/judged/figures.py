"""What measuring comes to: figures, the same by language, and the rows that were wrong."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measure:
    """The figures of one set, each a share from 0 to 1 or a count, and whole rows with what was made of them."""

    figures: dict[str, float | int]
    by_language: dict[str, dict[str, float | int]] = field(default_factory=dict)
    wrong: tuple[dict[str, Any], ...] = ()


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines in the folder. Raises FileNotFoundError."""
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def share(of: Sequence[bool | float]) -> float:
    """Their mean; 0 of none."""
    return round(sum(of) / len(of), 3) if of else 0.0


def precision_recall_f1(pairs: Iterable[tuple[bool, bool]]) -> dict[str, float | int]:
    """Of pairs (should be, was said to be)."""
    read = list(pairs)
    right = sum(1 for should, said in read if should and said)
    said, should = sum(1 for _, was in read if was), sum(1 for one, _ in read if one)
    return {
        "precision": round(right / said, 3) if said else 0.0,
        "recall": round(right / should, 3) if should else 0.0,
        "f1": round(2 * right / (said + should), 3) if said + should else 0.0,
        "rows": len(read),
    }


def measured[T](
    rows: Sequence[dict[str, Any]],
    pairs: Sequence[tuple[T, T]],
    figures: Callable[[Sequence[tuple[T, T]]], dict[str, float | int]],
    *,
    words: Callable[[T], Any] = lambda said: said,
) -> Measure:
    """The figures of pairs (should be, was said to be), a pair for each row; `words` is how a wrong one is written."""
    return Measure(
        figures=figures(pairs),
        by_language={language: figures(some) for language, some in by_language(rows, pairs).items()},
        wrong=tuple(
            row | {"said": words(said)} for row, (should, said) in zip(rows, pairs, strict=True) if should != said
        ),
    )


def by_language[T](rows: Sequence[dict[str, Any]], values: Sequence[T]) -> dict[str, list[T]]:
    """The values by their rows' language."""
    found = defaultdict[str, list[T]](list)
    for row, value in zip(rows, values, strict=True):
        found[str(row.get("lang", ""))].append(value)
    return dict(sorted(found.items()))
