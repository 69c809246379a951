"""Labels as they are imported."""

import json
from collections.abc import Iterable
from typing import Any

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.metrics.judgements import import_labels, read_labels
from reflection_app.metrics.models import JudgementImport

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
