"""Who belongs to a project, and as what. A project always keeps an admin."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.adapters.live import ring_person
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import ActionError, Conflict, NotFound, wrong
from reflection_app.core.models import ApiKey, Membership, Project, Role, digest_of
from reflection_app.core.permissions import Permission, member_may
from reflection_app.core.rights import key_revoked, review_right_ended
from reflection_app.teams.models import Invitation

# What only people do to members, and what is left of somebody who is an admin no more.


class PeopleOnly(ActionError):
    """A key may not do it, whatever its scopes."""

    status = 403
    title = gettext_noop("Not allowed for API keys")
    slug = "only-for-people"


def check_may_touch_admins(actor: Actor, *roles: str) -> None:
    """Raises PeopleOnly where a key would change an admin, who has one of these roles."""
    if actor.api_key is not None and Role.ADMIN in roles:
        raise PeopleOnly(_("API keys cannot add or change admins. Ask an admin to do it."))


def check_may_give(actor: Actor, role: Role) -> None:
    """Raises PeopleOnly where a key would give somebody a role that may do more than read.

    What no key may do (making keys) or only of others' work (deciding, curating), it could else do by somebody of its
    own making.
    """
    if actor.api_key is not None and role is not Role.VIEWER:
        raise PeopleOnly(_("An API key can only add viewers. Ask an admin to assign other roles."))


def revoke_invitations_of(project: Project, user_id: int, *, actor: Actor) -> None:
    """Revoke the open invitations of the person and of their keys: they would lead back in."""
    _revoke(project.pk, Q(created_by=user_id) | Q(created_by_key__created_by=user_id), actor=actor)


def _revoke(project_id: UUID, made: Q, *, actor: Actor) -> None:
    # Not only usable ones: those of a revoked key are none already.
    still_open = Invitation.objects.filter(made, accepted_at__isnull=True, revoked_at__isnull=True)
    rows = still_open.select_for_update(of=("self",)).filter(project=project_id, expires_at__gt=timezone.now())
    for invitation in rows:
        invitation.revoked_at = timezone.now()
        invitation.save(update_fields=["revoked_at"])
        before = {"role": invitation.role, "email": invitation.email}
        audit(project_id, actor, "invitation.revoked", target=invitation, before=before)


# Keys of a person who leaves, gets a lower role, or has their account disabled.


@dataclass(frozen=True)
class KeysLeft:
    """The keys of one maker: those revoked just now, and those that go on working."""

    revoked: tuple[ApiKey, ...] = ()
    remaining: tuple[ApiKey, ...] = ()


def keys_made_by(project: Project, user_id: int) -> QuerySet[ApiKey]:
    """Return the person's keys that are neither revoked nor expired, oldest first."""
    alive = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    keys = ApiKey.objects.filter(alive, project=project, created_by=user_id, revoked_at__isnull=True)
    return keys.order_by("created_at", "id")


def end_keys_of(project: Project, user_id: int, *, revoke: bool, actor: Actor) -> KeysLeft:
    """Revoke the person's keys if asked to, in a transaction that has locked the project."""
    keys = tuple(keys_made_by(project, user_id))
    if not revoke:
        return KeysLeft(remaining=keys)
    for key in keys:
        revoke_api_key(key, actor=actor)
    return KeysLeft(revoked=keys)


@transaction.atomic
def revoke_api_key(key: ApiKey, *, actor: Actor) -> None:
    """Revoke the key, release what it holds, revoke its invitations and remove the members who came by them.

    Revoking it twice changes nothing.
    """
    lock_members(key.project)
    if ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=timezone.now()):
        audit(key.project_id, actor, "api_key.revoked", target=key, before={"name": key.name})
        _revoke(key.project_id, Q(created_by_key=key), actor=actor)
        key_revoked.send(sender=ApiKey, key=key, actor=actor)
        for user_id in brought_by(key).values_list("user_id", flat=True):
            remove_member(key.project, user_id, actor=actor)


