"""Changing a project's settings. Runs under way keep the settings they began with."""

from typing import Any

from django.db import transaction

from reflection_app.loops.task_spec import ReviewPolicy, UsualLimits
from reflection_app.models import Actor, Project, audit


@transaction.atomic
def change_settings(project: Project, *, limits: UsualLimits, review_policy: ReviewPolicy, actor: Actor) -> Project:
    """The project with its new limits and review policy."""
    locked = Project.objects.select_for_update().get(pk=project.pk)
    before = _settings_of(locked)
    locked.limits = limits.model_dump(mode="json")
    locked.review_policy = review_policy.model_dump(mode="json")
    locked.save(update_fields=["limits", "review_policy"])
    audit(locked.pk, actor, "settings.changed", target=locked, before=before, after=_settings_of(locked))
    return locked


def _settings_of(project: Project) -> dict[str, Any]:
    return {"limits": project.limits, "review_policy": project.review_policy}
