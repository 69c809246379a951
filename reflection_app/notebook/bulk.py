"""Many entries curated together with one reason: each by itself, so that one that is refused keeps no other back."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection
from django.utils.translation import gettext as _
from pydantic import Field

from notebook_app.changing import lock_notebook
from notebook_app.public import Entry
from reflection_app.core.audit import Actor, AuditEntry, Target, audit
from reflection_app.core.errors import ActionError, Conflict, NotFound, NotYours, wrong
from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.values import Value
from reflection_app.notebook import curating
from reflection_app.notebook.curating import may_undo, undo_curation
from reflection_app.notebook.input import CurationInput, OwnerInput, Reason, Tags, TagsInput, UndoInput
from reflection_app.notebook.proposing import get_entry_for

MOST_ENTRIES = 500
KIND = "entrybulk"
CURATED = "entries.curated"
UNDONE = "entries.undone"


class BulkDeed(StrEnum):
    """Action of a bulk change."""

    APPROVE = "approve"
    REJECT = "reject"
    RETIRE = "retire"
    REOPEN = "reopen"
    CLEAR = "clear"
    ADD_TAGS = "add_tags"
    REMOVE_TAGS = "remove_tags"
    OWN = "own"


class BulkCuration(Value):
    """One action for all entries, with one reason. An entry that it cannot apply to is refused; the others are not."""

    entries: Annotated[tuple[UUID, ...], Field(min_length=1, max_length=MOST_ENTRIES)]
    do: BulkDeed
    reason: Reason = Field(default="", description="required to retire")
    tags: Tags = Field(default=(), description="for add_tags and remove_tags")
    owner: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(
        default=None, description="for `own`: username of a member, or null for no owner"
    )


@dataclass(frozen=True)
class BulkItemResult:
    """What became of one entry: its version after the change, or why it was refused."""

    entry_id: UUID
    is_done: bool
    why: str = ""
    version: int | None = None
    recalled: int = 0


@dataclass(frozen=True)
class BulkResult:
    """What became of each, in the order in which they were given; `id` takes it back."""

    id: UUID
    items: tuple[BulkItemResult, ...]

    @property
    def done(self) -> int:
        return sum(item.is_done for item in self.items)


def curate_together(project: Project, data: BulkCuration, *, actor: Actor) -> BulkResult:
    """What became of each entry; every one is changed, and told in the trail, by itself. Raises InvalidInput."""
    if data.do is BulkDeed.RETIRE and not data.reason.strip():
        raise wrong("reason", _("Enter a reason for retiring the entries."))
    if data.do in {BulkDeed.ADD_TAGS, BulkDeed.REMOVE_TAGS} and not any(tag.strip() for tag in data.tags):
        raise wrong("tags", _("Enter at least one tag."))
    owner = None
    if data.do is BulkDeed.OWN and data.owner is not None:
        owner = curating.owner_named(project, data.owner)
    _lock_together(project)
    items = []
    for entry_id in dict.fromkeys(data.entries):
        try:
            before = get_entry_for(project, entry_id)
            entry = _curate(project, data, owner, before, actor=actor)
        except ActionError as error:
            items.append(BulkItemResult(entry_id, is_done=False, why=str(error)))
            continue
        # What was so already has no version that could be taken back.
        version = entry.version if entry.version != before.version else None
        items.append(BulkItemResult(entry_id, is_done=True, version=version))
    bulk = BulkResult(new_id(), tuple(items))
    after = {
        "do": data.do.value,
        "reason": data.reason,
        "versions": {str(item.entry_id): item.version for item in items if item.version is not None},
        "refused": len(items) - bulk.done,
    }
    audit(project.pk, actor, CURATED, target=Target(KIND, bulk.id), after=after)
    return bulk


def undo_together(project: Project, bulk_id: UUID, *, actor: Actor) -> BulkResult:
    """What became of each entry when the bulk was taken back; one that was changed since stays as it is.

    Raises NotFound; NotYours; Conflict where it was taken back already.
    """
    trail = AuditEntry.objects.filter(project=project, target=KIND, target_id=bulk_id)
    begun = trail.filter(action=CURATED).first()
    if begun is None:
        raise NotFound(_("Bulk change not found."))
    if not may_undo(project.pk, user_id=begun.user_id, key_id=begun.api_key_id, actor=actor):
        raise NotYours(_("Only %(who)s and admins can undo this.") % {"who": begun.actor_label})
    if trail.filter(action=UNDONE).exists():
        raise Conflict(_("This bulk change was already undone."))
    _lock_together(project)
    items = []
    for named, version in sorted(begun.after["versions"].items()):
        entry_id = UUID(named)
        try:
            one = undo_curation(project, entry_id, UndoInput(expected_version=version), actor=actor)
        except ActionError as error:
            items.append(BulkItemResult(entry_id, is_done=False, why=str(error)))
            continue
        items.append(BulkItemResult(entry_id, is_done=True, version=one.entry.version, recalled=one.recalled))
    undone = BulkResult(bulk_id, tuple(items))
    after = {"done": undone.done, "refused": len(items) - undone.done}
    audit(project.pk, actor, UNDONE, target=Target(KIND, bulk_id), after=after)
    return undone


def _lock_together(project: Project) -> None:
    """Inside of a transaction of the caller's every entry stays locked until its end: one such at a time, then."""
    if connection.in_atomic_block:
        lock_notebook(project.pk)


def _curate(project: Project, data: BulkCuration, owner: User | None, before: Entry, *, actor: Actor) -> Entry:
    """One of them as it is then; nothing is done where it is so already."""
    curation = CurationInput(reason=data.reason)
    if data.do is BulkDeed.OWN:
        name = owner.get_username() if owner else None
        if before.owner_id == (owner.pk if owner else None):
            return before
        return curating.own_entry(project, before.id, OwnerInput(owner=name), actor=actor)
    if data.do in {BulkDeed.ADD_TAGS, BulkDeed.REMOVE_TAGS}:
        named = [" ".join(tag.split()) for tag in data.tags if tag.strip()]
        if data.do is BulkDeed.ADD_TAGS:
            tags = [*before.tags, *(tag for tag in named if tag not in before.tags)]
        else:
            tags = [tag for tag in before.tags if tag not in named]
        if tags == before.tags:
            return before
        # Not validated as an input: one tag too many is refused for this entry alone.
        wanted: Any = TagsInput.model_construct(tags=tuple(tags), expected_version=before.version)
        return curating.tag_entry(project, before.id, wanted, actor=actor)
    deeds: dict[BulkDeed, Callable[..., Entry]] = {
        BulkDeed.APPROVE: curating.approve_entry,
        BulkDeed.REJECT: curating.reject_entry,
        BulkDeed.RETIRE: curating.retire_entry,
        BulkDeed.REOPEN: curating.reopen_entry,
        BulkDeed.CLEAR: curating.clear_flags,
    }
    return deeds[data.do](project, before.id, curation, actor=actor)
