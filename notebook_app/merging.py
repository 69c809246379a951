"""Making one entry of two, and two of one. Nothing is lost: occurrences and evidence go along, and versions tell it."""

from typing import Any
from uuid import UUID

from django.db import transaction

from notebook_app.changing import change, locked
from notebook_app.curation import edit
from notebook_app.errors import Refused
from notebook_app.life import Change
from notebook_app.models import Entry, Evidence
from notebook_app.people import By
from notebook_app.proposing import Proposal, keep


@transaction.atomic
def merge(
    project_id: UUID,
    *,
    gone_id: UUID,
    into_id: UUID,
    by: By,
    reason: str = "",
    expected_versions: dict[UUID, int] | None = None,
    **columns: Any,
) -> Entry:
    """The entry that both are now, with the occurrences and the evidence of both, in the words of `columns` if given.

    What is proposed again in the words of the one that is gone is counted on the other. Raises Refused, NotPossibleNow
    or ChangedMeanwhile.
    """
    if gone_id == into_id:
        raise Refused("an entry cannot be merged into itself", field="into")
    # Locked in one order, whichever is merged into which.
    rows = {entry_id: locked(project_id, entry_id) for entry_id in sorted((gone_id, into_id))}
    expected = expected_versions or {}
    if columns:
        edit(project_id, into_id, by=by, reason=reason, expected_version=expected.get(into_id), **columns)
    moved = _move_evidence(rows[gone_id], rows[into_id])
    change(
        project_id,
        gone_id,
        Change.MERGED,
        by=by,
        reason=reason,
        expected_version=expected.get(gone_id),
        merged_into_id=into_id,
    )
    return change(
        project_id,
        into_id,
        Change.ABSORBED,
        by=by,
        reason=reason,
        expected_version=None if columns else expected.get(into_id),
        evidence={"entry": str(gone_id)},
        occurrences=rows[into_id].occurrences + moved,
    )


@transaction.atomic
def supersede(
    project_id: UUID,
    *,
    gone_id: UUID,
    by_id: UUID,
    by: By,
    reason: str = "",
    expected_versions: dict[UUID, int] | None = None,
) -> Entry:
    """The entry that stands; the other no longer holds, and its words are not this one's."""
    if gone_id == by_id:
        raise Refused("an entry cannot supersede itself", field="by")
    for entry_id in sorted((gone_id, by_id)):
        locked(project_id, entry_id)
    expected = expected_versions or {}
    change(
        project_id,
        gone_id,
        Change.MERGED,
        by=by,
        reason=reason or "superseded",
        expected_version=expected.get(gone_id),
        merged_into_id=by_id,
    )
    return change(
        project_id,
        by_id,
        Change.ABSORBED,
        by=by,
        reason=reason or "superseded",
        expected_version=expected.get(by_id),
        evidence={"entry": str(gone_id)},
    )


@transaction.atomic
def split(
    project_id: UUID, entry_id: UUID, *, into: Proposal, by: By, reason: str = "", expected_version: int | None = None
) -> Entry:
    """The new entry that a part of this one became; this one stays, to be edited. Raises Refused where it is known."""
    entry = change(project_id, entry_id, Change.SPLIT, by=by, reason=reason, expected_version=expected_version)
    made = keep(project_id, into, by=by, made=Change.SPLIT)
    if not made.is_new:
        raise Refused("the notebook has an entry with these words", field="name")
    for one in entry.evidence.all():
        Evidence.objects.create(
            entry=made.entry, project_id=project_id, refs=one.refs, refs_key=one.refs_key, created_at=one.created_at
        )
    return made.entry


def _move_evidence(gone: Entry, into: Entry) -> int:
    """How many occurrences the entry gains: those of the other, without what both have evidence of."""
    known = set(into.evidence.values_list("refs_key", flat=True))
    moving = gone.evidence.exclude(refs_key__in=known)
    shared = gone.evidence.filter(refs_key__in=known).count()
    moving.update(entry=into)
    return max(gone.occurrences - shared, 0)
