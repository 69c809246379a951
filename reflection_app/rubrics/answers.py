"""Rubric and guidelines, as REST tells them."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from reflection_app.api.reading import Answer, OrNull, PageAnswer
from reflection_app.loops.rubrics import Criterion


class CriterionAnswer(Criterion):
    """A criterion with all defaults filled in."""


class RubricAnswer(Answer):
    """A version of the rubric. `number` is 0, without criteria, if the project never had one."""

    number: int
    criteria: list[CriterionAnswer]
    note: str = Field(description="reason for the change")
    made_by: str = Field(validation_alias="made_by_label")
    created_at: Annotated[AwareDatetime | None, OrNull]


class RubricPage(PageAnswer):
    results: list[RubricAnswer]


class GuidelinesAnswer(Answer):
    """A version of the guidelines. `number` is 0, without text, if the project never had any."""

    number: int
    text: str
    note: str = Field(description="reason for the change")
    made_by: str = Field(validation_alias="made_by_label")
    created_at: Annotated[AwareDatetime | None, OrNull]


class GuidelinesPage(PageAnswer):
    results: list[GuidelinesAnswer]
