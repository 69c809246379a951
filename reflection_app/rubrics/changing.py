"""Changing a project's rubric and guidelines, each change a version.

Runs under way keep the rubric that they began with, so that a verdict can always be drawn again from its ratings.
"""

from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

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
    """The criteria in their order. `number` is that of the version which was seen, where it must not have changed."""

    criteria: Annotated[tuple[Criterion, ...], Field(max_length=MOST_CRITERIA)]
    note: Note = Field(default="", description="why it is changed")
    number: int | None = Field(default=None, ge=0)


class GuidelinesInput(Value):
    """The guidelines whole. `number` is that of the version which was seen, where it must not have changed."""

    text: Annotated[str, Field(max_length=LONGEST_GUIDELINES), AfterValidator(storable)]
    note: Note = Field(default="", description="why they are changed")
    number: int | None = Field(default=None, ge=0)


def newest_rubric(project_id: UUID) -> RubricVersion | None:
    """The version that holds, also where it has no criteria; None where there never was one."""
    return RubricVersion.objects.filter(project=project_id).first()


def rubric_of(project: Project) -> Rubric | None:
    """What runs of the project that begin now are rated by."""
    version = newest_rubric(project.pk)
    return version.get_rubric() if version else None


def newest_guidelines(project_id: UUID) -> GuidelinesVersion | None:
    return GuidelinesVersion.objects.filter(project=project_id).first()


@transaction.atomic
def change_rubric(project: Project, data: RubricInput, *, actor: Actor) -> RubricVersion | None:
    """The version that holds from now on; None where there was no rubric and none is asked for.

    Saving what holds already makes no version. Raises InvalidInput, and VersionMovedOn where another version than
    `number` holds.
    """
    if data.criteria:
        keys = [criterion.key for criterion in data.criteria]
        if doubled := next((place for place, key in enumerate(keys) if key in keys[:place]), None):
            raise wrong(f"criteria.{doubled}.key", _("Another criterion has this key already."))
        if all(criterion.scale is Scale.TEXT for criterion in data.criteria):
            message = _("One criterion at least must be worth something: texts alone give no score.")
            raise wrong("criteria.0.scale", message)
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    holding = newest_rubric(project.pk)
    number = holding.number if holding else 0
    if data.number not in {None, number}:
        raise VersionMovedOn(_("Somebody changed the rubric meanwhile. Nothing was saved."))
    criteria = [criterion.model_dump(mode="json") for criterion in data.criteria]
    if criteria == (holding.criteria if holding else []):
        return holding
    version = RubricVersion.objects.create(
        project=project, number=number + 1, criteria=criteria, note=data.note.strip(), made_by_label=actor.label
    )
    audit(
        project.pk,
        actor,
        "rubric.changed",
        target=version,
        before={"number": number, "criteria": holding.criteria if holding else []},
        after={"number": version.number, "criteria": criteria, "note": version.note},
    )
    return version


@transaction.atomic
def change_guidelines(project: Project, data: GuidelinesInput, *, actor: Actor) -> GuidelinesVersion | None:
    """The version that holds from now on; None where there were none and none are written.

    Raises VersionMovedOn where another version than `number` holds.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    holding = newest_guidelines(project.pk)
    number = holding.number if holding else 0
    if data.number not in {None, number}:
        raise VersionMovedOn(_("Somebody changed the guidelines meanwhile. Nothing was saved."))
    text = data.text.strip()
    if text == (holding.text if holding else ""):
        return holding
    version = GuidelinesVersion.objects.create(
        project=project, number=number + 1, text=text, note=data.note.strip(), made_by_label=actor.label
    )
    audit(
        project.pk,
        actor,
        "guidelines.changed",
        target=version,
        before={"number": number},
        after={"number": version.number, "characters": len(text), "note": version.note},
    )
    return version
