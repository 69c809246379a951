"""Which runs the metrics are asked of, as query parameters say it."""

from datetime import UTC, date, timedelta
from typing import Annotated

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from rest_framework.request import Request

from reflection_app.api.reading import read_query
from reflection_app.core.errors import InvalidInput
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Mode
from reflection_app.metrics.values import LONGEST_DAYS, Chosen

USUAL_DAYS = 30
EARLIEST, LATEST = date(2000, 1, 1), date(9000, 1, 1)
Name = Annotated[str, AfterValidator(storable)]
Day = Annotated[date, Field(ge=EARLIEST, le=LATEST), WithJsonSchema({"type": "string", "format": "date"})]


class ChosenQuery(BaseModel):
    """Query parameters of every call for metrics."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    since: Day | None = Field(
        default=None, description=f"the first day, in UTC; without it the {USUAL_DAYS} days up to `until`"
    )
    until: Day | None = Field(default=None, description="the last day, in UTC; without it today")
    agent: Name = Field(default="", max_length=120, description="of this agent's tasks")
    mode: Mode | None = Field(default=None, description="of runs of this loop")
    model: Name = Field(default="", max_length=200, description="of runs whose attempts this model made")
    kind: Name = Field(default="", max_length=60, description="of tasks of this type")
    scripted: bool = Field(default=False, description="of runs of the scripted model instead, which are no others'")


def chosen_by(query: ChosenQuery) -> Chosen:
    """The choice. Raises InvalidInput for a period that ends before it begins, or is too long."""
    until = query.until or timezone.now().astimezone(UTC).date()
    since = query.since or max(EARLIEST, until - timedelta(days=USUAL_DAYS - 1))
    chosen = Chosen(
        since=since,
        until=until,
        agent=query.agent,
        mode=query.mode.value if query.mode else "",
        model=query.model,
        kind=query.kind,
        scripted=query.scripted,
    )
    if chosen.days < 1:
        raise _wrong("since", _("it is after the last day"))
    if chosen.days > LONGEST_DAYS:
        raise _wrong("since", _("a period has %(days)s days at most") % {"days": LONGEST_DAYS})
    return chosen


def read_chosen(request: Request) -> Chosen:
    """The choice that the request names. Raises InvalidInput."""
    return chosen_by(read_query(request, ChosenQuery))


def _wrong(name: str, message: str) -> InvalidInput:
    return InvalidInput(_("There are no metrics of such a period."), errors=[{"field": name, "message": message}])
