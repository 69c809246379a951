"""What only people do to members, and what is left of somebody who is an admin no more."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import ActionError
from reflection_app.core.models import ApiKey, Project, Role
from reflection_app.teams.models.invitation import Invitation


class PeopleOnly(ActionError):
    """A key may not do it, whatever its scopes."""

    status = 403
    title = gettext_noop("Only for people")


def check_may_touch_admins(actor: Actor, *roles: str) -> None:
    """Raises PeopleOnly where a key would change an admin, who has one of these roles."""
    if actor.api_key is not None and Role.ADMIN in roles:
        raise PeopleOnly(_("Admins are made and changed by people who are admins, not by keys."))


def check_may_give(actor: Actor, role: Role) -> None:
    """Raises PeopleOnly where a key would give somebody a role that may do more than read.

    What no key may do (making keys) or only of others' work (deciding, curating), it could else do by somebody of its
    own making.
    """
    if actor.api_key is not None and role is not Role.VIEWER:
        raise PeopleOnly(_("A key makes viewers only. Other roles are given by people who are admins."))


def revoke_invitations_of(project: Project, user_id: int, *, actor: Actor) -> None:
    """The links that the person made and nobody has followed work no more: they would lead back in."""
    _revoke(project.pk, actor=actor, created_by_id=user_id)


def revoke_invitations_of_key(key: ApiKey, *, actor: Actor) -> None:
    """The same of a key."""
    _revoke(key.project_id, actor=actor, created_by_key=key)


def _revoke(project_id: UUID, *, actor: Actor, **made: Any) -> None:
    # Not only usable ones: those of a revoked key are none already.
    still_open = Invitation.objects.filter(accepted_at__isnull=True, revoked_at__isnull=True)
    for invitation in still_open.select_for_update().filter(project=project_id, expires_at__gt=timezone.now(), **made):
        invitation.revoked_at = timezone.now()
        invitation.save(update_fields=["revoked_at"])
        before = {"role": invitation.role, "email": invitation.email}
        audit(project_id, actor, "invitation.revoked", target=invitation, before=before)
