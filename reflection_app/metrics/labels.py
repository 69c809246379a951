"""Labels: what a person said of a claim of the desk's, kept with the texts that it was made on, to be learned from.

Each is written in the transaction of the act, and only of people: what keys do is no judgement. Where the same claim is
judged again the last word stands; where a judgement is taken back, so is its label.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from notebook_app.public import (
    EntryState,
    KeptEntry,
    SeenConflict,
    Settlement,
    conflicts_of,
    words_of,
)
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.storable import storable
from reflection_app.loops.texts import cut_middle
from reflection_app.metrics.models import Label, LabelKind
from reflection_app.repairs.models import Report, ToolFailure

# As much of each text as a classifier could read, and then some.
LONGEST_TEXT = 8_000
REPORT, ENTRY, CONFLICT, TOOL_FAILURE = "report", "entry", "conflict", "tool_failure"
KNOWS, DOES_NOT_KNOW = "knows", "does_not_know"
SAME, DIFFERENT = "same", "different"
HOSTILE, ORDINARY = "hostile", "ordinary"
# The questions of the tree come one after another (classification.classify). So a class tells what the questions before
# it were answered, and nothing of those after it: who calls a mistake missing knowledge says nothing of its being the
# same again. What was completed was known, though.
TELLS_KNOWING: Mapping[ErrorClass, str] = {
    ErrorClass.MISSING_KNOWLEDGE: DOES_NOT_KNOW,
    ErrorClass.MODEL_CAPABILITY: KNOWS,
    ErrorClass.DECISION_ERROR: KNOWS,
    ErrorClass.NORMAL_ITERATION: KNOWS,
}
TELLS_SAME: Mapping[ErrorClass, str] = {ErrorClass.MODEL_CAPABILITY: SAME, ErrorClass.DECISION_ERROR: DIFFERENT}


def keep_label(
    project_id: UUID,
    kind: LabelKind,
    about: str,
    about_id: UUID,
    *,
    texts: Mapping[str, Any],
    claimed: str,
    said: str,
    actor: Actor,
    is_corrected: bool | None = None,
    **of: UUID | None,
) -> None:
    """Keeps a person's word; of a project that wants none kept, or of a key, nothing is. `of` are ids of rows that it
    goes with (`run_id`, `tool_failure_id`). Without `is_corrected` it is that where another thing was said."""
    if actor.user is None or not Project.objects.get(pk=project_id).get_notebook().keeps_labels:
        return
    kept = _bounded(texts)
    Label.objects.filter(project=project_id, kind=kind, about_id=about_id, input=kept).delete()
    Label.objects.create(
        project_id=project_id,
        kind=kind,
        about=about,
        about_id=about_id,
        input=kept,
        claimed=claimed,
        corrected=said,
        is_corrected=claimed != said if is_corrected is None else is_corrected,
        user=actor.user,
        by_label=actor.label,
        **of,
    )


def withdraw_labels(project_id: UUID, about_id: UUID, **among: object) -> None:
    """Takes back what was said of this row's claims; `among` are lookups that narrow it down."""
    Label.objects.filter(project=project_id, about_id=about_id, **among).delete()


def forget_labels(project_id: UUID) -> int:
    """Deletes all labels of the project; how many there were."""
    return Label.objects.filter(project=project_id).delete()[0]


def label_class(report: Report, *, said: ErrorClass, actor: Actor) -> None:
    """A person's word on whether the agent knew and erred like this before, as far as the class of the error tells."""
    if actor.user is None:
        return
    withdraw_labels(report.project_id, report.pk)
    facts, computed, attempt = report.get_value().facts, ErrorClass(report.error_type), report.attempt
    task, text = report.run.task.objective, attempt.content if attempt else ""

    def keep(kind: LabelKind, texts: Mapping[str, Any], claimed: str, word: str) -> None:
        keep_label(
            report.project_id,
            kind,
            REPORT,
            report.pk,
            texts=texts,
            claimed=claimed,
            said=word,
            actor=actor,
            run_id=report.run_id,
        )

    if ErrorClass.MISSING_KNOWLEDGE in {computed, said} and said in TELLS_KNOWING:
        claimed = DOES_NOT_KNOW if facts.said_unknown else KNOWS
        knowing = {"task": task, "text": text, "quote": facts.quote}
        keep(LabelKind.DOES_NOT_KNOW, knowing, claimed, TELLS_KNOWING[said])
    if ErrorClass.MODEL_CAPABILITY in {computed, said} and said in TELLS_SAME:
        # The likest of those that it was compared with comes first; where none was alike there are no two texts.
        pair = {"a": one.description, "b": one.now} if (one := next(iter(facts.similar.found), None)) else {}
        keep(LabelKind.SAME_MISTAKE, pair, SAME if facts.is_repeated else DIFFERENT, TELLS_SAME[said])


def label_diagnosis(failure: ToolFailure, *, claimed: tuple[str, str], said: tuple[str, str], actor: Actor) -> None:
    """A person's word on what a failed call's error was and what is to be done: its type, and its remedy."""
    keep_label(
        failure.project_id,
        LabelKind.TOOL_ERROR,
        TOOL_FAILURE,
        failure.pk,
        texts={
            "tool": failure.tool,
            "params": failure.params,
            "error": failure.error_message,
            "status": failure.status,
        },
        claimed="/".join(claimed),
        said="/".join(said),
        actor=actor,
        run_id=failure.run_id,
        tool_failure_id=failure.pk,
    )


def label_entry(was: KeptEntry, entry: KeptEntry, *, actor: Actor) -> None:
    """A curator's word on whether what screening held up is hostile. Who rejects it with its flags lets them stand."""
    if entry.state is EntryState.PROPOSED:
        withdraw_labels(entry.project_id, entry.id, corrected=HOSTILE)
        withdraw_reopened(entry)
    is_let_stand = entry.state is EntryState.REJECTED and entry.is_flagged
    if entry.flags and (is_let_stand or (entry.is_cleared and not was.is_cleared)):
        keep_label(
            entry.project_id,
            LabelKind.SCREENING,
            ENTRY,
            entry.id,
            texts=entry_words(entry),
            claimed=HOSTILE,
            said=HOSTILE if is_let_stand else ORDINARY,
            actor=actor,
        )


def label_conflict(before: SeenConflict, settlement: Settlement, *, actor: Actor) -> None:
    """A curator's word on two entries that the desk took for the same, or for opposed, as they were `before`."""
    keep_label(
        before.project_id,
        LabelKind.ENTRY_PAIR,
        CONFLICT,
        before.id,
        texts={"a": entry_words(before.first), "b": entry_words(before.second)},
        claimed=before.kind.value,
        said=settlement.value,
        actor=actor,
        is_corrected=settlement is Settlement.KEPT_BOTH,
    )


def withdraw_reopened(entry: KeptEntry) -> None:
    """Takes back what was said of the conflicts of this entry that are open again."""
    for conflict in conflicts_of(entry):
        withdraw_labels(entry.project_id, conflict.id)


def entry_words(entry: KeptEntry) -> dict[str, str]:
    """What the entry says, as a title and a text."""
    texts: Iterable[str] = (entry.description, entry.content, *words_of(entry.details))
    return {"title": entry.name, "text": "\n".join(text for text in texts if text.strip())}


def _bounded(value: Any) -> Any:
    """The value with each text in it cut."""
    if isinstance(value, str):
        return cut_middle(storable(value), LONGEST_TEXT)
    if isinstance(value, Mapping):
        return {key: _bounded(one) for key, one in value.items()}
    return [_bounded(one) for one in value] if isinstance(value, list | tuple) else value
