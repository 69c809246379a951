"""Judgements from elsewhere, as they are handed in; and those that were recorded with PandaLM."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.metrics.judgements import Shown, apply_judgements, preview_judgements, read_lines

RECORDED = Path(settings.BASE_DIR) / "../shared/data/pandalm/judged_pairs.jsonl"
# The first answer is the better one, the second is, or neither.
MEANS = {"1": "PASS", "2": "REJECT", "0": "REVISE", "tie": "REVISE"}
JUDGES = {"gpt-3.5-turbo": "gpt_result", "pandalm-7b": "pandalm_result"}


def row(external_id: str = "a-1", *, model: str = "gpt", verdict: str = "PASS", **more: Any) -> dict[str, Any]:
    """One row; `people` as {name: verdict}."""
    critic: dict[str, Any] = {name: more.pop(name) for name in ("confidence", "prompt_version") if name in more}
    people = [{"name": who, "verdict": said} for who, said in more.pop("people", {"ann": "PASS"}).items()]
    return {
        "external_id": external_id,
        "critic": {"model": model, "verdict": verdict, **critic},
        "people": people,
    } | more


def lines(rows: Iterable[Any]) -> bytes:
    """The rows as JSON lines; what is bytes already stays as it is."""
    return b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in rows)


def shown(project: Project, rows: Iterable[Any], *, name: str = "labels.jsonl") -> Shown:
    return preview_judgements(project, read_lines(lines(rows)), name=name, actor=Actor())


def imported(project: Project, rows: Iterable[Any]) -> Shown:
    return apply_judgements(project, shown(project, rows).id, actor=Actor())


def recorded_pairs() -> list[dict[str, Any]]:
    """The recorded pairs, as they lie there. Skips the test where they are absent."""
    if not RECORDED.exists():
        pytest.skip(f"{RECORDED} is not there")
    return [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]


def rows_of(pairs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each judge of each pair. What a judge said that means nothing stays as it is, to be refused."""
    return [
        row(
            f"pandalm-{pair['idx']}",
            model=model,
            verdict=MEANS.get(str(pair[field]).lower(), str(pair[field])),
            people={f"annotator {number}": MEANS[str(pair[f"annotator{number}"])] for number in (1, 2, 3)},
            content=f"{pair['instruction']}\n\n1. {pair['response1']}\n\n2. {pair['response2']}",
        )
        for pair in pairs
        for model, field in JUDGES.items()
    ]
