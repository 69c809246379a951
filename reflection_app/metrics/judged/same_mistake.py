"""The same mistake again: pairs of mistakes that people judged, `same` or `different`."""

from pathlib import Path

from reflection_app.loops.protocol.similarity import is_same
from reflection_app.loops.verdicts import Issue
from reflection_app.metrics.judged.figures import Measure, by_language, precision_recall_f1, rows_of
from reflection_app.repairs.issue_vectors import vectors_of

# Each text is computed once, and measuring is in no hurry.
WITHIN_S = 600.0


def measure(folder: Path) -> Measure:
    """Precision, recall and F1 of `same`, as two issues on one piece of work are compared. Raises FileNotFoundError."""
    rows = rows_of(folder, "same_mistake")
    vectors = vectors_of([row[side] for row in rows for side in ("a", "b")], within_s=WITHIN_S)
    pairs = [
        (
            row["label"] == "same",
            is_same(Issue(description=row["a"]), Issue(description=row["b"]), vectors=vectors),
        )
        for row in rows
    ]
    wrong = [
        row | {"said": "same" if said else "different"}
        for row, (same, said) in zip(rows, pairs, strict=True)
        if same is not said
    ]
    return Measure(
        figures=precision_recall_f1(pairs),
        by_language={lang: precision_recall_f1(some) for lang, some in by_language(rows, pairs).items()},
        wrong=tuple(wrong),
    )
