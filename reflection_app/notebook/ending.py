"""End the ownership of notebook entries when a person leaves the project."""

from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.dispatch import receiver

from notebook_app.models import Entry
from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Project
from reflection_app.core.rights import review_right_ended
from reflection_app.notebook.curating import own_entry
from reflection_app.notebook.input import OwnerInput


@receiver(review_right_ended, dispatch_uid="end-ownership-of-entries")
def end_ownership_of(*, project_id: UUID, user_id: int, actor: Actor, **_signal: Any) -> None:
    """Leave the person's entries without an owner, unless they are still a member: any member may own entries."""
    if Membership.objects.filter(project=project_id, user=user_id, user__is_active=True).exists():
        return
    owned = Entry.objects.filter(project_id=project_id, owner=user_id).order_by("pk").values_list("pk", flat=True)
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        return
    for entry_id in list(owned):
        own_entry(project, entry_id, OwnerInput(owner=None), actor=actor)


def departed_owners() -> set[tuple[UUID, int]]:
    """Return the project and person of each entry whose owner is no active member."""
    members = Membership.objects.filter(project=OuterRef("project_id"), user=OuterRef("owner"), user__is_active=True)
    rows = Entry.objects.filter(~Exists(members), owner__isnull=False).order_by()
    return {(project_id, owner) for project_id, owner in rows.values_list("project_id", "owner").distinct() if owner}
