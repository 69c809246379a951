"""What a curator does with one entry: each is one guarded change, one transaction, one row of the trail.

Every function returns the entry as it is then. Each raises NotFound; EntryMovedOn where it is in another state, or at
another version than the one that was seen; InvalidInput, which names the field. Nothing is changed then.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from notebook_app.changing import lock_notebook, locked
from notebook_app.curation import approve, clear, edit, open_contradictions, own, reject, restore, retire, tag
from notebook_app.kinds import Contradicted, EntryState, Refused
from notebook_app.merging import Undone, merge, reopen, split, supersede, undo
from notebook_app.public import Entry
from notebook_app.reading import entry_of, last_change_of
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import Conflict, NotYours, wrong
from reflection_app.core.models import Membership, Project
from reflection_app.loops.storable import storable
from reflection_app.notebook.conflicts import SettleInput, SettleWay, UnsettleInput, conflict_for, settle, unsettle
from reflection_app.notebook.input import (
    ApprovalInput,
    Contradictions,
    CurationInput,
    EntryEdit,
    MergeInput,
    OwnerInput,
    RestoreInput,
    SplitInput,
    SupersedeInput,
    TagsInput,
    UndoInput,
)
from reflection_app.notebook.proposing import (
    KIND,
    by_of,
    get_entry_for,
    note,
    proposal_of,
    refusals_told,
    refuse_own_words,
    refuse_rewording,
)
from reflection_app.reviews.own_work import may_undo_others


def approve_entry(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> Entry:
    """Return the approved entry. A key cannot approve what it proposed itself.

    Raises Contradicts if open conflicts say that other entries say the opposite. An ApprovalInput that says how settles
    them in the same transaction; undoing the approval opens them again.
    """
    way = data.contradictions if isinstance(data, ApprovalInput) else None
    with transaction.atomic():
        lock_notebook(project.pk)
        settled = [str(one) for one in _settle_contradictions(project, entry_id, data, way, actor=actor)] if way else []
        # Settling has given the entry, locked since, another version than the one that was seen.
        given = data.model_copy(update={"expected_version": None}) if settled else data
        approved = partial(approve, evidence={"settled": settled} if settled else None)
        return _curated(approved, "entry.approved", project, entry_id, given, actor=actor, is_of_others=True)


def _settle_contradictions(
    project: Project, entry_id: UUID, data: CurationInput, way: Contradictions, *, actor: Actor
) -> list[UUID]:
    """Settle the entry's open contradictions and return their ids; the first checks the version that was seen."""
    seen_at = data.expected_version
    settled = list(open_contradictions(project.pk, entry_id))
    for conflict_id in settled:
        is_first = conflict_for(project, conflict_id).first_id == entry_id
        side = "first_expected_version" if is_first else "second_expected_version"
        stays = entry_id if way is Contradictions.SUPERSEDE else None
        how = SettleInput(settlement=SettleWay(way.value), stays=stays, reason=data.reason)
        settle(project, conflict_id, how.model_copy(update={side: seen_at}), actor=actor)
        seen_at = None
    return settled


