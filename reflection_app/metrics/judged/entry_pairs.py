"""What two entries are to each other, as the product decides it: F1 of each answer."""

from pathlib import Path

from judgement.entry_pairs import Sides, nearness
from judgement.linear import MODEL
from notebook_app.comparing import RELATED, Said, pair_of
from reflection_app.adapters.llm import embed, screening_model, wheels_file
from reflection_app.metrics.judged.figures import Measure, by_language, precision_recall_f1, rows_of

LABELS = {"unrelated": None} | {relation.value: pair for relation, pair in RELATED.items()}


def _answer(left: Sides, right: Sides) -> str:
    model = wheels_file() if screening_model() else None
    near = nearness(*embed([left.whole, right.whole], model=MODEL, as_query=False)) if model else None
    found = pair_of(Said(left.whole), Said(right.whole), meaning=None, model=model, near=near)
    return next(label for label, pair in LABELS.items() if pair == (found.kind if found else None))


def _figures(pairs: list[tuple[str, str]]) -> dict[str, float | int]:
    f1 = {
        f"f1_{label}": precision_recall_f1([(label == wanted, label == said) for wanted, said in pairs])["f1"]
        for label in LABELS
    }
    return {**f1, "f1_mean": round(sum(f1.values()) / len(f1), 3), "rows": len(pairs)}


def measure(folder: Path) -> Measure:
    """F1 of each answer and their mean over `entry_pairs.jsonl`. Raises FileNotFoundError."""
    rows = rows_of(folder, "entry_pairs")
    pairs = [(str(row["label"]), _answer(Sides(**row["a"]), Sides(**row["b"]))) for row in rows]
    wrong = tuple({**row, "said": said} for row, (wanted, said) in zip(rows, pairs, strict=True) if wanted != said)
    languages = {language: _figures(some) for language, some in by_language(rows, pairs).items()}
    return Measure(_figures(pairs), languages, wrong)
