"""What a curator does with one entry: each is one guarded change, one transaction, one row of the trail.

Every function returns the entry as it is then. Each raises NotFound; EntryMovedOn where it is in another state, or at
another version than the one that was seen; InvalidInput, which names the field. Nothing is changed then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from notebook_app import public
from notebook_app.public import By, Change, EntryState, KeptEntry, KeptVersion
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
    no_such_entry,
    note,
    proposal_of,
    refusals_told,
    refuse_own_words,
    refuse_rewording,
)
from reflection_app.reviews.own_work import may_undo_others

PROPOSED = "entry.proposed"


def approve_entry(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> KeptEntry:
    """Return the approved entry. A key cannot approve what it proposed itself.

    Raises Contradicts if open conflicts say that other entries say the opposite. An ApprovalInput that says how settles
    them in the same transaction; undoing the approval opens them again.
    """
    way = data.contradictions if isinstance(data, ApprovalInput) else None
    if way is None:
        return _curated(public.approve, "entry.approved", project, entry_id, data, actor=actor, is_of_others=True)
    with transaction.atomic():
        public.lock_notebook(project.pk)
        settled = [str(one) for one in _settle_contradictions(project, entry_id, data, way, actor=actor)]
        # Settling has given the entry, locked since, another version than the one that was seen.
        approved = partial(public.approve, evidence={"settled": settled}) if settled else public.approve
        given = data.model_copy(update={"expected_version": None}) if settled else data
        return _curated(approved, "entry.approved", project, entry_id, given, actor=actor, is_of_others=True)


def _settle_contradictions(
    project: Project, entry_id: UUID, data: CurationInput, way: Contradictions, *, actor: Actor
) -> list[UUID]:
    """Settle the entry's open contradictions and return their ids; the first checks the version that was seen."""
    seen_at = data.expected_version
    settled = list(public.open_contradictions(project.pk, entry_id))
    for conflict_id in settled:
        is_first = conflict_for(project, conflict_id).first.id == entry_id
        side = "first_expected_version" if is_first else "second_expected_version"
        stays = entry_id if way is Contradictions.SUPERSEDE else None
        how = SettleInput(settlement=SettleWay(way.value), stays=stays, reason=data.reason)
        settle(project, conflict_id, how.model_copy(update={side: seen_at}), actor=actor)
        seen_at = None
    return settled


