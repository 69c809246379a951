"""Sets and ratings as REST tells them."""

from uuid import UUID

from pydantic import AliasPath, AwareDatetime, Field, JsonValue

from reflection_app.api.reading import Answer, PageAnswer
from reflection_app.comparisons.results import RatedBy


class SetAnswer(Answer):
    """A set of pairs that people judge, and how far they have got."""

    id: UUID
    name: str
    wanted: int = Field(description="how many people judge each pair")
    chosen: dict[str, JsonValue] = Field(description="how its pairs were chosen; empty where a pipeline hands them in")
    pairs: int = Field(validation_alias="pairs_made")
    done: int = Field(description="pairs that as many have judged as are wanted")
    judged: int = Field(description="judgements there are")
    asked: int = Field(description="judgements that are wanted in all")
    is_open: bool
    created_by: str = Field(validation_alias="created_by_label")
    created_at: AwareDatetime
    closed_at: AwareDatetime | None


class SetPage(PageAnswer):
    results: list[SetAnswer]


class HandedInPairs(Answer):
    """The pairs that were added."""

    ids: list[UUID]


# Ratings.


class RatedAnswer(Answer):
    """A contestant; the three numbers are null where no ratings fit what was said of its group."""

    name: str
    wins: int
    ties: int
    losses: int
    rating: float | None = Field(
        description="1,000 on average of its group; 400 points more are odds of ten to one of being preferred"
    )
    low: float | None = Field(description="of the 95 % interval")
    high: float | None


class GroupAnswer(Answer):
    """Contestants that were compared with each other. Ratings of two groups cannot be compared."""

    contestants: list[RatedAnswer] = Field(description="best first")
    ahead: list[str] = Field(
        description="where none is rated: who never lost to, nor drew with, the others, so that no finite ratings fit"
    )


class RatingsAnswer(Answer):
    """Ratings by the Bradley-Terry model, a tie as half a win for each, and how far judgements can be believed."""

    by: RatedBy
    groups: list[GroupAnswer]
    judgements: int = Field(description="of people; what keys judged is in no figure")
    rated_on: int = Field(description="those of answers by two different contestants")
    mixed: int = Field(description="of these, where model and prompt differ both: the rating may be due to the other")
    ties: int
    both_bad: int = Field(description="count as ties")
    decided: int = Field(description="where one answer was preferred")
    left_share: float | None = Field(
        default=None,
        validation_alias=AliasPath("left", "estimate"),
        description="how often that was the one on the left: 0.5 without a bias",
    )
    left_low: float | None = Field(
        default=None, validation_alias=AliasPath("left", "low"), description="of its 95 % interval"
    )
    left_high: float | None = Field(default=None, validation_alias=AliasPath("left", "high"))
    judged_by_several: int = Field(
        validation_alias=AliasPath("agreement", "pairs"), description="pairs that two people or more judged"
    )
    agreement: float | None = Field(
        validation_alias=AliasPath("agreement", "share"), description="of those, the share of equal judgements"
    )
    alpha: float | None = Field(
        validation_alias=AliasPath("agreement", "alpha"),
        description="Krippendorff's α: what the agreement is beyond chance",
    )
