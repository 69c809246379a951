"""Invitations by link: made, revoked, and accepted once. The link's secret is shown once and kept as a hash."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import ActionError, Conflict, InvalidInput
from reflection_app.core.models import Membership, Project, digest_of
from reflection_app.teams.admins import check_may_give
from reflection_app.teams.members import add_member, read_role
from reflection_app.teams.models.invitation import Invitation

USUAL_DAYS = 7
MOST_DAYS = 90
MOST_OPEN = 200


class InvitationGone(Conflict):
    """The invitation was used, revoked, or has expired."""

    title = gettext_noop("This invitation no longer works")


class OtherAddress(ActionError):
    """The invitation is for an e-mail address that the account has not confirmed."""

    status = 403
    title = gettext_noop("For another address")


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
    wanted, address = read_role(role), _read_email(email)
    check_may_give(actor, wanted)
    if not 1 <= days <= MOST_DAYS:
        message = _("1 to %(most)s days") % {"most": MOST_DAYS}
        raise InvalidInput(_("When should the invitation expire?"), errors=[{"field": "days", "message": message}])
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


def _read_email(email: str) -> str:
    address = email.strip()
    if not address:
        return ""
    try:
        validate_email(address)
    except ValidationError:
        message = _("This is no e-mail address.")
        raise InvalidInput(message, errors=[{"field": "email", "message": message}]) from None
    if not settings.MAIL_OPTIONS and not settings.OIDC_APPS:
        message = _("This desk sends no mail, so nobody could confirm the address.")
        raise InvalidInput(message, errors=[{"field": "email", "message": message}])
    return address


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
        raise InvitationGone(_("This invitation was used already, was revoked, or is too old. Ask for another."))
    if not is_for(invitation, user):
        raise OtherAddress(
            _("This invitation is for %(email)s. Confirm this address in your profile, then follow the link again.")
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
