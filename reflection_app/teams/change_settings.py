"""Changing a project's settings. Runs under way keep the settings they began with."""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.task_spec import Thresholds, UsualLimits
from reflection_app.teams.models.tool import Tool


@transaction.atomic
def change_settings(
    project: Project,
    *,
    limits: UsualLimits,
    thresholds: Thresholds,
    completeness: CompletenessSettings,
    knowledge_tool: str,
    actor: Actor,
) -> Project:
    """The project with its new limits, thresholds, completeness check, and tool to ask for knowledge.

    Of the check only what differs from the desk's own settings is kept, so that the rest follows those. Raises
    InvalidInput where the project has no such tool, or no score could lead to REVISE.
    """
    if thresholds.revise_from > thresholds.pass_from:
        message = _("Must not be above the score that passes.")
        raise InvalidInput(message, errors=[{"field": "revise_from", "message": message}])
    if knowledge_tool and not Tool.objects.filter(project=project, name=knowledge_tool, is_enabled=True).exists():
        message = _("This project has no tool of that name that is switched on.")
        raise InvalidInput(message, errors=[{"field": "knowledge_tool", "message": message}])
    locked = Project.objects.select_for_update().get(pk=project.pk)
    before = _settings_of(locked)
    locked.limits = limits.model_dump(mode="json")
    locked.thresholds = thresholds.model_dump(mode="json")
    usual = CompletenessSettings.model_validate(settings.COMPLETENESS).model_dump(mode="json")
    chosen = completeness.model_dump(mode="json")
    locked.completeness = {name: value for name, value in chosen.items() if value != usual[name]}
    locked.knowledge_tool = knowledge_tool
    locked.save(update_fields=["limits", "thresholds", "completeness", "knowledge_tool"])
    audit(locked.pk, actor, "settings.changed", target=locked, before=before, after=_settings_of(locked))
    return locked


def _settings_of(project: Project) -> dict[str, Any]:
    return {
        "limits": project.limits,
        "thresholds": project.thresholds,
        "completeness": project.completeness,
        "knowledge_tool": project.knowledge_tool,
    }
