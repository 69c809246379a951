"""Deleting a project: from the moment of it nobody reaches it any more; a worker takes its rows away."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput, NotFound
from reflection_app.core.models import ApiKey, Project
from reflection_app.runs.jobs import enqueue_taking_away
from reflection_app.teams.models.invitation import Invitation
from reflection_app.teams.models.webhook import Webhook


@transaction.atomic
def delete_project(project: Project, *, typed_name: str, actor: Actor) -> Project:
    """The project, deleted. Its short name is free again, its keys, invitations and webhooks work no more.

    Raises InvalidInput where `typed_name` is not its name, and NotFound where it was deleted before.
    """
    if typed_name.strip() != project.name.strip():
        message = _("Type the project's name just as it is: %(name)s") % {"name": project.name}
        raise InvalidInput(message, errors=[{"field": "typed_name", "message": message}])
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if locked.deleted_at is not None:
        raise NotFound(_("The project was deleted already."))
    now, former = timezone.now(), locked.slug
    locked.deleted_at, locked.slug = now, f"deleted-{locked.pk.hex}"
    locked.save(update_fields=["deleted_at", "slug"])
    ApiKey.objects.filter(project=locked, revoked_at__isnull=True).update(revoked_at=now)
    Invitation.objects.filter(project=locked, revoked_at__isnull=True).update(revoked_at=now)
    # Else the runs that are cancelled next would be told to somebody for whom the project is gone.
    Webhook.objects.filter(project=locked).update(is_enabled=False)
    audit(locked.pk, actor, "project.deleted", target=locked, before={"slug": former, "name": locked.name})
    transaction.on_commit(lambda: enqueue_taking_away(locked.pk))
    return locked
