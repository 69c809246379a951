"""Which rows are asked for, as an address says it, by REST and on the page alike."""

import json
import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema

from reflection_app.core.errors import wrong
from reflection_app.core.models import Project
from reflection_app.loops.storable import AgentFilter, Moment, is_storable, storable
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.datasets.reading import Asked, Place, settled_until

LONGEST_METADATA = 2_000
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


class DatasetQuery(BaseModel):
    """Query parameters of every data set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    since: Since | None = Field(
        default=None, description="a moment, or a day in UTC: only rows whose `at` is not before it"
    )
    until: Until | None = Field(
        default=None,
        description="a moment, or a day in UTC with which it ends: only rows whose `at` is before it, as they stood "
        "then. Without it, and where it is later, a few seconds ago; the answer tells which moment that was",
    )
    agent: AgentFilter = Field(default="", max_length=120, description="of this agent's tasks")
    kind: Name = Field(default="", max_length=60, description="of tasks of this type")
    mode: Mode | None = Field(default=None, description="of runs of this loop")
    outcome: Outcome | None = Field(default=None, description="of runs that ended so")
    metadata: Metadata = Field(
        default_factory=dict, description='a JSON object that the task\'s metadata holds, such as {"team": "search"}'
    )
    scripted: bool = Field(default=False, description="of runs of the scripted model instead, which are no others'")
    anonymous: bool = Field(
        default=False,
        description="people by made-up names, also where a text names them; no mail addresses in any text",
    )
    cursor: str | None = Field(
        default=None,
        max_length=100,
        description="where to go on: that of `next`, or `at` and `id` of the last row you have, with a ~ between",
    )


def asked_of(project: Project, query: DatasetQuery) -> Asked:
    """The rows that the query asks for. Raises InvalidInput for a period without a moment in it, and a bad cursor."""
    until = settled_until(query.until)
    if query.since is not None and query.until is not None and query.since >= query.until:
        raise wrong("since", "It is not before `until`.")
    return Asked(
        project=project,
        since=query.since,
        until=until,
        agent=query.agent,
        kind=query.kind,
        mode=query.mode.value if query.mode else "",
        outcome=query.outcome.value if query.outcome else "",
        metadata=query.metadata,
        scripted=query.scripted,
        anonymous=query.anonymous,
        after=Place.read(query.cursor) if query.cursor else None,
    )