def reject_entry(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> KeptEntry:
    """The entry, rejected: proposed again it is counted and stays so."""
    return _curated(public.reject, "entry.rejected", project, entry_id, data, actor=actor)


def retire_entry(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> KeptEntry:
    """The entry, which nobody is told any more. A reason is needed."""
    return _curated(public.retire, "entry.retired", project, entry_id, data, actor=actor)


def reopen_entry(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> KeptEntry:
    """The entry as a proposal once more; one that was merged has again what it had before."""
    return _curated(public.reopen, "entry.reopened", project, entry_id, data, actor=actor)


def clear_flags(project: Project, entry_id: UUID, data: CurationInput, *, actor: Actor) -> KeptEntry:
    """The entry with what screening found in it marked as looked at. A key cannot clear words of its own."""
    return _curated(public.clear, "entry.cleared", project, entry_id, data, actor=actor, is_of_others=True)


def edit_entry(project: Project, entry_id: UUID, data: EntryEdit, *, actor: Actor) -> KeptEntry:
    """The entry in other words. Where they are what it says already, nothing is changed."""

    def make(by: By) -> Any:
        return public.edit(
            project.pk,
            entry_id,
            by=by,
            reason=data.reason,
            expected_version=data.expected_version,
            **data.columns(),
        )

    return _made_unless_same(make, "entry.edited", project, entry_id, actor=actor)


def restore_entry(project: Project, entry_id: UUID, data: RestoreInput, *, actor: Actor) -> KeptEntry:
    """The entry in the words of an earlier version; its state stays."""

    def make(by: By) -> Any:
        return public.restore(
            project.pk,
            entry_id,
            number=data.version,
            by=by,
            reason=data.reason,
            expected_version=data.expected_version,
        )

    return _made_unless_same(make, "entry.restored", project, entry_id, actor=actor)


def tag_entry(project: Project, entry_id: UUID, data: TagsInput, *, actor: Actor) -> KeptEntry:
    """The entry with exactly these tags."""

    def make(by: By) -> Any:
        return public.tag(project.pk, entry_id, tags=list(data.tags), by=by, expected_version=data.expected_version)

    return _made(make, "entry.tagged", actor=actor)


def own_entry(project: Project, entry_id: UUID, data: OwnerInput, *, actor: Actor) -> KeptEntry:
    """The entry with a member of the project who looks after it, or with nobody."""
    owner = owner_named(project, data.owner) if data.owner is not None else None

    def make(by: By) -> Any:
        return public.own(
            project.pk,
            entry_id,
            owner_id=owner.pk if owner else None,
            owner_label=owner.get_username() if owner else "",
            by=by,
            expected_version=data.expected_version,
        )

    return _made(make, "entry.owned", actor=actor)


def owner_named(project: Project, name: str) -> User:
    """The member of that name. Raises InvalidInput; a stranger is told apart from nobody by nothing."""
    members = Membership.objects.filter(project=project, user__username=storable(name), user__is_active=True)
    member = members.select_related("user").first()
    if member is None:
        raise wrong("owner", _("Nobody of this name is a member of this project."))
    return member.user


def _curated(
    change: Callable[..., Any],
    action: str,
    project: Project,
    entry_id: UUID,
    data: CurationInput,
    *,
    actor: Actor,
    is_of_others: bool = False,
) -> KeptEntry:
    def make(by: By) -> Any:
        # Before the entry's row: the order in which everything of a notebook is locked.
        public.lock_notebook(project.pk)
        entry = change(project.pk, entry_id, by=by, reason=data.reason, expected_version=data.expected_version)
        if is_of_others:
            # Only now is the entry locked, and nobody puts it into other words meanwhile.
            refuse_own_words(project.pk, entry_id, actor=actor)
        return entry

    return _made(make, action, actor=actor)


def _made(make: Callable[[By], Any], action: str, *, actor: Actor) -> KeptEntry:
    with refusals_told(), transaction.atomic():
        entry = public.shown(make(by_of(actor)))
        note(entry, action, actor=actor)
        return entry


def _made_unless_same(
    make: Callable[[By], Any], action: str, project: Project, entry_id: UUID, *, actor: Actor
) -> KeptEntry:
    """As `_made`; what changes nothing is no row of the trail."""
    with refusals_told(), transaction.atomic():
        before = public.held(project.pk, entry_id)
        entry = public.shown(make(by_of(actor)))
        refuse_rewording(before, entry, actor=actor)
        if entry.version != before.version:
            note(entry, action, actor=actor)
        return entry


# Making one entry of two, letting one hold instead of another, and making two of one.


def merge_entries(project: Project, gone_id: UUID, data: MergeInput, *, actor: Actor) -> KeptEntry:
    """The entry that both are now, with the occurrences and the evidence of both.

    Raises NotFound, EntryMovedOn or InvalidInput.
    """
    words: dict[str, Any] = data.words.model_dump(mode="json", exclude_none=True) if data.words else {}
    expected = _expected({gone_id: data.expected_version, data.into: data.into_expected_version})
    with refusals_told(into=data.into), transaction.atomic():
        before = public.entry_of(project.pk, data.into)
        row = public.merge(
            project.pk,
            gone_id=gone_id,
            into_id=data.into,
            by=by_of(actor),
            reason=data.reason,
            expected_versions=expected,
            **words,
        )
        note(_entry(project, gone_id), "entry.merged", actor=actor, more={"into": str(data.into)})
        stays = public.shown(row)
        if before is not None:
            refuse_rewording(before, stays, actor=actor)
        note(stays, "entry.absorbed", actor=actor, more={"entry": str(gone_id)})
        return stays


def supersede_entry(project: Project, gone_id: UUID, data: SupersedeInput, *, actor: Actor) -> KeptEntry:
    """The entry that holds instead; the other is retired. Raises NotFound, EntryMovedOn or InvalidInput."""
    expected = _expected({gone_id: data.expected_version, data.by: data.by_expected_version})
    with refusals_told(by=data.by), transaction.atomic():
        row = public.supersede(
            project.pk,
            gone_id=gone_id,
            by_id=data.by,
            by=by_of(actor),
            reason=data.reason,
            expected_versions=expected,
        )
        note(_entry(project, gone_id), "entry.superseded", actor=actor, more={"by": str(data.by)})
        return public.shown(row)


def split_entry(project: Project, entry_id: UUID, data: SplitInput, *, actor: Actor) -> KeptEntry:
    """The new entry that a part of this one became. Raises NotFound, EntryMovedOn or InvalidInput."""
    with refusals_told(), transaction.atomic():
        row = public.split(
            project.pk,
            entry_id,
            into=proposal_of(data.into),
            by=by_of(actor),
            reason=data.reason,
            expected_version=data.expected_version,
            evidence_ids=data.evidence_ids,
        )
        made = public.shown(row)
        note(_entry(project, entry_id), "entry.split", actor=actor, more={"entry": str(made.id)})
        note(made, PROPOSED, actor=actor, more={"split_from": str(entry_id)})
        if data.stays is not None:
            # The version that was seen was that before the split, which has a version of its own.
            edit_entry(project, entry_id, data.stays.model_copy(update={"expected_version": None}), actor=actor)
        return made


def _expected(versions: dict[UUID, int | None]) -> dict[UUID, int]:
    return {entry_id: version for entry_id, version in versions.items() if version is not None}


def _entry(project: Project, entry_id: UUID) -> KeptEntry:
    entry = public.entry_of(project.pk, entry_id)
    if entry is None:
        raise no_such_entry()
    return entry


# Undo in the notebook: the last change of an entry is taken back, with all that followed from it there.

UNDONE = "entry.undone"


@dataclass(frozen=True)
class UndoneCuration:
    """The entry as it was before `change`. `recalled` runs were told it while it was approved, and stay told."""

    entry: KeptEntry
    change: Change
    recalled: int


def undo_curation(project: Project, entry_id: UUID, data: UndoInput, *, actor: Actor) -> UndoneCuration:
    """The entry without its last change.

    Raises NotFound; NotYours; EntryMovedOn where another change is the last by now; Conflict where nothing can be taken
    back.
    """
    entry = public.entry_of(project.pk, entry_id)
    last = public.last_change_of(entry) if entry else None
    if entry is None or last is None:
        raise no_such_entry()
    number = data.expected_version or last.number
    with refusals_told(), transaction.atomic():
        if number == last.number and not may_undo(entry, last, actor=actor):
            raise NotYours(_("Only %(who)s and admins can take this back.") % {"who": last.by})
        try:
            undone = public.undo(project.pk, entry_id, number=number, by=by_of(actor))
        except public.Refused as error:
            raise Conflict(str(error)) from None
        for conflict_id in last.evidence.get("settled", []):
            unsettle(project, UUID(conflict_id), UnsettleInput(), actor=actor)
        shown = public.held(project.pk, entry_id)
        if shown.state is EntryState.APPROVED is not entry.state and (
            opposed := public.open_contradictions(project.pk, entry_id)
        ):
            raise public.Contradicted([*opposed], names=[*opposed.values()])
        note(shown, UNDONE, actor=actor, more={"undone": undone.change.value, "recalled": undone.recalled})
        return UndoneCuration(shown, undone.change, undone.recalled)


def may_undo(entry: KeptEntry, last: KeptVersion, *, actor: Actor) -> bool:
    """Whether `actor` made the entry's last change, or is an admin of its project."""
    if actor.user is not None:
        return last.by_id == actor.user.pk or may_undo_others(entry.project_id, actor=actor)
    if actor.api_key is None or actor.api_key.project_id != entry.project_id:
        return False
    if may_undo_others(entry.project_id, actor=actor):
        return True
    # A key's label is no proof that it changed the entry last: keys may have the same name.
    trail = AuditEntry.objects.filter(target_id=entry.id, target=KIND).order_by("-created_at", "-id")
    return trail.values_list("api_key_id", flat=True).first() == actor.api_key.pk


def may_undo_deed(deed: AuditEntry, *, actor: Actor) -> bool:
    """Whether `actor` did what the trail tells, or is an admin of its project."""
    if actor.user is not None:
        return deed.user_id == actor.user.pk or may_undo_others(deed.project_id, actor=actor)
    if actor.api_key is None or actor.api_key.project_id != deed.project_id:
        return False
    return may_undo_others(deed.project_id, actor=actor) or deed.api_key_id == actor.api_key.pk
