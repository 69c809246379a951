"""Settling a conflict of the notebook, taking that back, and asking a model for a merge that a person may take.

Each is one transaction with its row of the trail. Of two curators at once one settles, and the other is told who did.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import Field

from notebook_app.conflicts import ask_for_suggestion, conflict_of, settle_conflict, unsettle_conflict
from notebook_app.kinds import ConflictMovedOn, NoSuchConflict
from notebook_app.public import Conflict, ConflictKind, ConflictState, Settlement
from reflection_app.core.audit import Actor, Target, audit
from reflection_app.core.errors import AskedAlready, ConflictSettled, NotFound, wrong
from reflection_app.core.models import Project
from reflection_app.loops.merging import EntryToMerge
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec
from reflection_app.loops.values import Value
from reflection_app.notebook.input import MergedWords, Reason, Version
from reflection_app.notebook.proposing import by_of, note, refusals_told, refuse_rewording, ring_notebook
from reflection_app.runs.models import Run, RunState
from reflection_app.runs.queueing import begin_run
from reflection_app.tasks.models import Task

KIND = "conflict"
LONGEST_TITLE = 100
LIMITS = Limits(max_iterations=1, token_budget=30_000, time_budget_s=120.0)


class SettleWay(StrEnum):
    """Way to resolve a conflict."""

    MERGE = "merge"
    KEEP_BOTH = "keep_both"
    SUPERSEDE = "supersede"


SETTLEMENTS = {
    SettleWay.MERGE: Settlement.MERGED,
    SettleWay.KEEP_BOTH: Settlement.KEPT_BOTH,
    SettleWay.SUPERSEDE: Settlement.SUPERSEDED,
}


class SettleInput(Value):
    """Resolution of a conflict: merge into one, retain both with a reason, or replace one with the other."""

    settlement: SettleWay
    stays: UUID | None = Field(default=None, description="entry that remains; not for `keep_both`")
    words: MergedWords | None = Field(default=None, description="for a merge: new text for the entry that remains")
    reason: Reason = Field(default="", description="required to retain both")
    first_expected_version: Version | None = Field(
        default=None, description="version that you read; if it is not the current one, 409 is returned"
    )
    second_expected_version: Version | None = None


class UnsettleInput(Value):
    """Reason for undoing the resolution."""

    reason: Reason = ""


def settle(project: Project, conflict_id: UUID, data: SettleInput, *, actor: Actor) -> Conflict:
    """The settled conflict. Raises NotFound; ConflictSettled with who was quicker; EntryMovedOn; InvalidInput."""
    if data.settlement is not SettleWay.KEEP_BOTH and data.stays is None:
        raise wrong("stays", _("Choose which entry to keep."))
    if data.words is not None and data.settlement is not SettleWay.MERGE:
        raise wrong("words", _("You can change the text only when merging."))
    before = conflict_for(project, conflict_id)
    # Where one narrows the other both hold anyway.
    needs_reason = data.settlement is SettleWay.KEEP_BOTH and before.kind != ConflictKind.REFINEMENT
    if needs_reason and not data.reason.strip():
        raise wrong("reason", _("Enter a reason for keeping both."))
    with _as_api_errors(), transaction.atomic():
        settle_conflict(
            project.pk,
            conflict_id,
            SETTLEMENTS[data.settlement],
            by=by_of(actor),
            stays=data.stays,
            words=data.words.model_dump(mode="json", exclude_none=True) if data.words else {},
            reason=data.reason.strip(),
            versions={
                before.first_id: data.first_expected_version,
                before.second_id: data.second_expected_version,
            },
        )
        conflict = conflict_for(project, conflict_id)
        for was, now in zip(before.entries, conflict.entries, strict=True):
            refuse_rewording(was, now, actor=actor)
            if data.words is not None and now.id == data.stays:
                note(now, "entry.absorbed", actor=actor, more={"conflict": str(conflict_id)})
        _note(conflict, "conflict.settled", before=before, actor=actor)
    return conflict


def unsettle(project: Project, conflict_id: UUID, data: UnsettleInput, *, actor: Actor) -> Conflict:
    """The conflict, open again. Raises NotFound; ConflictSettled, EntryMovedOn or InvalidInput where it is too late."""
    before = conflict_for(project, conflict_id)
    with _as_api_errors(), transaction.atomic():
        unsettle_conflict(project.pk, conflict_id, by=by_of(actor), reason=data.reason)
        conflict = conflict_for(project, conflict_id)
        _note(conflict, "conflict.reopened", before=before, actor=actor)
    return conflict


@transaction.atomic
def suggest_merge(project: Project, conflict_id: UUID, *, actor: Actor) -> Run:
    """The queued run that is asked for a merge. Raises NotFound, ConflictSettled, AskedAlready."""
    conflict = conflict_for(project, conflict_id)
    if not conflict.is_open:
        raise _moved_on(ConflictMovedOn(state=conflict.state, by=conflict.settled_by_label))
    if (asked := run_asked(conflict)) is not None and asked.state != RunState.FINISHED:
        raise AskedAlready(_("A model is already working on a suggestion. It will appear on this page."))
    titles = " / ".join(entry.name[:LONGEST_TITLE] for entry in conflict.entries)
    spec = TaskSpec(
        objective=f"Suggest a merge: {titles}",
        mode=Mode.MERGE_SUGGESTION,
        to_merge=tuple(EntryToMerge.model_validate(entry, from_attributes=True) for entry in conflict.entries),
        limits=LIMITS,
        models=project.models_by_role,
    )
    task = Task.objects.create(
        project=project,
        objective=spec.objective,
        mode=spec.mode.value,
        limits=spec.limits.model_dump(mode="json"),
        created_by=actor.user,
    )
    run = begin_run(task, spec)
    asks = ask_for_suggestion(project.pk, conflict_id, run_id=run.pk, instead_of=conflict.suggestion_run)
    if not asks:
        raise AskedAlready(_("A model is already working on a suggestion. It will appear on this page."))
    audit(
        project.pk, actor, "conflict.suggestion_asked_for", target=Target(KIND, conflict_id), after={"run": str(run.pk)}
    )
    ring_notebook(project.pk)
    return run


def run_asked(conflict: Conflict) -> Run | None:
    """The run that was asked for a merge of the two, as they are now."""
    if conflict.suggestion_run is None:
        return None
    return Run.objects.filter(project=conflict.project_id, pk=conflict.suggestion_run).defer("spec").first()


def conflict_for(project: Project, conflict_id: UUID) -> Conflict:
    """The project's conflict. Raises NotFound."""
    conflict = conflict_of(project.pk, conflict_id)
    if conflict is None:
        raise NotFound(_("Conflict not found."))
    return conflict


