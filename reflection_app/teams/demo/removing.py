"""Removing the demo: its project, all that is in it, and its people, at once."""

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Membership, Project
from reflection_app.metrics.models import FigureDue
from reflection_app.runs.models import Run
from reflection_app.sessions.models import LookBackDue
from reflection_app.teams.retention import delete_project, take_project_away

# Longer than it takes; the worker goes on with what is left then.
LONGEST_S = 20.0


def remove_demo(project: Project, *, actor: Actor) -> None:
    """Nothing of the demo is left but the trail. Raises NotFound where the project is no demo, or is gone."""
    with transaction.atomic():
        locked = Project.objects.select_for_update().filter(pk=project.pk, is_demo=True, deleted_at=None).first()
        if locked is None:
            raise NotFound(_("The demo was already removed."))
        people = list(Membership.objects.filter(project=locked).values_list("user_id", flat=True))
        delete_project(locked, typed_name=locked.name, actor=actor)
    runs = list(Run.objects.filter(project=project.pk).values_list("pk", flat=True))
    take_project_away(project.pk, longest_s=LONGEST_S)
    # Notes of figures and of ends that the runs left behind when they were cancelled.
    FigureDue.objects.filter(run_id__in=runs).delete()
    LookBackDue.objects.filter(run_id__in=runs).delete()
    # The demo's own: nobody of them can log in, nor ever did, and none is a member elsewhere. Who comes by single
    # sign-on has no password either, and is a person all the same, also after their leave.
    own = User.objects.filter(
        pk__in=people,
        is_active=False,
        password__startswith=UNUSABLE_PASSWORD_PREFIX,
        memberships__isnull=True,
        last_login=None,
        email="",
    )
    own.delete()
