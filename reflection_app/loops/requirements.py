"""Minimum requirements of an answer, as data. They are checked by code, not by a model.

Source: "Revised Output Quality" of the design seeds.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, JsonValue, model_validator

from reflection_app.loops.completeness.files import MOST_REQUIRED, FileRequirement
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value

LONGEST_PATH = 200
Path = Annotated[str, Field(min_length=1, max_length=LONGEST_PATH)]


class Counted(StrEnum):
    """Unit of a count: the items of a list in the data, or a size of the text."""

    ITEMS = "items"
    WORDS = "words"
    CHARACTERS = "characters"
    LINES = "lines"


class CountRequirement(Value):
    """At least `min` and at most `max` of a unit. With `where`, only items with exactly these values are counted."""

    of: Counted = Counted.ITEMS
    path: Annotated[str, Field(max_length=LONGEST_PATH)] = "$"
    where: Annotated[dict[str, JsonValue], Field(max_length=10)] = Field(default_factory=dict)
    min: int | None = Field(default=None, ge=0, le=10_000_000)
    max: int | None = Field(default=None, ge=0, le=10_000_000)
    name: str = Field(default="", max_length=200)

    @model_validator(mode="after")
    def check_bounds(self) -> "CountRequirement":
        if self.min is None and self.max is None:
            raise ValueError("needs min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is above max")
        return self


class Requirements(Value):
    """Minimum requirements; all must be met. `required_fields` are paths that must exist and not be empty.

    An example is `papers[].title`. `schema` is a JSON Schema (draft 2020-12) for the data in the answer. `files` are
    files that the work must produce in addition to its answer; they are opened for inspection.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    required_fields: Annotated[tuple[Path, ...], Field(max_length=50)] = ()
    counts: Annotated[tuple[CountRequirement, ...], Field(max_length=50)] = ()
    files: Annotated[tuple[FileRequirement, ...], Field(max_length=MOST_REQUIRED)] = ()

    @model_validator(mode="after")
    def check_there_is_one(self) -> "Requirements":
        if not self.of_the_answer and not self.files:
            raise ValueError("needs a schema, required_fields, counts or files")
        return self

    @property
    def of_the_answer(self) -> bool:
        """True if there are requirements for the answer itself, not only for files."""
        return self.schema_ is not None or bool(self.required_fields or self.counts)


class RequirementKind(StrEnum):
    """Subject of a requirement."""

    SCHEMA = "schema"
    FIELD = "field"
    COUNT = "count"
    FILE = "file"


class LoweredRequirement(Value):
    """A lowered minimum requirement, by name: at least `min`; not required if that is None."""

    requirement: Text
    min: int | None = Field(default=None, ge=1)


class Lowered(Value):
    """A lowered expectation: a pass from `score`, and lower requirements. Never more than the task expects.

    `why` is the reason for lowering it.
    """

    score: float = Field(ge=0, le=100)
    requirements: tuple[LoweredRequirement, ...] = ()
    why: Text = ""

    @property
    def in_words(self) -> tuple[str, ...]:
        """The expectation as text, one line per item."""
        parts = [
            f"{one.requirement}: at least {one.min:,}" if one.min is not None else f"{one.requirement}: not required"
            for one in self.requirements
        ]
        return (f"a score from {self.score:g}", *parts)


class RequirementResult(Value):
    """Result of one requirement, as readable text.

    `lowered_from` is the task's own expectation, if less was expected here.
    """

    kind: RequirementKind = RequirementKind.COUNT
    name: Text
    met: bool
    expected: Text = ""
    actual: Text = ""
    path: Text = ""
    lowered_from: Text = ""

    @property
    def in_words(self) -> str:
        """The requirement, preceded by its name unless the text already contains it."""
        return self.expected if self.name in self.expected else f"{self.name}: {self.expected}"


class RequirementsReport(Value):
    """Results of checking the minimum requirements."""

    results: tuple[RequirementResult, ...] = ()

    @property
    def all_met(self) -> bool:
        return all(result.met for result in self.results)

    @property
    def is_lowered(self) -> bool:
        """True if some results were checked against less than the task expects."""
        return any(result.lowered_from for result in self.results)

    @property
    def share_met(self) -> float:
        """Share of requirements met; 1 if there are none."""
        return sum(result.met for result in self.results) / len(self.results) if self.results else 1.0

    @property
    def unmet(self) -> tuple[RequirementResult, ...]:
        return tuple(result for result in self.results if not result.met)
