"""Which rows are asked for, as an address says it, by REST and on the page alike."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import inf
from typing import Annotated, Any
from uuid import UUID

from django.utils import timezone
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from reflection_app.core.errors import wrong
from reflection_app.core.models import Project
from reflection_app.loops.storable import AgentFilter, Moment, is_storable, storable
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.datasets.rows import DatasetRow

LONGEST_METADATA = 2_000
# What is committed by now may have been stamped a moment ago; younger rows are left for the next read, so that a second
# one up to the same moment finds the same, and one that goes on from there misses none.
SETTLED_AFTER = timedelta(seconds=5)
Name = Annotated[str, AfterValidator(storable)]


def _day_begins(given: Any) -> Any:
    """Of a day the moment at which it begins, in UTC; of anything else itself."""
    return f"{given}T00:00:00Z" if isinstance(given, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", given) else given


def _day_ends(given: Any) -> Any:
    begins = _day_begins(given)
    if begins is given:
        return given
    try:
        return datetime.combine(date.fromisoformat(given) + timedelta(days=1), time(), UTC)
    except (ValueError, OverflowError):
        return given


def _metadata(given: Any) -> Any:
    if not isinstance(given, str) or not given:
        return given or {}
    if len(given) > LONGEST_METADATA:
        raise ValueError(f"has more than {LONGEST_METADATA:,} characters")
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        raise ValueError('must be a JSON object, such as {"team": "search"}') from None
    if not is_storable(value):
        raise ValueError("holds a NUL character, half a surrogate pair or an infinite number, which no task has")
    return value


OF_MOMENT = WithJsonSchema({"type": "string"})
Since = Annotated[Moment, BeforeValidator(_day_begins), OF_MOMENT]
Until = Annotated[Moment, BeforeValidator(_day_ends), OF_MOMENT]
Metadata = Annotated[
    dict[str, JsonValue], BeforeValidator(_metadata), WithJsonSchema({"type": "string", "maxLength": LONGEST_METADATA})
]


_MOMENT = TypeAdapter[datetime](Moment)


class DatasetQuery(BaseModel):
    """Query parameters of every data set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    since: Since | None = Field(default=None, description="time, or day in UTC: only rows whose `at` is not earlier")
    until: Until | None = Field(
        default=None,
        description="time, or last day in UTC: only rows whose `at` is earlier, as of that time. Default and "
        "maximum: a few seconds ago; the response contains the time used",
    )
    agent: AgentFilter = Field(default="", max_length=120, description="only tasks of this agent")
    kind: Name = Field(default="", max_length=60, description="only tasks of this type")
    mode: Mode | None = Field(default=None, description="only runs of this loop")
    outcome: Outcome | None = Field(default=None, description="only runs with this outcome")
    metadata: Metadata = Field(
        default_factory=dict,
        description='JSON object that the task\'s metadata must contain, such as {"team": "search"}',
    )
    scripted: bool = Field(default=False, description="only runs of the scripted model, which are otherwise excluded")
    anonymous: bool = Field(
        default=False,
        description="replace people's names with pseudonyms, also within texts, and remove all email addresses "
        "from texts",
    )
    cursor: str | None = Field(
        default=None,
        max_length=100,
        description="position to continue from: that of `next`, or `at` and `id` of the last row you have, joined by ~",
    )


@dataclass(frozen=True)
class Place:
    """Behind one row, or behind all of its source's where `part` is None."""

    at: datetime
    source: UUID
    part: int | None = None

    @classmethod
    def read(cls, cursor: str) -> "Place":
        """The place that a cursor names: `at` and `id` of a row with a ~ between. Raises InvalidInput."""
        at, _, row = cursor.partition("~")
        named = re.fullmatch(r"([0-9a-f-]{36})(?:\.([0-9]{1,9}))?", row)
        try:
            if named is None:
                raise ValueError("no id")
            part = int(named[2]) if named[2] else None
            return cls(_MOMENT.validate_python(at), UUID(named[1]), part)
        except (ValueError, ValidationError):
            raise wrong("cursor", "It is no cursor: take `next`, or `at` and `id` of a row with a ~ between.") from None

    @property
    def order(self) -> tuple[datetime, UUID, float]:
        """By which places come one after another."""
        return self.at, self.source, inf if self.part is None else self.part

    @classmethod
    def behind(cls, row: DatasetRow) -> "Place":
        source, _, part = row.id.partition(".")
        return cls(row.at, UUID(source), int(part) if part else None)

    def __str__(self) -> str:
        at = self.at.isoformat().replace("+00:00", "Z")
        return f"{at}~{self.source}" + (f".{self.part}" if self.part is not None else "")


@dataclass(frozen=True)
class Asked:
    """Which rows are asked for. `until` is settled: nothing before it comes any more. They are those behind `after`."""

    project: Project
    query: DatasetQuery
    until: datetime
    after: Place | None = None

    def of_task(self, task: str, *, run: str) -> dict[str, Any]:
        """What is asked of tasks and runs, as lookups by the paths to them, such as `run__task__`."""
        wanted = {
            f"{task}agent": self.query.agent,
            f"{task}kind": self.query.kind,
            f"{run}mode": self.query.mode and self.query.mode.value,
            f"{run}outcome": self.query.outcome and self.query.outcome.value,
            f"{task}metadata__contains": self.query.metadata,
        }
        return {lookup: value for lookup, value in wanted.items() if value}


def asked_of(project: Project, query: DatasetQuery) -> Asked:
    """The rows that the query asks for. Raises InvalidInput for a period without a moment in it, and a bad cursor."""
    if query.since is not None and query.until is not None and query.since >= query.until:
        raise wrong("since", "It is not before `until`.")
    after = Place.read(query.cursor) if query.cursor else None
    return Asked(project, query, settled_until(query.until), after)


def settled_until(until: datetime | None) -> datetime:
    """The moment up to which rows can be told for good, at most the one wished for."""
    settled = timezone.now() - SETTLED_AFTER
    return min(until, settled) if until else settled
