"""How well recall knows which lessons concern a task, and that none does, on `recall_entries` and `recall_queries`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.db import OperationalError, transaction

from judgement.linear import MODEL
from notebook_app.public import (
    DESK,
    EntryKind,
    Proposal,
    activate_space,
    active_space,
    approve,
    keep,
    keep_vectors,
    lacking_vectors,
    recall,
    wanted_space,
)
from reflection_app.adapters.llm.embedding import embed
from reflection_app.adapters.llm.errors import NoModelConfigured
from reflection_app.adapters.llm.question_vectors import question_of
from reflection_app.metrics.judged.figures import Measure, by_language, rows_of, share

TOLD_AT_MOST = 5
EMBED_WITHIN_S = 600.0
EMBEDDED_AT_ONCE = 1_000


def measure(folder: Path) -> Measure:
    """Asks a notebook of these entries, all in a transaction that is undone.

    Raises FileNotFoundError, and OperationalError where the database, in which recall is asked, cannot be reached.
    """
    entries, questions = rows_of(folder, "recall_entries"), rows_of(folder, "recall_queries")
    try:
        with transaction.atomic():
            found = _asked(entries, [row["query"] for row in questions])
            transaction.set_rollback(True)
    except OperationalError as error:
        raise OperationalError(f"Recall is measured in the desk's database, which cannot be reached: {error}") from None
    rows = [
        row
        | {
            "ranked": [name for name, _ in ranked],
            "told": [name for name, fits in ranked if fits][:TOLD_AT_MOST],
            "decided_by": way,
        }
        for row, (ranked, way) in zip(questions, found, strict=True)
    ]
    return Measure(
        figures=_figures(rows),
        by_language={language: _figures(some) for language, some in by_language(rows, rows).items()},
        wrong=tuple(row | {"ranked": row["ranked"][:TOLD_AT_MOST]} for row in rows if _is_wrong(row)),
    )


def _asked(entries: Sequence[dict[str, Any]], questions: Sequence[str]) -> list[tuple[list[tuple[str, bool]], str]]:
    """Of each question the entries' ids, best first, and whether each is told; and what decided it."""
    project_id, ids = uuid4(), dict[UUID, str]()
    for row in entries:
        proposal = Proposal(kind=EntryKind.LESSON, name=row["title"], description=row["text"], source=row["id"])
        entry = keep(project_id, proposal).entry
        approve(project_id, entry.pk, by=DESK)
        ids[entry.pk] = row["id"]
    active = active_space()
    model = active.model if active else MODEL
    try:
        asked = embed([question_of(text) for text in questions], model=model, as_query=True, timeout_s=EMBED_WITHIN_S)
    except NoModelConfigured:
        found = [recall(project_id, text, limit=len(entries), with_others=True) for text in questions]
    else:
        _embed_entries(project_id, model, dimensions=len(asked[0]))
        found = [
            recall(project_id, text, vector=vector, limit=len(entries), with_others=True)
            for text, vector in zip(questions, asked, strict=True)
        ]
    return [([(ids[one.entry.id], one.fits) for one in each.entries], each.decided_by.value) for each in found]


def _embed_entries(project_id: UUID, model: str, *, dimensions: int) -> None:
    space = wanted_space(model, dimensions)
    mine = [one for one in lacking_vectors(space, limit=EMBEDDED_AT_ONCE) if one.project_id == project_id]
    vectors = embed([one.text for one in mine], model=model, as_query=False, timeout_s=EMBED_WITHIN_S)
    keep_vectors(space, list(zip(mine, vectors, strict=True)))
    activate_space(space)


def _figures(rows: Sequence[dict[str, Any]]) -> dict[str, float | int]:
    none = [row for row in rows if not row["relevant"] and not row["helpful_but_minor"]]
    concerned = [row for row in rows if row["relevant"]]
    told = [(row, one) for row in rows for one in row["told"]]
    wrong = [one for row, one in told if one not in row["relevant"] and one not in row["helpful_but_minor"]]
    return {
        "none_told": share([bool(row["told"]) for row in none]),
        "told_wrong": round(len(wrong) / len(told), 3) if told else 0.0,
        "recall_at_5": share([_share_found(row, row["ranked"][:TOLD_AT_MOST]) for row in concerned]),
        "mrr": share([_reciprocal(row) for row in concerned]),
        "recall_at_5_of_told": share([_share_found(row, row["told"]) for row in concerned]),
        "decided_by_meaning": share([row["decided_by"] == "meaning" for row in rows]),
        "told": len(told),
        "none": len(none),
        "rows": len(rows),
    }


def _share_found(row: dict[str, Any], found: Sequence[str]) -> float:
    return len(set(found) & set(row["relevant"])) / min(TOLD_AT_MOST, len(row["relevant"]))


def _reciprocal(row: dict[str, Any]) -> float:
    return next((1 / place for place, one in enumerate(row["ranked"], start=1) if one in row["relevant"]), 0.0)


def _is_wrong(row: dict[str, Any]) -> bool:
    """Whether something is told that does not concern it, or something that does is not."""
    fine = {*row["relevant"], *row["helpful_but_minor"]}
    return not fine.issuperset(row["told"]) or not set(row["relevant"]).issubset(row["told"])
