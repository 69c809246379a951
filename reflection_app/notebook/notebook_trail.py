"""What the audit trail keeps of a change of the notebook, and who the notebook is told made it."""

from typing import Any
from uuid import UUID

from django.db import transaction

from notebook_app.public import By, KeptEntry, KeptVersion, versions_of
from reflection_app.adapters.doorbell import ring_reviews
from reflection_app.core.audit import Actor, Target, audit

KIND = "entry"
# Long texts stand in the version; the trail names them.
SHORT = ("kind", "name", "agent", "category", "tags", "owner_id", "is_cleared")
LONG = ("description", "content", "details")


def by_of(actor: Actor) -> By:
    """Who acts, as the notebook keeps it."""
    return By(actor.label, actor.user.pk if actor.user else None)


def note(entry: KeptEntry, action: str, *, actor: Actor, more: dict[str, Any] | None = None) -> None:
    """Adds the entry's last change to the trail and rings for the pages; inside the transaction of the change."""
    now, *earlier = versions_of(entry, most=2)
    before, after = _told(earlier[0] if earlier else None, now)
    audit(entry.project_id, actor, action, target=Target(KIND, entry.id), before=before, after=after | (more or {}))
    ring_notebook(entry.project_id)


def ring_notebook(project_id: UUID) -> None:
    """Tells open pages, once this is committed, that something of the notebook is another by now."""
    transaction.on_commit(lambda: ring_reviews(project_id))


def _told(was: KeptVersion | None, now: KeptVersion) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state and what differs, before and after; of long texts only which they are."""
    after: dict[str, Any] = {"state": now.state.value, "version": now.number}
    if now.reason:
        after["reason"] = now.reason
    if was is None:
        return {}, after | {name: now.kept[name] for name in SHORT if now.kept.get(name)}
    before: dict[str, Any] = {"state": was.state.value, "version": was.number}
    for name in SHORT:
        if was.kept.get(name) != now.kept.get(name):
            before[name], after[name] = was.kept.get(name), now.kept.get(name)
    texts = [name for name in LONG if was.kept.get(name) != now.kept.get(name)]
    return before, after | ({"texts": texts} if texts else {})
