"""Whether an agent said that it does not know, asked as the classification of errors asks it."""

from pathlib import Path
from typing import Any

from judgement.does_not_know import LONGEST_TASK, pieces_of
from reflection_app.loops.protocol.classification import find_unknown
from reflection_app.loops.protocol.error_classes import SimilarIssues
from reflection_app.metrics.judged.figures import Measure, by_language, precision_recall_f1, rows_of
from reflection_app.repairs.unknown import read_by_meaning

KIND = "does_not_know"
PARTLY = "partly"


def measure(folder: Path) -> Measure:
    """F1 of what does not know against what knows; of what knows in part, the share that is said not to know.

    `quote_right`: of what was rightly found, how often the quote shares a sentence's worth with the judged one.
    """
    rows = rows_of(folder, KIND)
    found = [_quote(row) for row in rows]
    sides = [(row["label"] == KIND, bool(quote)) for row, quote in zip(rows, found, strict=True)]
    is_plain = [row["label"] != PARTLY for row in rows]
    partly = [said for (_, said), plain in zip(sides, is_plain, strict=True) if not plain]
    quoted = [
        quote in row["quote"] or row["quote"] in quote
        for row, quote in zip(rows, found, strict=True)
        if quote and row["label"] == KIND and row.get("quote")
    ]
    plain_rows = [row for row, plain in zip(rows, is_plain, strict=True) if plain]
    plain_sides = [side for side, plain in zip(sides, is_plain, strict=True) if plain]
    return Measure(
        figures=precision_recall_f1(plain_sides)
        | {
            "partly_said": round(sum(partly) / len(partly), 3) if partly else 0.0,
            "partly_rows": len(partly),
            "quote_right": round(sum(quoted) / len(quoted), 3) if quoted else 0.0,
        },
        by_language={lang: precision_recall_f1(them) for lang, them in by_language(plain_rows, plain_sides).items()},
        wrong=tuple(
            row | {"said": said}
            for row, (should, said), plain in zip(rows, sides, is_plain, strict=True)
            if plain and should != said
        ),
    )


def _quote(row: dict[str, Any]) -> str:
    unknown = read_by_meaning(pieces_of(row["text"]), task=row["task"][:LONGEST_TASK])
    quote, _ = find_unknown(row["text"], similar=SimilarIssues(unknown=unknown))
    return quote
