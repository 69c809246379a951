"""Project rubrics: criteria by which critics and reviewers rate an attempt, and the verdict derived from them.

Each rating has a value from 0 to 100; the score is their mean by weight. Equal ratings therefore give equal verdicts,
and the effect of other weights can be computed. Source: analytic scoring; see Jonsson & Svingby, The use of scoring
rubrics, 2007.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from reflection_app.loops.storable import Text, storable
from reflection_app.loops.values import Value

MOST_CRITERIA = 20
MOST_CHOICES = 12
MOST_POINTS = 10
LONGEST_WHY = 2_000
KEY = r"^[a-z][a-z0-9_]{0,39}$"
BEST = 100.0
# Minimum value of a mandatory criterion for a PASS: "pass", or at least the middle of the points.
HOLDS_FROM = 50.0
PASSED, FAILED = "pass", "fail"


class Scale(StrEnum):
    """Rating scale of a criterion. Only TEXT has no value: it is a comment that every reviewer is asked for."""

    POINTS = "points"
    PASS_FAIL = "pass_fail"  # noqa: S105 - a scale, not a password
    CATEGORY = "category"
    TEXT = "text"


class Category(Value):
    """A category of a criterion and its value."""

    # Stripped like submitted values; otherwise none could equal it.
    name: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80), AfterValidator(storable)
    ]
    worth: float = Field(ge=0, le=BEST)


class Criterion(Value):
    """One criterion for rating attempts. `key` identifies it in answers and stays the same if it is renamed."""

    key: str = Field(pattern=KEY)
    name: Annotated[Text, Field(min_length=1, max_length=120)]
    help: Annotated[Text, Field(max_length=2_000)] = ""
    scale: Scale = Scale.POINTS
    weight: float = Field(default=1.0, gt=0, le=100)
    points: int = Field(default=5, ge=2, le=MOST_POINTS, description="for `points`: the highest of 1, 2, …")
    choices: Annotated[tuple[Category, ...], Field(max_length=MOST_CHOICES)] = ()
    must_hold: bool = Field(default=False, description="if true, a PASS requires at least half of the maximum value")

    @model_validator(mode="after")
    def check_scale(self) -> Self:
        names = [choice.name for choice in self.choices]
        if self.scale is Scale.CATEGORY and (len(names) < 2 or len(set(names)) < len(names)):
            raise ValueError("a category needs two choices or more, each of another name")
        if self.scale is not Scale.CATEGORY and names:
            raise ValueError("only a category has choices")
        if self.scale is Scale.TEXT and self.must_hold:
            raise ValueError("a text is worth nothing, so nothing can depend on it")
        return self

    @property
    def values(self) -> tuple[str, ...]:
        """The possible ratings, worst first if there is an order; () for a text."""
        match self.scale:
            case Scale.POINTS:
                return tuple(str(point) for point in range(1, self.points + 1))
            case Scale.PASS_FAIL:
                return (FAILED, PASSED)
            case Scale.CATEGORY:
                return tuple(choice.name for choice in self.choices)
            case Scale.TEXT:
                return ()

    def worth_of(self, value: str) -> float | None:
        """Return 0 to 100 for one of the `values`, or None for a text."""
        match self.scale:
            case Scale.POINTS:
                return BEST * (int(value) - 1) / (self.points - 1)
            case Scale.PASS_FAIL:
                return BEST if value == PASSED else 0.0
            case Scale.CATEGORY:
                return next(choice.worth for choice in self.choices if choice.name == value)
            case Scale.TEXT:
                return None


class Rubric(Value):
    """The criteria in version `number` of the project's rubric."""

    number: int = Field(ge=1)
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1, max_length=MOST_CRITERIA)]

    @model_validator(mode="after")
    def check_criteria(self) -> Self:
        keys = [criterion.key for criterion in self.criteria]
        if len(set(keys)) < len(keys):
            raise ValueError("two criteria have the same key")
        if all(criterion.scale is Scale.TEXT for criterion in self.criteria):
            raise ValueError("one criterion at least must be worth something; texts alone give no score")
        return self


class Rating(Value):
    """Rating of one criterion. Name and worth are copied from the rubric version, so it is self-contained."""

    criterion: str = Field(pattern=KEY)
    name: Text
    value: Text
    worth: float | None = Field(default=None, ge=0, le=BEST, description="0 to 100; null for a text")
    why: Text = ""

    @property
    def holds(self) -> bool:
        return self.worth is None or self.worth >= HOLDS_FROM


Ratings = tuple[Rating, ...]


class Given(Value):
    """A rating as submitted."""

    value: int | Annotated[Text, Field(max_length=LONGEST_WHY)]
    why: Annotated[Text, Field(max_length=LONGEST_WHY)] = ""


