"""Making and revoking the keys of pipelines."""

from datetime import datetime
from itertools import count

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import ApiKey, Membership, Project, Role, Scope, digest_of, new_secret
from reflection_app.teams.admins import revoke_invitations_of_key
from reflection_app.teams.members import remove_member

LONGEST_NAME = 120
# A pipeline hands in and reads. Deciding is asked for by name: whoever hands in work is not to judge it as well.
USUAL_SCOPES = (Scope.TASKS_WRITE, Scope.RUNS_READ)


@transaction.atomic
def create_api_key(
    project: Project,
    *,
    name: str,
    scopes: list[str],
    actor: Actor,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """The key's row and its secret, which is not stored and cannot be shown again. Raises InvalidInput."""
    unknown = sorted(set(scopes) - set(Scope.values))
    if unknown or not scopes:
        raise InvalidInput(
            _("Unknown scopes: %(names)s.") % {"names": ", ".join(unknown)}
            if unknown
            else _("A key needs at least one scope."),
            errors=[{"field": "scopes", "message": _("one or more of %(names)s") % {"names": ", ".join(Scope.values)}}],
        )
    if not name.strip() or len(name) > LONGEST_NAME:
        raise InvalidInput(_("A key needs a name."), errors=[{"field": "name", "message": _("1 to 120 characters")}])
    secret = new_secret()
    key = ApiKey.objects.create(
        project=project,
        name=_free_name(project, name.strip()),
        hint=secret[:8],
        digest=digest_of(secret),
        scopes=sorted(set(scopes)),
        created_by=actor.user,
        created_by_label=actor.user.get_username() if actor.user else "",
        expires_at=expires_at,
    )
    audit(project.pk, actor, "api_key.created", target=key, after={"name": key.name, "scopes": key.scopes})
    return key, secret


def _free_name(project: Project, name: str) -> str:
    """`name`, numbered where the project has had a key of that name: reviewers are told apart by it."""
    taken = set(ApiKey.objects.filter(project=project).values_list("name", flat=True))
    numbered = (f"{name[: LONGEST_NAME - 6]} {number}" for number in count(2))
    return name if name not in taken else next(other for other in numbered if other not in taken)


@transaction.atomic
def revoke_api_key(key: ApiKey, *, actor: Actor) -> None:
    """Revokes the key at once, and the invitations it made, and removes the members who came by them.

    Revoking it twice changes nothing.
    """
    if ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=timezone.now()):
        audit(key.project_id, actor, "api_key.revoked", target=key, before={"name": key.name})
        revoke_invitations_of_key(key, actor=actor)
        for user_id in brought_by(key).values_list("user_id", flat=True):
            remove_member(key.project, user_id, actor=actor)


def brought_by(key: ApiKey) -> QuerySet[Membership]:
    """The members whom an invitation of the key made members and to whom no person gave a role since.

    An admin is never among them: no key makes one, and a person who did has given them a role.
    """
    members = Membership.objects.filter(project=key.project_id, invited_by_key=key).exclude(role=Role.ADMIN)
    return members.select_related("user").order_by("user__username")
