"""Sets and ratings as REST tells them."""

from uuid import UUID

from pydantic import AliasPath, AwareDatetime, Field, JsonValue

from reflection_app.api.reading import Answer, PageAnswer
from reflection_app.comparisons.results import RatedBy


class SetAnswer(Answer):
    """A comparison set and its progress."""

    id: UUID
    name: str
    wanted: int = Field(description="number of people who judge each pair")
    chosen: dict[str, JsonValue] = Field(description="criteria for choosing pairs; empty if a pipeline submits them")
    pairs: int = Field(validation_alias="pairs_made")
    done: int = Field(description="pairs with the required number of judgments")
    judged: int = Field(description="judgments made so far")
    asked: int = Field(description="judgments required in total")
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
    """A contestant. Its rating and interval are null if no ratings fit the judgments of its group."""

    name: str
    wins: int
    ties: int
    losses: int
    rating: float | None = Field(
        description="rating; the group average is 1,000, and 400 points more are ten-to-one odds of being preferred"
    )
    low: float | None = Field(description="lower bound of the 95 % interval")
    high: float | None


class GroupAnswer(Answer):
    """Contestants that were compared with each other. Ratings are not comparable across groups."""

    contestants: list[RatedAnswer] = Field(description="best first")
    ahead: list[str] = Field(
        description="if the group is unrated: contestants that never lost to or tied with the others, which rules "
        "out finite ratings"
    )


class RatingsAnswer(Answer):
    """Bradley-Terry ratings, a tie as half a win for each contestant, and the reliability of the judgments."""

    by: RatedBy
    groups: list[GroupAnswer]
    judgements: int = Field(description="judgments by people; those by API keys are in no figure")
    rated_on: int = Field(description="judgments of answers by two different contestants")
    mixed: int = Field(
        description="of these, judgments with different models and different prompts: the other one "
        "may explain the rating"
    )
    ties: int
    both_bad: int = Field(description="judgments that both answers are bad; they count as ties")
    decided: int = Field(description="judgments that prefer one answer")
    left_share: float | None = Field(
        default=None,
        validation_alias=AliasPath("left", "estimate"),
        description="share of these that prefer the left answer; 0.5 means no position bias",
    )
    left_low: float | None = Field(
        default=None, validation_alias=AliasPath("left", "low"), description="lower bound of its 95 % interval"
    )
    left_high: float | None = Field(default=None, validation_alias=AliasPath("left", "high"))
    judged_by_several: int = Field(
        validation_alias=AliasPath("agreement", "pairs"), description="pairs judged by two or more people"
    )
    agreement: float | None = Field(
        validation_alias=AliasPath("agreement", "share"), description="of these, the share of equal judgments"
    )
    alpha: float | None = Field(
        validation_alias=AliasPath("agreement", "alpha"),
        description="Krippendorff's α: agreement corrected for chance",
    )