class Fault(StrEnum):
    MISSING = "missing"
    UNKNOWN = "unknown"
    NO_VALUE = "no_value"


class RatingFault(ValueError):
    """A rating is missing, belongs to no criterion, or is not a value of its criterion."""

    def __init__(self, key: str, fault: Fault, *, values: tuple[str, ...] = ()) -> None:
        super().__init__(f"{key}: {fault.value}" + (f"; one of {', '.join(values)}" if values else ""))
        self.key = key
        self.fault = fault
        self.values = values


def rated(rubric: Rubric, given: Mapping[str, Given]) -> Ratings:
    """Return one rating per criterion, in the rubric's order; texts are optional. Raise RatingFault."""
    known = {criterion.key for criterion in rubric.criteria}
    if strange := next((key for key in given if key not in known), None):
        raise RatingFault(strange, Fault.UNKNOWN)
    ratings = []
    for criterion in rubric.criteria:
        said = given.get(criterion.key)
        value = str(said.value).strip() if said else ""
        if said is None or not value:
            if criterion.scale is Scale.TEXT:
                continue
            raise RatingFault(criterion.key, Fault.MISSING, values=criterion.values)
        if criterion.values and value not in criterion.values:
            raise RatingFault(criterion.key, Fault.NO_VALUE, values=criterion.values)
        ratings.append(
            Rating(
                criterion=criterion.key,
                name=criterion.name,
                value=value,
                worth=criterion.worth_of(value),
                why=said.why.strip(),
            )
        )
    return tuple(ratings)


_POINTS = re.compile(r"\s*+(\d{1,2})(?:\.0++)?\s*+(?:(?:/\s*+\d{1,2}|(?:out )?of \d{1,2})\s*+)?", re.IGNORECASE)
_YES = frozenset({"pass", "passed", "yes", "true", "met", "ok"})
_NO = frozenset({"fail", "failed", "no", "false", "not met"})


def read_as_value(criterion: Criterion, said: object) -> str:
    """Return a model's output as one of the criterion's values if it is unambiguous.

    Otherwise return it as text, which `rated` then checks.
    """
    text = str(said).strip() if said is not None else ""
    match criterion.scale:
        case Scale.POINTS:
            if not isinstance(said, bool) and (points := _POINTS.fullmatch(text)) is not None:
                return str(int(points[1]))
        case Scale.PASS_FAIL:
            if text.lower() in _YES | _NO:
                return PASSED if text.lower() in _YES else FAILED
        case Scale.CATEGORY:
            alike = [name for name in criterion.values if name.casefold() == text.casefold()]
            return alike[0] if len(alike) == 1 else text
        case Scale.TEXT:
            return text[:LONGEST_WHY]
    return text


def score_of(rubric: Rubric, ratings: Iterable[Rating]) -> float:
    """Return the weighted mean value, 0 to 100, rounded to two decimals."""
    weights = {criterion.key: criterion.weight for criterion in rubric.criteria}
    scored = [(weights[rating.criterion], rating.worth) for rating in ratings if rating.worth is not None]
    return round(sum(weight * worth for weight, worth in scored) / sum(weight for weight, _ in scored), 2)


def failed_of(rubric: Rubric, ratings: Iterable[Rating]) -> tuple[str, ...]:
    """Return the keys of mandatory criteria that are not met."""
    needed = {criterion.key for criterion in rubric.criteria if criterion.must_hold}
    return tuple(rating.criterion for rating in ratings if rating.criterion in needed and not rating.holds)


def together(each: Sequence[Ratings]) -> Ratings:
    """Combine several reviewers' ratings: the median of each criterion, the lower one of two.

    The result is always a rating that someone gave. Texts and reasons are joined. Return () if a reviewer gave no
    ratings.
    """
    if not each or not all(each):
        return ()
    merged = []
    for first in each[0]:
        same = [rating for ratings in each for rating in ratings if rating.criterion == first.criterion]
        if first.worth is None:
            merged.append(first.model_copy(update={"value": "\n\n".join(rating.value for rating in same)}))
            continue
        in_order = sorted(same, key=lambda rating: rating.worth or 0.0)
        why = "\n\n".join(dict.fromkeys(rating.why for rating in same if rating.why))
        merged.append(in_order[(len(in_order) - 1) // 2].model_copy(update={"why": why}))
    return tuple(merged)


def shortcomings(ratings: Sequence[Rating]) -> tuple[str, ...]:
    """Return the ratings below the maximum with their reasons, as feedback for the next attempt."""
    return tuple(
        f"{rating.name} ({rating.value})" + (f": {rating.why}" if rating.why else "")
        for rating in ratings
        if rating.worth is not None and rating.worth < BEST
    )
