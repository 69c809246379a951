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

from notebook_app import public
from notebook_app.public import (
    ConflictKind,
    ConflictMovedOn,
    ConflictState,
    NoSuchConflict,
    SeenConflict,
    Settlement,
    Settling,
)
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
    """How a conflict can be settled."""

    MERGE = "merge"
    KEEP_BOTH = "keep_both"
    SUPERSEDE = "supersede"


SETTLEMENTS = {
    SettleWay.MERGE: Settlement.MERGED,
    SettleWay.KEEP_BOTH: Settlement.KEPT_BOTH,
    SettleWay.SUPERSEDE: Settlement.SUPERSEDED,
}


class SettleInput(Value):
    """How the conflict is settled: merged into one, both kept with a reason, or one holds instead of the other."""

    settlement: SettleWay
    stays: UUID | None = Field(default=None, description="the entry that holds afterwards; not for `keep_both`")
    words: MergedWords | None = Field(default=None, description="of a merge: other words for the entry that stays")
    reason: Reason = Field(default="", description="needed to keep both")
    first_expected_version: Version | None = Field(default=None, description="another one is answered with 409")
    second_expected_version: Version | None = None


class UnsettleInput(Value):
    """Why the settlement is taken back."""

    reason: Reason = ""


def settle(project: Project, conflict_id: UUID, data: SettleInput, *, actor: Actor) -> SeenConflict:
    """The settled conflict. Raises NotFound; ConflictSettled with who was quicker; EntryMovedOn; InvalidInput."""
    if data.settlement is not SettleWay.KEEP_BOTH and data.stays is None:
        raise wrong("stays", _("Say which of the two stays."))
    if data.words is not None and data.settlement is not SettleWay.MERGE:
        raise wrong("words", _("Only a merge is put into other words."))
    before = conflict_for(project, conflict_id)
    # Where one narrows the other both hold anyway.
    needs_reason = data.settlement is SettleWay.KEEP_BOTH and before.kind is not ConflictKind.REFINEMENT
    if needs_reason and not data.reason.strip():
        raise wrong("reason", _("Say why both are kept; the next who sees them will ask."))
    seen_at = ((before.first.id, data.first_expected_version), (before.second.id, data.second_expected_version))
    settling = Settling(
        how=SETTLEMENTS[data.settlement],
        stays=data.stays if data.settlement is not SettleWay.KEEP_BOTH else None,
        words=data.words.model_dump(mode="json", exclude_none=True) if data.words else {},
        reason=data.reason.strip(),
        versions={entry_id: version for entry_id, version in seen_at if version is not None},
    )
    with _as_api_errors(), transaction.atomic():
        public.settle_conflict(project.pk, conflict_id, settling, by=by_of(actor))
        conflict = conflict_for(project, conflict_id)
        for was, now in zip(before.entries, conflict.entries, strict=True):
            refuse_rewording(was, now, actor=actor)
            if data.words is not None and now.id == data.stays:
                note(now, "entry.absorbed", actor=actor, more={"conflict": str(conflict_id)})
        _note(conflict, "conflict.settled", before=before, actor=actor)
    return conflict


def unsettle(project: Project, conflict_id: UUID, data: UnsettleInput, *, actor: Actor) -> SeenConflict:
    """The conflict, open again. Raises NotFound; ConflictSettled, EntryMovedOn or InvalidInput where it is too late."""
    before = conflict_for(project, conflict_id)
    with _as_api_errors(), transaction.atomic():
        public.unsettle_conflict(project.pk, conflict_id, by=by_of(actor), reason=data.reason)
        conflict = conflict_for(project, conflict_id)
        _note(conflict, "conflict.reopened", before=before, actor=actor)
    return conflict


@transaction.atomic
def suggest_merge(project: Project, conflict_id: UUID, *, actor: Actor) -> Run:
    """The queued run that is asked for a merge. Raises NotFound, ConflictSettled, AskedAlready."""
    conflict = conflict_for(project, conflict_id)
    if not conflict.is_open:
        raise _moved_on(ConflictMovedOn(state=conflict.state.value, by=conflict.settled_by))
    if (asked := run_asked(conflict)) is not None and asked.state != RunState.FINISHED:
        raise AskedAlready(_("A model is at it already. What it suggests comes to this page."))
    titles = " / ".join(entry.name[:LONGEST_TITLE] for entry in conflict.entries)
    spec = TaskSpec(
        objective=f"Suggest a merge: {titles}",
        mode=Mode.MERGE_SUGGESTION,
        to_merge=tuple(
            EntryToMerge(
                kind=entry.kind.value,
                name=entry.name,
                description=entry.description,
                content=entry.content,
                details=entry.details,
            )
            for entry in conflict.entries
        ),
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
    asks = public.ask_for_suggestion(project.pk, conflict_id, run_id=run.pk, instead_of=conflict.suggestion_run)
    if not asks:
        raise AskedAlready(_("A model is at it already. What it suggests comes to this page."))
    audit(
        project.pk, actor, "conflict.suggestion_asked_for", target=Target(KIND, conflict_id), after={"run": str(run.pk)}
    )
    ring_notebook(project.pk)
    return run


def run_asked(conflict: SeenConflict) -> Run | None:
    """The run that was asked for a merge of the two, as they are now."""
    if conflict.suggestion_run is None:
        return None
    return Run.objects.filter(project=conflict.project_id, pk=conflict.suggestion_run).defer("spec").first()


def conflict_for(project: Project, conflict_id: UUID) -> SeenConflict:
    """The project's conflict. Raises NotFound."""
    conflict = public.conflict_of(project.pk, conflict_id)
    if conflict is None:
        raise NotFound(_("There is no such conflict."))
    return conflict


@contextmanager
def _as_api_errors() -> Iterator[None]:
    with refusals_told():
        try:
            yield
        except NoSuchConflict:
            raise NotFound(_("There is no such conflict.")) from None
        except ConflictMovedOn as error:
            raise _moved_on(error) from None


def _moved_on(error: ConflictMovedOn) -> ConflictSettled:
    if error.state == ConflictState.SETTLED:
        who = error.by or _("Somebody")
        return ConflictSettled(_("%(who)s has settled this conflict already. Nothing was changed.") % {"who": who})
    if error.state == ConflictState.OPEN:
        return ConflictSettled(_("This conflict is open; there is no settlement to take back."))
    return ConflictSettled(_("One of the two entries no longer holds, so there is nothing to settle."))


def _note(
    conflict: SeenConflict, action: str, *, before: SeenConflict, actor: Actor, more: dict[str, Any] | None = None
) -> None:
    audit(
        conflict.project_id,
        actor,
        action,
        target=Target(KIND, conflict.id),
        before=_facts(before),
        after=_facts(conflict) | (more or {}),
    )
    ring_notebook(conflict.project_id)


def _facts(conflict: SeenConflict) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "state": conflict.state.value,
        "first": {"entry": str(conflict.first.id), "version": conflict.first.version, "state": conflict.first.state},
        "second": {
            "entry": str(conflict.second.id),
            "version": conflict.second.version,
            "state": conflict.second.state,
        },
    }
    if conflict.settlement is not None:
        facts["settlement"] = conflict.settlement.value
    return facts | ({"reason": conflict.reason} if conflict.reason else {})
