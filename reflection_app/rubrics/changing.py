"""Changing a project's rubric and guidelines, each change a version.

Runs under way keep the rubric that they began with, so that a verdict can always be drawn again from its ratings.
"""

from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from notebook_app.public import compiled
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import VersionMovedOn, wrong
from reflection_app.core.models import Project
from reflection_app.loops.rubrics import MOST_CRITERIA, Criterion, Rubric, Scale
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.rubrics.models import GuidelinesVersion, RubricVersion

LONGEST_GUIDELINES = 50_000
LONGEST_NOTE = 1_000
Note = Annotated[str, Field(max_length=LONGEST_NOTE), AfterValidator(storable)]


class RubricInput(Value):
    """The criteria in order. If `number` is given, it must be that of the current version."""

    criteria: Annotated[tuple[Criterion, ...], Field(max_length=MOST_CRITERIA)]
    note: Note = Field(default="", description="reason for the change")
    number: int | None = Field(default=None, ge=0)


class GuidelinesInput(Value):
    """The complete guidelines. If `number` is given, it must be that of the current version."""

    text: Annotated[str, Field(max_length=LONGEST_GUIDELINES), AfterValidator(storable)]
    note: Note = Field(default="", description="reason for the change")
    number: int | None = Field(default=None, ge=0)


@compiled
def _rubrics(project_id: UUID) -> QuerySet[RubricVersion]:
    return RubricVersion.objects.filter(project=project_id)[:1]


def newest_rubric(project_id: UUID) -> RubricVersion:
    """The version that holds, also one without criteria; where there never was one, number 0, which is no row."""
    never = RubricVersion(project_id=project_id, number=0, criteria=[])
    return _rubrics.first(project_id) or never


def rubric_of(project: Project) -> Rubric | None:
    """What runs of the project that begin now are rated by."""
    return newest_rubric(project.pk).get_rubric()


def newest_guidelines(project_id: UUID) -> GuidelinesVersion:
    """The same of the guidelines."""
    return GuidelinesVersion.objects.filter(project=project_id).first() or GuidelinesVersion(
        project_id=project_id, number=0
    )


@transaction.atomic
def change_rubric(project: Project, data: RubricInput, *, actor: Actor) -> RubricVersion:
    """The version that holds from now on; saving what holds already makes none.

    Raises InvalidInput, and VersionMovedOn where another version than `number` holds.
    """
    if data.criteria:
        keys = [criterion.key for criterion in data.criteria]
        if doubled := next((place for place, key in enumerate(keys) if key in keys[:place]), None):
            raise wrong(f"criteria.{doubled}.key", _("Another criterion already has this key."))
        if all(criterion.scale is Scale.TEXT for criterion in data.criteria):
            message = _("At least one criterion must be scored: remarks alone give no score.")
            raise wrong("criteria.0.scale", message)
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    holding = newest_rubric(project.pk)
    if data.number not in {None, holding.number}:
        raise VersionMovedOn(_("The rubric was changed in the meantime. Nothing was saved."))
    criteria = [criterion.model_dump(mode="json") for criterion in data.criteria]
    if criteria == holding.criteria:
        return holding
    made: dict[str, Any] = {"number": holding.number + 1, "criteria": criteria, "note": data.note.strip()}
    version = RubricVersion.objects.create(project=project, made_by_label=actor.label, **made)
    before = {"number": holding.number, "criteria": holding.criteria}
    audit(project.pk, actor, "rubric.changed", target=version, before=before, after=made)
    return version


@transaction.atomic
def change_guidelines(project: Project, data: GuidelinesInput, *, actor: Actor) -> GuidelinesVersion:
    """The same of the guidelines. Raises VersionMovedOn."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    holding = newest_guidelines(project.pk)
    if data.number not in {None, holding.number}:
        raise VersionMovedOn(_("The guidelines were changed in the meantime. Nothing was saved."))
    text = data.text.strip()
    if text == holding.text:
        return holding
    made: dict[str, Any] = {"number": holding.number + 1, "note": data.note.strip()}
    version = GuidelinesVersion.objects.create(project=project, text=text, made_by_label=actor.label, **made)
    before, after = {"number": holding.number}, made | {"characters": len(text)}
    audit(project.pk, actor, "guidelines.changed", target=version, before=before, after=after)
    return version
