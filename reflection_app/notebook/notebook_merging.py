"""Making one entry of two, letting one hold instead of another, and making two of one."""

from typing import Any
from uuid import UUID

from django.db import transaction

from notebook_app import public
from notebook_app.public import KeptEntry
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.notebook.notebook_curation import PROPOSED, edit_entry
from reflection_app.notebook.notebook_input import MergeInput, SplitInput, SupersedeInput
from reflection_app.notebook.notebook_own_words import refuse_rewording
from reflection_app.notebook.notebook_proposing import proposal_of
from reflection_app.notebook.notebook_refusals import no_such_entry, refusals_told
from reflection_app.notebook.notebook_trail import by_of, note


def merge_entries(project: Project, gone_id: UUID, told: MergeInput, *, actor: Actor) -> KeptEntry:
    """The entry that both are now, with the occurrences and the evidence of both.

    Raises NotFound, EntryMovedOn or InvalidInput.
    """
    words: dict[str, Any] = told.words.model_dump(mode="json", exclude_none=True) if told.words else {}
    expected = _expected({gone_id: told.expected_version, told.into: told.into_expected_version})
    with refusals_told(into=told.into), transaction.atomic():
        before = public.entry_of(project.pk, told.into)
        row = public.merge(
            project.pk,
            gone_id=gone_id,
            into_id=told.into,
            by=by_of(actor),
            reason=told.reason,
            expected_versions=expected,
            **words,
        )
        note(_entry(project, gone_id), "entry.merged", actor=actor, more={"into": str(told.into)})
        stays = public.shown(row)
        if before is not None:
            refuse_rewording(before, stays, actor=actor)
        note(stays, "entry.absorbed", actor=actor, more={"entry": str(gone_id)})
        return stays


def supersede_entry(project: Project, gone_id: UUID, told: SupersedeInput, *, actor: Actor) -> KeptEntry:
    """The entry that holds instead; the other is retired. Raises NotFound, EntryMovedOn or InvalidInput."""
    expected = _expected({gone_id: told.expected_version, told.by: told.by_expected_version})
    with refusals_told(by=told.by), transaction.atomic():
        row = public.supersede(
            project.pk,
            gone_id=gone_id,
            by_id=told.by,
            by=by_of(actor),
            reason=told.reason,
            expected_versions=expected,
        )
        note(_entry(project, gone_id), "entry.superseded", actor=actor, more={"by": str(told.by)})
        return public.shown(row)


def split_entry(project: Project, entry_id: UUID, told: SplitInput, *, actor: Actor) -> KeptEntry:
    """The new entry that a part of this one became. Raises NotFound, EntryMovedOn or InvalidInput."""
    with refusals_told(), transaction.atomic():
        row = public.split(
            project.pk,
            entry_id,
            into=proposal_of(told.into),
            by=by_of(actor),
            reason=told.reason,
            expected_version=told.expected_version,
            evidence_ids=told.evidence_ids,
        )
        made = public.shown(row)
        note(_entry(project, entry_id), "entry.split", actor=actor, more={"entry": str(made.id)})
        note(made, PROPOSED, actor=actor, more={"split_from": str(entry_id)})
        if told.stays is not None:
            # The version that was seen was that before the split, which has a version of its own.
            edit_entry(project, entry_id, told.stays.model_copy(update={"expected_version": None}), actor=actor)
        return made


def _expected(versions: dict[UUID, int | None]) -> dict[UUID, int]:
    return {entry_id: version for entry_id, version in versions.items() if version is not None}


def _entry(project: Project, entry_id: UUID) -> KeptEntry:
    entry = public.entry_of(project.pk, entry_id)
    if entry is None:
        raise no_such_entry()
    return entry
