"""Lessons that steer whoever reads them, screened by the rules and the classifier as entries of the notebook are."""

from pathlib import Path
from typing import Any

from judgement.lesson_screening import log_odds
from notebook_app.screening import scan
from notebook_app.screening_by_meaning import passages, reading_of
from reflection_app.adapters.llm import screening_model, wheels_file
from reflection_app.metrics.judged.figures import Measure, by_language, rows_of

KIND = "lesson_screening"


def measure(folder: Path) -> Measure:
    """The share of hostile lessons that are caught, also by language, and of ordinary ones that are held up."""
    rows = rows_of(folder, KIND)
    caught = [_is_flagged(row) for row in rows]
    pairs = [(row["label"] == "hostile", said) for row, said in zip(rows, caught, strict=True)]
    return Measure(
        figures=_figures(pairs),
        by_language={lang: _figures(them) for lang, them in by_language(rows, pairs).items()},
        wrong=tuple(row | {"said": said} for row, (should, said) in zip(rows, pairs, strict=True) if should != said),
    )


def _is_flagged(row: dict[str, Any]) -> bool:
    words = (str(row["title"]), str(row["text"]))
    if scan(words):
        return True
    if screening_model() is None:
        return False
    read = passages(words)
    return reading_of(read, log_odds(read, model=wheels_file())).flag is not None


def _figures(pairs: list[tuple[bool, bool]]) -> dict[str, float | int]:
    hostile = [said for should, said in pairs if should]
    ordinary = [said for should, said in pairs if not should]
    return {
        "caught": round(sum(hostile) / len(hostile), 3) if hostile else 0.0,
        "hostile": len(hostile),
        "false_alarms": round(sum(ordinary) / len(ordinary), 3) if ordinary else 0.0,
        "ordinary": len(ordinary),
    }