def reject_entry(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> Entry:
    """The entry, rejected: proposed again it is counted and stays so."""
    return _curated(reject, "entry.rejected", project, entry_id, data, actor=actor)


def retire_entry(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> Entry:
    """The entry, which nobody is told any more. A reason is needed."""
    return _curated(retire, "entry.retired", project, entry_id, data, actor=actor)


def reopen_entry(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> Entry:
    """The entry as a proposal once more; one that was merged has again what it had before."""
    return _curated(reopen, "entry.reopened", project, entry_id, data, actor=actor)


def clear_flags(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> Entry:
    """The entry with what screening found in it marked as looked at. A key cannot clear words of its own."""
    return _curated(clear, "entry.cleared", project, entry_id, data, actor=actor, is_of_others=True)


def edit_entry(project: Project, entry_id: UUID, data: EntryEdit, *, actor: Actor) -> Entry:
    """The entry in other words. Where they are what it says already, nothing is changed."""
    return _reworded(edit, "entry.edited", project, entry_id, data, actor=actor, **data.columns())


def restore_entry(project: Project, entry_id: UUID, data: RestoreInput, *, actor: Actor) -> Entry:
    """The entry in the words of an earlier version; its state stays."""
    return _reworded(restore, "entry.restored", project, entry_id, data, actor=actor, number=data.version)


def tag_entry(project: Project, entry_id: UUID, data: TagsInput, *, actor: Actor) -> Entry:
    """The entry with exactly these tags."""
    with refusals_told(), transaction.atomic():
        seen = data.expected_version
        entry = tag(project.pk, entry_id, tags=list(data.tags), by=by_of(actor), expected_version=seen)
        return note(entry, "entry.tagged", actor=actor)


def own_entry(project: Project, entry_id: UUID, data: OwnerInput, *, actor: Actor) -> Entry:
    """The entry with a member of the project who looks after it, or with nobody."""
    owner = owner_named(project, data.owner) if data.owner is not None else None
    with refusals_told(), transaction.atomic():
        entry = own(project.pk, entry_id, owner=owner, by=by_of(actor), expected_version=data.expected_version)
        return note(entry, "entry.owned", actor=actor)


def owner_named(project: Project, name: str) -> User:
    """The member of that name. Raises InvalidInput; a stranger is told apart from nobody by nothing."""
    members = Membership.objects.filter(project=project, user__username=storable(name), user__is_active=True)
    member = members.select_related("user").first()
    if member is None:
        raise wrong("owner", _("No project member has this name."))
    return member.user


def _curated(
    change: Callable[..., Entry],
    action: str,
    project: Project,
    entry_id: UUID,
    data: CurationInput,
    *,
    actor: Actor,
    is_of_others: bool = False,
) -> Entry:
    with refusals_told(), transaction.atomic():
        # Before the entry's row: the order in which everything of a notebook is locked.
        lock_notebook(project.pk)
        seen = data.expected_version
        entry = change(project.pk, entry_id, by=by_of(actor), reason=data.reason, expected_version=seen)
        if is_of_others:
            # Only now is the entry locked, and nobody puts it into other words meanwhile.
            refuse_own_words(project.pk, entry_id, actor=actor)
        return note(entry, action, actor=actor)


def _reworded(
    change: Callable[..., Entry],
    action: str,
    project: Project,
    entry_id: UUID,
    data: CurationInput,
    *,
    actor: Actor,
    **words: Any,
) -> Entry:
    """The entry after a change of its words; one that changes nothing is no row of the trail."""
    with refusals_told(), transaction.atomic():
        before = locked(project.pk, entry_id)
        seen = data.expected_version
        entry = change(project.pk, entry_id, by=by_of(actor), reason=data.reason, expected_version=seen, **words)
        refuse_rewording(before, entry, actor=actor)
        return note(entry, action, actor=actor) if entry.version != before.version else entry


# Making one entry of two, letting one hold instead of another, and making two of one.


def merge_entries(project: Project, gone_id: UUID, data: MergeInput, *, actor: Actor) -> Entry:
    """The entry that both are now, with the occurrences and the evidence of both.

    Raises NotFound, EntryMovedOn or InvalidInput.
    """
    words: dict[str, Any] = data.words.model_dump(mode="json", exclude_none=True) if data.words else {}
    with refusals_told(into=data.into), transaction.atomic():
        before = entry_of(project.pk, data.into)
        stays = merge(
            project.pk,
            gone_id=gone_id,
            into_id=data.into,
            by=by_of(actor),
            reason=data.reason,
            expected_versions={gone_id: data.expected_version, data.into: data.into_expected_version},
            **words,
        )
        note(locked(project.pk, gone_id), "entry.merged", actor=actor, more={"into": str(data.into)})
        if before is not None:
            refuse_rewording(before, stays, actor=actor)
        return note(stays, "entry.absorbed", actor=actor, more={"entry": str(gone_id)})


def supersede_entry(project: Project, gone_id: UUID, data: SupersedeInput, *, actor: Actor) -> Entry:
    """The entry that holds instead; the other is retired. Raises NotFound, EntryMovedOn or InvalidInput."""
    with refusals_told(by=data.by), transaction.atomic():
        stays = supersede(
            project.pk,
            gone_id=gone_id,
            by_id=data.by,
            by=by_of(actor),
            reason=data.reason,
            expected_versions={gone_id: data.expected_version, data.by: data.by_expected_version},
        )
        note(locked(project.pk, gone_id), "entry.superseded", actor=actor, more={"by": str(data.by)})
        return stays


def split_entry(project: Project, entry_id: UUID, data: SplitInput, *, actor: Actor) -> Entry:
    """The new entry that a part of this one became. Raises NotFound, EntryMovedOn or InvalidInput."""
    with refusals_told(), transaction.atomic():
        made = split(
            project.pk,
            entry_id,
            into=proposal_of(data.into),
            by=by_of(actor),
            reason=data.reason,
            expected_version=data.expected_version,
            evidence_ids=data.evidence_ids,
        )
        note(locked(project.pk, entry_id), "entry.split", actor=actor, more={"entry": str(made.pk)})
        note(made, "entry.proposed", actor=actor, more={"split_from": str(entry_id)})
        if data.stays is not None:
            # The version that was seen was that before the split, which has a version of its own.
            edit_entry(project, entry_id, data.stays.model_copy(update={"expected_version": None}), actor=actor)
        return made


# Undo in the notebook: the last change of an entry is taken back, with all that followed from it there.


def undo_curation(project: Project, entry_id: UUID, data: UndoInput, *, actor: Actor) -> Undone:
    """The entry without its last change.

    Raises NotFound; NotYours; EntryMovedOn where another change is the last by now; Conflict where nothing can be taken
    back.
    """
    entry = get_entry_for(project, entry_id)
    last = last_change_of(entry)
    number = data.expected_version or last.number
    # A key's label is no proof that it changed the entry last: keys may have the same name.
    trail = AuditEntry.objects.filter(target_id=entry_id, target=KIND).order_by("-created_at", "-id")
    key_id = trail.values_list("api_key_id", flat=True).first() if actor.api_key else None
    with refusals_told(), transaction.atomic():
        if number == last.number and not may_undo(project.pk, user_id=last.by_id, key_id=key_id, actor=actor):
            raise NotYours(_("Only %(who)s and admins can undo this.") % {"who": last.by_label})
        try:
            undone = undo(project.pk, entry_id, number=number, by=by_of(actor))
        except Refused as error:
            raise Conflict(str(error)) from None
        for conflict_id in last.evidence.get("settled", []):
            unsettle(project, UUID(conflict_id), UnsettleInput(), actor=actor)
        now = locked(project.pk, entry_id)
        if now.state == EntryState.APPROVED != entry.state and (opposed := open_contradictions(project.pk, entry_id)):
            raise Contradicted([*opposed], names=[*opposed.values()])
        note(now, "entry.undone", actor=actor, more={"undone": undone.change.value, "recalled": undone.recalled})
        return replace(undone, entry=now)


def may_undo(project_id: UUID, *, user_id: int | None, key_id: UUID | None, actor: Actor) -> bool:
    """Return True if `actor` made the change that this user or key made, or is an admin of the project."""
    if actor.user is not None:
        return user_id == actor.user.pk or may_undo_others(project_id, actor=actor)
    if actor.api_key is None or actor.api_key.project_id != project_id:
        return False
    return key_id == actor.api_key.pk or may_undo_others(project_id, actor=actor)
