"""When work is reflected on: as the work itself says, else its project, else the desk."""

from django.conf import settings

from reflection_app.core.models import Project
from reflection_app.loops.notebook_settings import ReflectionMode


def reflection_mode(project: Project, *, own: str = "") -> ReflectionMode:
    """The mode that holds for work of `project` which says `own` of itself, or nothing."""
    return said_mode(project, own=own) or ReflectionMode(settings.REFLECTION_MODE)


def said_mode(project: Project, *, own: str = "") -> ReflectionMode | None:
    """The mode that somebody chose for this work or this project; None where only the desk's own setting holds."""
    return ReflectionMode(own) if own else project.get_notebook().reflection
