"""Changing how a project learns. Runs under way keep the settings they began with."""

from django.db import transaction

from reflection_app.core.audit import Actor, audit
from reflection_app.core.models import Project
from reflection_app.loops.notebook_settings import NotebookSettings


@transaction.atomic
def change_notebook_settings(project: Project, settings: NotebookSettings, *, actor: Actor) -> Project:
    """The project with its new settings; saving what holds already changes nothing."""
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if locked.get_notebook() == settings:
        return locked
    before, locked.notebook = locked.notebook, settings.model_dump(mode="json")
    locked.save(update_fields=["notebook"])
    audit(
        locked.pk,
        actor,
        "settings.changed",
        target=locked,
        before={"notebook": before},
        after={"notebook": locked.notebook},
    )
    return locked
