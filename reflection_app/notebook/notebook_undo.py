"""Undo in the notebook: the last change of an entry is taken back, with all that followed from it there."""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from notebook_app import public
from notebook_app.public import Change, KeptEntry, KeptVersion
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import Conflict, NotYours
from reflection_app.core.models import Project
from reflection_app.core.own_work import may_undo_others
from reflection_app.notebook.notebook_input import UndoInput
from reflection_app.notebook.notebook_refusals import no_such_entry, refusals_told
from reflection_app.notebook.notebook_trail import KIND, by_of, note

UNDONE = "entry.undone"


@dataclass(frozen=True)
class UndoneCuration:
    """The entry as it was before `change`. `recalled` runs were told it while it was approved, and stay told."""

    entry: KeptEntry
    change: Change
    recalled: int


def undo_curation(project: Project, entry_id: UUID, told: UndoInput, *, actor: Actor) -> UndoneCuration:
    """The entry without its last change.

    Raises NotFound; NotYours; EntryMovedOn where another change is the last by now; Conflict where nothing can be taken
    back.
    """
    entry = public.entry_of(project.pk, entry_id)
    last = public.last_change_of(entry) if entry else None
    if entry is None or last is None:
        raise no_such_entry()
    number = told.expected_version or last.number
    with refusals_told(), transaction.atomic():
        if number == last.number and not may_undo(entry, last, actor=actor):
            raise NotYours(_("Only %(who)s and admins can take this back.") % {"who": last.by})
        undone = _undo(project, entry_id, number=number, actor=actor)
        shown = public.shown(undone.entry)
        note(shown, UNDONE, actor=actor, more={"undone": undone.change.value, "recalled": undone.recalled})
        return UndoneCuration(shown, undone.change, undone.recalled)


def _undo(project: Project, entry_id: UUID, *, number: int, actor: Actor) -> public.Undone:
    try:
        return public.undo(project.pk, entry_id, number=number, by=by_of(actor))
    except public.Refused as error:
        raise Conflict(str(error)) from None


def may_undo(entry: KeptEntry, last: KeptVersion, *, actor: Actor) -> bool:
    """Whether `actor` made the entry's last change, or is an admin of its project."""
    if actor.user is not None:
        return last.by_id == actor.user.pk or may_undo_others(entry.project_id, actor=actor)
    if actor.api_key is None or actor.api_key.project_id != entry.project_id:
        return False
    return may_undo_others(entry.project_id, actor=actor) or _last_with(entry) == actor.api_key.pk


def may_undo_deed(deed: AuditEntry, *, actor: Actor) -> bool:
    """Whether `actor` did what the trail tells, or is an admin of its project."""
    if actor.user is not None:
        return deed.user_id == actor.user.pk or may_undo_others(deed.project_id, actor=actor)
    if actor.api_key is None or actor.api_key.project_id != deed.project_id:
        return False
    return may_undo_others(deed.project_id, actor=actor) or deed.api_key_id == actor.api_key.pk


def _last_with(entry: KeptEntry) -> UUID | None:
    """The key that the entry was changed with last. Its label is no proof: keys may have the same name."""
    trail = AuditEntry.objects.filter(target_id=entry.id, target=KIND).order_by("-created_at", "-id")
    return trail.values_list("api_key_id", flat=True).first()
