"""Labels as they are imported; and those that were recorded with PandaLM."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.metrics.judgements import import_labels, read_labels
from reflection_app.metrics.models import JudgementImport

RECORDED = Path(settings.BASE_DIR) / "../shared/data/pandalm/judged_pairs.jsonl"
# The first answer is the better one, the second is, or neither.
MEANS = {"1": "PASS", "2": "REJECT", "0": "REVISE", "tie": "REVISE"}
JUDGES = {"gpt-3.5-turbo": "gpt_result", "pandalm-7b": "pandalm_result"}
type Label = dict[str, Any]


def label(item: str = "a-1", *, model: str = "gpt", verdict: str = "PASS", person: str = "PASS", **more: Any) -> Label:
    """One row; `person` is the person's verdict."""
    return {"item": item, "model": model, "critic_verdict": verdict, "person_verdict": person} | more


def labels_of(people: dict[str, str], item: str = "a-1", **more: Any) -> list[Label]:
    """A row for each person; `people` as {name: verdict}."""
    return [label(item, person=said, **more) | {"person": who} for who, said in people.items()]


def lines(rows: Iterable[Any]) -> bytes:
    """The rows as JSON Lines; bytes stay as they are."""
    return b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in rows)


def imported(project: Project, rows: Iterable[Any], *, name: str = "labels.jsonl") -> JudgementImport:
    return import_labels(project, read_labels(lines(rows)), name=name, actor=Actor())


def recorded_pairs() -> list[dict[str, Any]]:
    """The recorded pairs, as they lie there. Skips the test where they are absent."""
    if not RECORDED.exists():
        pytest.skip(f"{RECORDED} is not there")
    return [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]


def rows_of(pairs: Iterable[dict[str, Any]]) -> list[Label]:
    """The rows of each judge and person of each pair, without answers of a judge that are no verdict."""
    return [
        row
        for pair in pairs
        for model, field in JUDGES.items()
        if (verdict := MEANS.get(str(pair[field]).lower()))
        for row in labels_of(
            {f"annotator {number}": MEANS[str(pair[f"annotator{number}"])] for number in (1, 2, 3)},
            f"pandalm-{pair['idx']}",
            model=model,
            verdict=verdict,
            text=f"{pair['instruction']}\n\n1. {pair['response1']}\n\n2. {pair['response2']}",
        )
    ]
