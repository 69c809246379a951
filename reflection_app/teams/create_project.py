"""Making a project. Who makes it is its first admin."""

import re
from itertools import count

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.models import Project, Role
from reflection_app.loops.storable import storable
from reflection_app.teams.members import add_member

LONGEST_NAME = 120
LONGEST_SLUG = 60
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class MayNotCreate(ActionError):
    """Only staff may make projects here."""

    status = 403
    title = gettext_noop("Not allowed here")


def may_create_projects(user: User) -> bool:
    """Whether the desk's setting PROJECT_CREATORS lets this person make projects."""
    return bool(settings.PROJECT_CREATORS == "everyone" or user.is_staff)


@transaction.atomic
def create_project(user: User, *, name: str, slug: str = "", actor: Actor) -> Project:
    """The new project; without `slug` its address is made of its name. Raises InvalidInput or MayNotCreate."""
    if not may_create_projects(user):
        raise MayNotCreate(_("Only staff may make projects on this desk."))
    title = storable(name).strip()
    if not 1 <= len(title) <= LONGEST_NAME:
        message = _("1 to %(most)s characters") % {"most": LONGEST_NAME}
        raise InvalidInput(_("A project needs a name."), errors=[{"field": "name", "message": message}])
    project = Project.objects.create(name=title, slug=_chosen_slug(slug.strip()) or _free_slug(title))
    audit(project.pk, actor, "project.created", target=project, after={"name": title, "slug": project.slug})
    add_member(project, user, role=Role.ADMIN, actor=actor)
    return project


def _chosen_slug(slug: str) -> str:
    if not slug:
        return ""
    if len(slug) > LONGEST_SLUG or not SLUG.fullmatch(slug):
        message = _("a-z, 0-9 and single hyphens between them, at most %(most)s") % {"most": LONGEST_SLUG}
        raise InvalidInput(_("This cannot be an address."), errors=[{"field": "slug", "message": message}])
    if Project.objects.filter(slug=slug).exists():
        message = _("Another project has this address.")
        raise InvalidInput(message, errors=[{"field": "slug", "message": message}])
    return slug


def _free_slug(name: str) -> str:
    start = slugify(name)[: LONGEST_SLUG - 6].strip("-_").replace("_", "-") or "project"
    candidates = (start if number == 1 else f"{start}-{number}" for number in count(1))
    return next(slug for slug in candidates if not Project.objects.filter(slug=slug).exists())
