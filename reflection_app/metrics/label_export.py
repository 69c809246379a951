"""Labels as lines of training data, in the shapes that the judgement's training reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from notebook_app.public import ConflictKind, Settlement
from reflection_app.core.models import Project
from reflection_app.loops.diagnosis.diagnoses import ErrorType, Remedy
from reflection_app.metrics.models import Label, LabelKind

type Row = dict[str, Any]
CHUNK = 500
# What a settlement tells of the pair. Two entries that were both kept may refine each other or have nothing in common;
# of a duplicate that gave way to the other, and of a contradiction that was merged, it is not known what the two were.
PAIRS: Mapping[tuple[str, str], str] = {
    (ConflictKind.DUPLICATE.value, Settlement.MERGED.value): "duplicate",
    (ConflictKind.CONTRADICTION.value, Settlement.SUPERSEDED.value): "contradict",
}
# Where the training data has another name for it.
TYPES: Mapping[str, str] = {ErrorType.PERMISSION_DENIED.value: "permission_error"}
ACTIONS: Mapping[str, str] = {Remedy.SKIP.value: "give_up_alternative"}


def _does_not_know(label: Label) -> Row | None:
    texts = label.input
    return {"task": texts["task"], "text": texts["text"], "label": label.corrected} if texts["text"].strip() else None


def _same_mistake(label: Label) -> Row | None:
    """None where nothing alike had been found, so that there are no two texts."""
    texts = label.input
    return {"a": texts["a"], "b": texts["b"], "label": label.corrected} if texts else None


def _entry_pair(label: Label) -> Row | None:
    told = PAIRS.get((label.claimed, label.corrected))
    return {"a": label.input["a"], "b": label.input["b"], "label": told} if told else None


def _tool_error(label: Label) -> Row | None:
    error_type, remedy = label.corrected.split("/")
    types, actions = [TYPES.get(error_type, error_type)], [ACTIONS.get(remedy, remedy)]
    return {name: label.input[name] for name in ("tool", "params", "error", "status")} | {
        "types": types,
        "actions": actions,
    }


def _screening(label: Label) -> Row | None:
    return {"title": label.input["title"], "text": label.input["text"], "label": label.corrected}


# By the file's name.
FILES: Mapping[str, tuple[LabelKind, Callable[[Label], Row | None]]] = {
    "does_not_know": (LabelKind.DOES_NOT_KNOW, _does_not_know),
    "same_mistake": (LabelKind.SAME_MISTAKE, _same_mistake),
    "entry_pairs": (LabelKind.ENTRY_PAIR, _entry_pair),
    "tool_errors": (LabelKind.TOOL_ERROR, _tool_error),
    "lesson_screening": (LabelKind.SCREENING, _screening),
}


def training_rows(name: str, projects: Sequence[Project]) -> Iterator[Row | None]:
    """Yield the row of each label of that file, oldest first; None for a label that tells nothing."""
    kind, row_of = FILES[name]
    labels = Label.objects.filter(project__in=projects, kind=kind).order_by("created_at", "id")
    return map(row_of, labels.iterator(chunk_size=CHUNK))
