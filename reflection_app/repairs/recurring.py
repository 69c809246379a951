"""Supplements that keep recurring: what is found missing again and again is offered to the notebook."""

import hashlib
from uuid import UUID

from notebook_app.public import EntryKind, Proposal, keep_all, lock_notebook, proposed_from, take_back_proposal
from reflection_app.repairs.models.completeness import Supplement
from reflection_app.runs.models import Run, Step

RECURS_FROM = 3
MOST_EVIDENCE = 50
MOST_TOOLS = 30
KIND = EntryKind.SUPPLEMENT


def propose_what_recurs(run: Run, step: Step) -> None:
    """Offers each supplement that was found missing by this step, and that runs of this kind of task lacked before.

    Call it in a transaction after the one that wrote their rows, so that of two runs at the same moment the second sees
    the first one's. A run that has a parent is no evidence of its own.
    """
    if run.parent_id is not None:
        return
    supplements = Supplement.objects.filter(completeness_check__step=step)
    keyed = {source_of(one.task_kind, one.operation_key): one for one in supplements}
    lock_notebook(run.project_id)
    for source, one in sorted(keyed.items(), key=lambda item: item[0]):
        if proposed_from(run.project_id, sources=[source]):
            keep_all(run.project_id, [_proposal(one, source=source, run_id=run.pk)])
            continue
        runs = runs_that_lacked(run.project_id, task_kind=one.task_kind, key=one.operation_key)
        if len(runs) >= RECURS_FROM:
            keep_all(run.project_id, [_proposal(one, source=source, run_id=each) for each in runs[-MOST_EVIDENCE:]])


def withdraw_what_recurred(run: Run, one: Supplement) -> None:
    """Takes back that `run` lacked it, whose row is gone, and the whole offer where too few other runs did.

    Call it with the notebook locked.
    """
    key, source = one.operation_key, source_of(one.task_kind, one.operation_key)
    lacked = runs_that_lacked(run.project_id, task_kind=one.task_kind, key=key)
    if run.pk in lacked:
        return
    recurs = len(lacked) >= RECURS_FROM
    for run_id in [run.pk, *([] if recurs else lacked)]:
        take_back_proposal(run.project_id, _proposal(one, source=source, run_id=run_id))


def source_of(task_kind: str, key: str) -> str:
    """The name by which the notebook knows this supplement for this kind of task."""
    return f"{KIND}:{hashlib.sha256(f'{task_kind}\0{key}'.encode()).hexdigest()[:40]}"


def runs_that_lacked(project_id: UUID, *, task_kind: str, key: str) -> list[UUID]:
    """The runs in which it was found missing, oldest first. Forks are no evidence of their own."""
    rows = Supplement.objects.filter(project=project_id, task_kind=task_kind, operation_key=key)
    found = rows.filter(completeness_check__run__parent=None).order_by("created_at", "id")
    return list(dict.fromkeys(found.values_list("completeness_check__run", flat=True)))


def _proposal(one: Supplement, *, source: str, run_id: UUID) -> Proposal:
    kind = f"of the kind “{one.task_kind}”" if one.task_kind else "without a kind"
    reason = f"\n\nWhy: {one.reason}" if one.reason else ""
    return Proposal(
        kind=KIND,
        name=one.operation,
        source=source,
        category=one.task_kind,
        description=f"Tasks {kind} were found to lack this again and again.",
        content=f"Before it is summed up: {one.operation}{reason}",
        details={"operation": one.operation, "suggested_tools": one.suggested_tools[:MOST_TOOLS]},
        evidence={"run": str(run_id)},
    )
