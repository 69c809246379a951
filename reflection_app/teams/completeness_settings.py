"""A project's settings of the completeness check, changed in part: what is left out stays, null follows the desk."""

from typing import Annotated, Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import Field

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import (
    MOST_KINDS,
    CheckChoice,
    CompletenessByKind,
    CompletenessSettings,
)
from reflection_app.loops.storable import Text

Kind = Annotated[Text, Field(min_length=1, max_length=60)]


class CompletenessChange(CheckChoice):
    """Settings of the check to change. null: as the desk has it; for a kind of task, as the project has it."""

    kinds: dict[Kind, CheckChoice | None] = Field(
        default_factory=dict,
        max_length=MOST_KINDS,
        description="for kinds of tasks, by name; of a kind that is there only what is given changes, null removes it",
    )


@transaction.atomic
def change_completeness(project: Project, change: CompletenessChange, *, actor: Actor) -> Project:
    """The project with its settings changed; saving what holds already changes nothing. Raises InvalidInput."""
    locked = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    before = {"completeness": locked.completeness, "completeness_by_kind": locked.completeness_by_kind}
    usual = CompletenessSettings.model_validate(settings.COMPLETENESS).model_dump(mode="json")
    own = merged(locked.completeness, change, without=("kinds",))
    locked.completeness = {name: value for name, value in own.items() if value != usual.get(name)}
    kinds = dict(locked.completeness_by_kind)
    for kind, choice in change.kinds.items():
        kinds[kind] = merged(kinds.get(kind, {}), choice) if choice is not None else {}
    chosen = {kind: own for kind, own in sorted(kinds.items()) if own}
    if len(chosen) > MOST_KINDS:
        message = _("At most %(most)s kinds of tasks can have settings of their own.") % {"most": MOST_KINDS}
        raise InvalidInput(message, errors=[{"field": "kinds", "message": message}])
    locked.completeness_by_kind = chosen
    after = {"completeness": locked.completeness, "completeness_by_kind": locked.completeness_by_kind}
    if after == before:
        return locked
    # What is kept has to be read again, whatever the parts were.
    locked.get_completeness()
    CompletenessByKind(kinds=locked.completeness_by_kind)
    locked.save(update_fields=list(after))
    audit(locked.pk, actor, "settings.changed", target=locked, before=before, after=after)
    return locked


def merged(kept: dict[str, Any], change: CheckChoice, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """`kept` with what was given in its place; what was given as null is taken out."""
    given = change.model_dump(mode="json", include=change.model_fields_set.difference(without))
    return {name: value for name, value in (kept | given).items() if value is not None}