def brought_by(key: ApiKey) -> QuerySet[Membership]:
    """The members whom an invitation of the key made members and to whom no person gave a role since.

    An admin is never among them: no key makes one, and a person who did has given them a role.
    """
    members = Membership.objects.filter(project=key.project_id, invited_by_key=key).exclude(role=Role.ADMIN)
    return members.select_related("user").order_by("user__username")


class LastAdmin(Conflict):
    """The project would have no admin left."""

    title = gettext_noop("Last admin")
    slug = "the-last-admin"


def read_role(role: str) -> Role:
    """The role. Raises InvalidInput."""
    if role not in Role.values:
        raise wrong("role", _("one of %(names)s") % {"names": ", ".join(Role.values)}, said=_("Unknown role."))
    return Role(role)


@dataclass(frozen=True)
class RoleChange:
    membership: Membership
    keys: KeysLeft = KeysLeft()


@transaction.atomic
def change_role(project: Project, user_id: int, *, role: str, actor: Actor, revoke_keys: bool = True) -> RoleChange:
    """Give the member another role. Raises InvalidInput, NotFound, LastAdmin, or PeopleOnly.

    Who came by a key's invitation stays from then on when the key is revoked. A lower role revokes the keys that the
    member made, unless `revoke_keys` is False. Open invitations of a former admin are revoked. Holds, assignments and
    queue places end with the right to review.
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
        return RoleChange(membership)
    before, could_review = Role(membership.role), member_may(membership, Permission.REVIEW)
    if before is Role.ADMIN:
        _keep_an_admin(project, leaving=membership)
    membership.role = wanted
    membership.save(update_fields=["role"])
    transaction.on_commit(lambda: ring_person(user_id))
    name = membership.user.get_username()
    had, has = {"name": name, "role": before.value}, {"name": name, "role": wanted.value}
    audit(project.pk, actor, "member.role_changed", target=project, before=had, after=has)
    if before is Role.ADMIN:
        revoke_invitations_of(project, user_id, actor=actor)
    if could_review and not member_may(membership, Permission.REVIEW):
        review_right_ended.send(sender=Membership, project_id=project.pk, user_id=user_id, actor=actor)
    is_lower = wanted.rank < before.rank
    keys = end_keys_of(project, user_id, revoke=revoke_keys, actor=actor) if is_lower else KeysLeft()
    return RoleChange(membership, keys)


@transaction.atomic
def remove_member(project: Project, user_id: int, *, actor: Actor, revoke_keys: bool = True) -> KeysLeft:
    """Remove the member with their holds, assignments, queue places and open invitations; return their keys.

    What they wrote and decided stays. Raises NotFound, LastAdmin, or PeopleOnly.
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
    review_right_ended.send(sender=Membership, project_id=project.pk, user_id=user_id, actor=actor)
    keys = end_keys_of(project, user_id, revoke=revoke_keys, actor=actor)
    # Pages of theirs that are open end at once.
    transaction.on_commit(lambda: ring_person(user_id))
    return keys


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
    lock_members(project)
    membership = Membership.objects.select_related("user").filter(project=project, user_id=user_id).first()
    if membership is None:
        raise NotFound(_("Member not found."))
    return membership


def lock_members(project: Project) -> None:
    """One lock for all changes to a project's members: of two admins who remove each other, one is refused."""
    # Not the key's lock: rows that name the project are written by deciders, whose runs are locked here afterwards.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def _keep_an_admin(project: Project, *, leaving: Membership) -> None:
    others = Membership.objects.filter(project=project, role=Role.ADMIN, user__is_active=True).exclude(pk=leaving.pk)
    if not others.exists():
        raise LastAdmin(_("This is the project's last admin. Make another member an admin first."))


# Invitations by link: made, revoked, and accepted once. The link's secret is shown once and kept as a hash.

USUAL_DAYS = 7
MOST_DAYS = 90
MOST_OPEN = 200


class InvitationGone(Conflict):
    """The invitation was used, revoked, or has expired."""

    title = gettext_noop("Invitation no longer valid")
    slug = "this-invitation-no-longer-works"


