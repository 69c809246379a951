"""Who belongs to a project, and as what. A project always keeps an admin."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.adapters.doorbell import ring_person
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, InvalidInput, NotFound
from reflection_app.core.models import ApiKey, Membership, Project, Role
from reflection_app.teams.admins import check_may_give, check_may_touch_admins, revoke_invitations_of


class LastAdmin(Conflict):
    """The project would have no admin left."""

    title = gettext_noop("The last admin")


def read_role(role: str) -> Role:
    """The role. Raises InvalidInput."""
    if role not in Role.values:
        message = _("one of %(names)s") % {"names": ", ".join(Role.values)}
        raise InvalidInput(_("There is no such role."), errors=[{"field": "role", "message": message}])
    return Role(role)


@transaction.atomic
def change_role(project: Project, user_id: int, *, role: str, actor: Actor) -> Membership:
    """The member with the new role. Raises InvalidInput, NotFound, LastAdmin, or PeopleOnly.

    Who came by a key's invitation stays from then on when the key is revoked. Of whoever is an admin no more, the open
    invitations are revoked.
    """
    membership = _locked_member(project, user_id)
    wanted = read_role(role)
    check_may_touch_admins(actor, membership.role)
    check_may_give(actor, wanted)
    if actor.api_key is None and membership.invited_by_key_id is not None:
        # A person has vouched for them, be it with the role that they have.
        membership.invited_by_key = None
        membership.save(update_fields=["invited_by_key"])
        kept = {"name": membership.user.get_username(), "role": membership.role}
        audit(project.pk, actor, "member.confirmed", target=project, after=kept)
    if membership.role == wanted:
        return membership
    before = membership.role
    if before == Role.ADMIN:
        _keep_an_admin(project, leaving=membership)
    membership.role = wanted
    membership.save(update_fields=["role"])
    transaction.on_commit(lambda: ring_person(user_id))
    name = membership.user.get_username()
    had, has = {"name": name, "role": before}, {"name": name, "role": wanted.value}
    audit(project.pk, actor, "member.role_changed", target=project, before=had, after=has)
    if before == Role.ADMIN:
        revoke_invitations_of(project, user_id, actor=actor)
    return membership


@transaction.atomic
def remove_member(project: Project, user_id: int, *, actor: Actor) -> None:
    """The person is no longer a member; what they wrote and decided stays, but for their open invitations.

    Raises NotFound, LastAdmin, or PeopleOnly.
    """
    membership = _locked_member(project, user_id)
    check_may_touch_admins(actor, membership.role)
    if membership.role == Role.ADMIN:
        _keep_an_admin(project, leaving=membership)
    before = {"name": membership.user.get_username(), "role": membership.role}
    membership.delete()
    is_self = actor.user is not None and actor.user.pk == user_id
    audit(project.pk, actor, "member.left" if is_self else "member.removed", target=project, before=before)
    revoke_invitations_of(project, user_id, actor=actor)
    # Pages of theirs that are open end at once.
    transaction.on_commit(lambda: ring_person(user_id))


def add_member(
    project: Project, user: User, *, role: Role, actor: Actor, invited_by_key: ApiKey | None = None
) -> Membership:
    """The membership; who is a member already keeps the role that they have, unless the new one may more.

    Call it in a transaction of its own change, which this is a part of.
    """
    membership, is_new = Membership.objects.select_for_update().get_or_create(
        project=project, user=user, defaults={"role": role, "invited_by_key": invited_by_key}
    )
    if not is_new and Role(membership.role).rank >= role.rank:
        return membership
    name = user.get_username()
    after = {"name": name, "role": role.value}
    if is_new:
        by_key = {"invited_by": Actor(api_key=invited_by_key).label} if invited_by_key else {}
        audit(project.pk, actor, "member.added", target=project, after=after | by_key)
        return membership
    before = {"name": name, "role": membership.role}
    membership.role = role
    membership.save(update_fields=["role"])
    audit(project.pk, actor, "member.role_changed", target=project, before=before, after=after)
    return membership


def _locked_member(project: Project, user_id: int) -> Membership:
    # One lock for all changes to a project's members: of two admins who remove each other, one is refused.
    Project.objects.select_for_update().get(pk=project.pk)
    membership = Membership.objects.select_related("user").filter(project=project, user_id=user_id).first()
    if membership is None:
        raise NotFound(_("There is no such member."))
    return membership


def _keep_an_admin(project: Project, *, leaving: Membership) -> None:
    others = Membership.objects.filter(project=project, role=Role.ADMIN, user__is_active=True).exclude(pk=leaving.pk)
    if not others.exists():
        raise LastAdmin(_("This is the project's last admin. Make somebody else an admin first."))
