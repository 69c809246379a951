"""Labels as lines of training data, in the shapes that the judgement's training reads."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


# By the file's name. The class of an error and a decision on a proposal rest on more than texts: they train nothing.
FILES: Mapping[str, tuple[LabelKind, Callable[[Label], Row | None]]] = {
    "does_not_know": (LabelKind.DOES_NOT_KNOW, _does_not_know),
    "same_mistake": (LabelKind.SAME_MISTAKE, _same_mistake),
    "entry_pairs": (LabelKind.ENTRY_PAIR, _entry_pair),
    "tool_errors": (LabelKind.TOOL_ERROR, _tool_error),
    "lesson_screening": (LabelKind.SCREENING, _screening),
}


@dataclass
class Exported:
    """The lines of one file, read one by one; afterwards how many there were, and how many labels tell nothing."""

    name: str
    projects: Sequence[Project]
    counts: Counter[str] = field(default_factory=Counter)

    def rows(self) -> Iterator[Row]:
        """The rows, oldest first."""
        kind, row_of = FILES[self.name]
        labels = Label.objects.filter(project__in=self.projects, kind=kind).order_by("created_at", "id")
        for label in labels.iterator(chunk_size=CHUNK):
            row = row_of(label)
            self.counts["left_out" if row is None else "written"] += 1
            if row is not None:
                yield row
