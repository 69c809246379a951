"""Rubric, guidelines and examples, as REST tells them."""

from typing import Annotated
from uuid import UUID

from pydantic import AliasPath, AwareDatetime, Field

from reflection_app.api.reading import Answer, OrNull, PageAnswer
from reflection_app.loops.rubrics import Criterion


class CriterionAnswer(Criterion):
    """A criterion as it is answered, with all that was left to the usual."""


class RubricAnswer(Answer):
    """A version of the rubric. `number` 0, without criteria: the project never had one."""

    number: int
    criteria: list[CriterionAnswer]
    note: str = Field(description="why it was changed")
    made_by: str = Field(validation_alias="made_by_label")
    created_at: Annotated[AwareDatetime | None, OrNull]


class RubricPage(PageAnswer):
    results: list[RubricAnswer]


class GuidelinesAnswer(Answer):
    """A version of the guidelines. `number` 0, without text: the project never had any."""

    number: int
    text: str
    note: str = Field(description="why they were changed")
    made_by: str = Field(validation_alias="made_by_label")
    created_at: Annotated[AwareDatetime | None, OrNull]


class GuidelinesPage(PageAnswer):
    results: list[GuidelinesAnswer]


class ExampleAnswer(Answer):
    """A decided item that is kept beside the guidelines."""

    review_id: UUID
    run_id: UUID = Field(validation_alias=AliasPath("review", "run_id"))
    title: str = Field(validation_alias=AliasPath("review", "run", "task", "title"))
    note: str = Field(description="what it teaches")
    kept_by: str = Field(validation_alias="kept_by_label")
    created_at: AwareDatetime


class ExamplesAnswer(Answer):
    results: list[ExampleAnswer]


class CriterionAgreementAnswer(Answer):
    """How far the critic and people, or people among each other, rate alike by one criterion."""

    criterion: str
    name: str
    rated: int = Field(description="items that the critic and a person rated")
    same: float | None = Field(description="the share of them on which both gave the same rating")
    same_from: float | None = Field(description="of that share's 95 % interval (Wilson)")
    same_to: float | None
    above: float | None = Field(description="the critic's mean worth minus people's, in points of 100")
    alpha: float | None = Field(description="Krippendorff's α of the two; null where nothing varies")
    panels: int = Field(description="items that several people rated blindly")
    people_same: float | None = Field(description="the share of equal pairs of people's ratings")
    people_alpha: float | None


class RubricAgreementAnswer(Answer):
    days: int
    criteria: list[CriterionAgreementAnswer]