class OtherAddress(ActionError):
    """The invitation is for an e-mail address that the account has not confirmed."""

    status = 403
    title = gettext_noop("Different email address")
    slug = "for-another-address"


@dataclass(frozen=True)
class NewInvitation:
    invitation: Invitation
    secret: str


@transaction.atomic
def create_invitation(
    project: Project, *, role: str, actor: Actor, email: str = "", days: int = USUAL_DAYS
) -> NewInvitation:
    """The invitation and its secret, which is not stored and cannot be shown again.

    Raises InvalidInput, PeopleOnly, or Conflict.
    """
    wanted, address = read_role(role), email.strip()
    if address:
        try:
            validate_email(address)
        except ValidationError:
            raise wrong("email", _("Invalid email address.")) from None
        if not settings.MAIL_OPTIONS and not settings.OIDC_APPS:
            raise wrong("email", _("This server sends no email, so the address could not be confirmed."))
    check_may_give(actor, wanted)
    if not 1 <= days <= MOST_DAYS:
        raise wrong("days", _("1 to %(most)s days") % {"most": MOST_DAYS}, said=_("Set when the invitation expires."))
    Project.objects.select_for_update().get(pk=project.pk)
    if Invitation.objects.usable().filter(project=project).count() >= MOST_OPEN:
        raise Conflict(_("This project has %(most)s open invitations. Revoke some first.") % {"most": MOST_OPEN})
    secret = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        project=project,
        role=wanted,
        email=address,
        digest=digest_of(secret),
        created_by=actor.user,
        created_by_key=actor.api_key,
        created_by_label=actor.label,
        expires_at=timezone.now() + timedelta(days=days),
    )
    audit(project.pk, actor, "invitation.created", target=invitation, after={"role": wanted.value, "email": address})
    return NewInvitation(invitation, secret)


@transaction.atomic
def revoke_invitation(invitation: Invitation, *, actor: Actor) -> None:
    """The link works no more; revoking it twice, or after it was used, changes nothing."""
    open_one = Invitation.objects.filter(pk=invitation.pk, revoked_at__isnull=True, accepted_at__isnull=True)
    if open_one.update(revoked_at=timezone.now()):
        before = {"role": invitation.role, "email": invitation.email}
        audit(invitation.project_id, actor, "invitation.revoked", target=invitation, before=before)


def find_invitation(digest: str, *, lock: bool = False) -> Invitation | None:
    """The usable invitation whose secret has this digest, with its project; None where there is none."""
    rows = Invitation.objects.usable().filter(project__deleted_at__isnull=True, digest=digest)
    if lock:
        rows = rows.select_for_update(of=("self",))
    return rows.select_related("project", "created_by_key").first()


@transaction.atomic
def accept_invitation(digest: str, *, actor: Actor) -> Membership:
    """The membership of the person who accepts. Raises InvitationGone, or OtherAddress where it names another's."""
    user = actor.user
    assert user is not None
    invitation = find_invitation(digest, lock=True)
    if invitation is None:
        raise InvitationGone(_("This invitation was used, revoked or has expired. Ask for a new one."))
    if not is_for(invitation, user):
        raise OtherAddress(
            _("This invitation is for %(email)s. Confirm this address in your profile, then open the link again.")
            % {"email": invitation.email}
        )
    role = read_role(invitation.role)
    membership = add_member(invitation.project, user, role=role, actor=actor, invited_by_key=invitation.created_by_key)
    Invitation.objects.filter(pk=invitation.pk).update(accepted_by=user, accepted_at=timezone.now())
    after = {"name": user.get_username(), "role": invitation.role}
    audit(invitation.project_id, actor, "invitation.accepted", target=invitation, after=after)
    return membership


def is_for(invitation: Invitation, user: User) -> bool:
    """Whether this person may accept it: anybody, unless it names an address, which they must have confirmed."""
    if not invitation.email:
        return True
    confirmed = EmailAddress.objects.filter(user=user, email__iexact=invitation.email, verified=True)
    return bool(confirmed.exists())
