"""What a curator does with one entry: each is one guarded change, one transaction, one row of the trail.

Every function returns the entry as it is then. Each raises NotFound; EntryMovedOn where it is in another state, or at
another version than the one that was seen; InvalidInput, which names the field. Nothing is changed then.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from notebook_app import public
from notebook_app.public import By, KeptEntry
from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Project
from reflection_app.loops.storable import storable
from reflection_app.notebook.notebook_input import CurationInput, EntryEdit, OwnerInput, RestoreInput, TagsInput
from reflection_app.notebook.notebook_own_words import refuse_own_words, refuse_rewording
from reflection_app.notebook.notebook_refusals import refusals_told, wrong
from reflection_app.notebook.notebook_trail import by_of, note

PROPOSED = "entry.proposed"


def approve_entry(project: Project, entry_id: UUID, told: CurationInput, *, actor: Actor) -> KeptEntry:
    """The entry, which agents are told from now on. A key cannot approve words of its own."""
    return _curated(public.approve, "entry.approved", project, entry_id, told, actor=actor, is_of_others=True)


def reject_entry(project: Project, entry_id: UUID, told: CurationInput, *, actor: Actor) -> KeptEntry:
    """The entry, rejected: proposed again it is counted and stays so."""
    return _curated(public.reject, "entry.rejected", project, entry_id, told, actor=actor)


def retire_entry(project: Project, entry_id: UUID, told: CurationInput, *, actor: Actor) -> KeptEntry:
    """The entry, which nobody is told any more. A reason is needed."""
    return _curated(public.retire, "entry.retired", project, entry_id, told, actor=actor)


def reopen_entry(project: Project, entry_id: UUID, told: CurationInput, *, actor: Actor) -> KeptEntry:
    """The entry as a proposal once more; one that was merged has again what it had before."""
    return _curated(public.reopen, "entry.reopened", project, entry_id, told, actor=actor)


def clear_flags(project: Project, entry_id: UUID, told: CurationInput, *, actor: Actor) -> KeptEntry:
    """The entry with what screening found in it marked as looked at. A key cannot clear words of its own."""
    return _curated(public.clear, "entry.cleared", project, entry_id, told, actor=actor, is_of_others=True)


def edit_entry(project: Project, entry_id: UUID, told: EntryEdit, *, actor: Actor) -> KeptEntry:
    """The entry in other words. Where they are what it says already, nothing is changed."""

    def make(by: By) -> Any:
        return public.edit(
            project.pk,
            entry_id,
            by=by,
            reason=told.reason,
            expected_version=told.expected_version,
            **told.columns(),
        )

    return _made_unless_same(make, "entry.edited", project, entry_id, actor=actor)


def restore_entry(project: Project, entry_id: UUID, told: RestoreInput, *, actor: Actor) -> KeptEntry:
    """The entry in the words of an earlier version; its state stays."""

    def make(by: By) -> Any:
        return public.restore(
            project.pk,
            entry_id,
            number=told.version,
            by=by,
            reason=told.reason,
            expected_version=told.expected_version,
        )

    return _made_unless_same(make, "entry.restored", project, entry_id, actor=actor)


def tag_entry(project: Project, entry_id: UUID, told: TagsInput, *, actor: Actor) -> KeptEntry:
    """The entry with exactly these tags."""

    def make(by: By) -> Any:
        return public.tag(project.pk, entry_id, tags=list(told.tags), by=by, expected_version=told.expected_version)

    return _made(make, "entry.tagged", actor=actor)


def own_entry(project: Project, entry_id: UUID, told: OwnerInput, *, actor: Actor) -> KeptEntry:
    """The entry with a member of the project who looks after it, or with nobody."""
    owner = owner_named(project, told.owner) if told.owner is not None else None

    def make(by: By) -> Any:
        return public.own(
            project.pk,
            entry_id,
            owner_id=owner.pk if owner else None,
            owner_label=owner.get_username() if owner else "",
            by=by,
            expected_version=told.expected_version,
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
    told: CurationInput,
    *,
    actor: Actor,
    is_of_others: bool = False,
) -> KeptEntry:
    def make(by: By) -> Any:
        entry = change(project.pk, entry_id, by=by, reason=told.reason, expected_version=told.expected_version)
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
