"""End the ownership of notebook entries when a person leaves the project."""

from typing import Any
from uuid import UUID

from django.dispatch import receiver

from notebook_app.entry_filter import EntryFilter
from notebook_app.listing import Listing, entry_rows, owners
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
    owned = entry_rows(project_id, Listing(EntryFilter(states=()), owner_id=user_id)).order_by("pk")
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        return
    for entry_id in list(owned.values_list("pk", flat=True)):
        own_entry(project, entry_id, OwnerInput(owner=None), actor=actor)


def departed_owners() -> set[tuple[UUID, int]]:
    """Return the project and person of each entry whose owner is no active member."""
    members = Membership.objects.filter(user__is_active=True)
    return {(project, owner) for project, owner in owners() if not members.filter(project=project, user=owner).exists()}
