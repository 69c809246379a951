"""The pieces of a period, each of which has a point in charts: hours, days or weeks, as its length asks for. Pure."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum

from reflection_app.metrics.values import Chosen

MOST_DAYS_BY_HOUR = 2
MOST_DAYS_BY_DAY = 92


class Step(StrEnum):
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"


@dataclass(frozen=True)
class Piece[T: (date, datetime)]:
    """From `begin` to right before `end`; hours as moments, days and weeks as dates, all of them in UTC."""

    begin: T
    end: T

    @property
    def name(self) -> str:
        if isinstance(self.begin, datetime):
            return self.begin.strftime("%Y-%m-%dT%H:%MZ")
        return self.begin.isoformat()


def pieces_of(chosen: Chosen) -> tuple[Step, list[Piece[date]] | list[Piece[datetime]]]:
    """All pieces in order. A period that begins or ends within a week has a shorter first or last one."""
    if chosen.days <= MOST_DAYS_BY_HOUR:
        first = datetime.combine(chosen.since, time(), tzinfo=UTC)
        hours = [first + timedelta(hours=hour) for hour in range(24 * chosen.days)]
        return Step.HOUR, [Piece(hour, hour + timedelta(hours=1)) for hour in hours]
    days = [chosen.since + timedelta(days=day) for day in range(chosen.days)]
    step = Step.DAY if chosen.days <= MOST_DAYS_BY_DAY else Step.WEEK
    begins = [day for day in days if step is Step.DAY or day == chosen.since or day.weekday() == 0]
    ends = [*begins[1:], chosen.until + timedelta(days=1)]
    return step, [Piece(begin, end) for begin, end in zip(begins, ends, strict=True)]
