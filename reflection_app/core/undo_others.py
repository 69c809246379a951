"""Who may take back what somebody else decided, curated or began."""

from uuid import UUID

from reflection_app.core.audit import Actor
from reflection_app.core.models.project import Membership
from reflection_app.core.permissions import Permission, key_may, member_may


def may_undo_others(project_id: UUID, *, actor: Actor) -> bool:
    """Whether the matrix lets `actor` take back in this project what others did."""
    if actor.user is not None:
        membership = Membership.objects.filter(project=project_id, user=actor.user).first()
        return membership is not None and member_may(membership, Permission.UNDO_OTHERS)
    if actor.api_key is None or actor.api_key.project_id != project_id:
        return False
    return key_may(actor.api_key, Permission.UNDO_OTHERS)
