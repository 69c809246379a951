"""A project's settings of the completeness check, changed in part. Null follows the server."""

from django.conf import settings
from django.db import transaction

from reflection_app.core.audit import Actor, audit
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import CheckChoice, CompletenessSettings


class CompletenessChange(CheckChoice):
    """Settings of the check to change. null: as the server has it."""


@transaction.atomic
def change_completeness(project: Project, change: CompletenessChange, *, actor: Actor) -> Project:
    """Return the project with its settings changed. Settings that equal the server's are not stored."""
    locked = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    before = {"completeness": locked.completeness}
    usual = CompletenessSettings.model_validate(settings.COMPLETENESS).model_dump(mode="json")
    given = change.model_dump(mode="json", include=change.model_fields_set)
    own = {name: value for name, value in (locked.completeness | given).items() if value is not None}
    locked.completeness = {name: value for name, value in own.items() if value != usual.get(name)}
    after = {"completeness": locked.completeness}
    if after == before:
        return locked
    # The parts are valid; the whole may not be.
    locked.get_completeness()
    locked.save(update_fields=list(after))
    audit(locked.pk, actor, "settings.changed", target=locked, before=before, after=after)
    return locked