@contextmanager
def _as_api_errors() -> Iterator[None]:
    with refusals_told():
        try:
            yield
        except NoSuchConflict:
            raise NotFound(_("Conflict not found.")) from None
        except ConflictMovedOn as error:
            raise _moved_on(error) from None


def _moved_on(error: ConflictMovedOn) -> ConflictSettled:
    if error.state == ConflictState.SETTLED:
        who = error.by or _("Another member")
        return ConflictSettled(_("%(who)s already resolved this conflict. Nothing was changed.") % {"who": who})
    if error.state == ConflictState.OPEN:
        return ConflictSettled(_("This conflict is open; there is no resolution to undo."))
    return ConflictSettled(_("One of the entries is no longer active, so there is nothing to resolve."))


def _note(conflict: Conflict, action: str, *, before: Conflict, actor: Actor) -> None:
    target = Target(KIND, conflict.id)
    audit(conflict.project_id, actor, action, target=target, before=_facts(before), after=_facts(conflict))
    ring_notebook(conflict.project_id)


def _facts(conflict: Conflict) -> dict[str, Any]:
    sides = zip(("first", "second"), conflict.entries, strict=True)
    facts: dict[str, Any] = {
        side: {"entry": str(entry.pk), "version": entry.version, "state": entry.state} for side, entry in sides
    }
    told = {"settlement": conflict.settlement, "reason": conflict.reason}
    return facts | {"state": conflict.state} | {name: value for name, value in told.items() if value}
