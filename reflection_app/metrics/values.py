"""What the metrics page, REST and the charts are told: figures, bars and series, as plain values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum

# A year and a leap day: what is asked for at once.
LONGEST_DAYS = 366


@dataclass(frozen=True)
class Chosen:
    """Which runs the figures are of: those that finished from `since` to `until`, both days included, in UTC.

    An empty text stands for all. `model` is the one that made the run's attempts, `kind` the task's type. Runs of the
    scripted demonstration model are figures of their own, and never counted among the others.
    """

    since: date
    until: date
    agent: str = ""
    mode: str = ""
    model: str = ""
    kind: str = ""
    scripted: bool = False

    @property
    def days(self) -> int:
        return (self.until - self.since).days + 1

    @property
    def begin(self) -> datetime:
        return datetime.combine(self.since, time(), tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """The first moment that is not of the period any more."""
        return self.begin + timedelta(days=self.days)

    def before(self) -> "Chosen":
        """The period of the same length right before this one, otherwise as chosen."""
        return replace(self, since=self.since - timedelta(days=self.days), until=self.since - timedelta(days=1))


@dataclass(frozen=True)
class ChosenHour(Chosen):
    """One hour, from 0, of its first day: what leads to the runs behind a point of a short period.

    Sums are kept by day, so figures are never asked for by the hour.
    """

    hour: int = 0

    @property
    def begin(self) -> datetime:
        return super().begin + timedelta(hours=self.hour)

    @property
    def end(self) -> datetime:
        return self.begin + timedelta(hours=1)


class Unit(StrEnum):
    SHARE = "share"
    COUNT = "count"
    MEAN = "mean"
    MS = "ms"
    SECONDS = "s"
    TOKENS = "tokens"
    USD = "usd"


@dataclass(frozen=True)
class Figure:
    """One number under its name of SPEC §11. `value` is None where nothing could be counted.

    `of` is how many runs (or reflections, reviews …) it is computed over. `low` and `high` bound a share's 95 % Wilson
    interval. `is_at_least` where something of it is not known: a sum of money, of which some prices are not.
    """

    name: str
    value: float | None
    unit: Unit
    of: int = 0
    low: float | None = None
    high: float | None = None
    is_at_least: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar of a distribution: what it counts, and how often that was. `key` is what leads to the runs behind it."""

    key: str
    count: int


@dataclass(frozen=True)
class Point:
    """The figures of one piece of the period: an hour, a day or a week, as long as the period asks for."""

    start: str
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class Spend:
    """What one role of one model took. `is_known` is false where a price of some call was not known."""

    role: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: Decimal
    is_known: bool = True

    @property
    def known_cost_usd(self) -> Decimal | None:
        """What it cost at least; None where nothing is known of it."""
        return self.cost_usd if self.is_known or self.cost_usd else None


@dataclass(frozen=True)
class TaskSpend:
    task_id: str
    objective: str
    tokens: int
    cost_usd: Decimal
    is_known: bool = True

    @property
    def known_cost_usd(self) -> Decimal | None:
        return self.cost_usd if self.is_known or self.cost_usd else None


@dataclass(frozen=True)
class Metrics:
    """All that the metrics of one choice are, but for reviews and calibration.

    `bars` by name: modes, agents, models, kinds, outcomes, attempts_to_success, failures, latency, referees.
    `choices` are the agents, modes, models and kinds that the project's runs have had, for the filters.
    """

    chosen: Chosen
    figures: Mapping[str, Figure]
    before: Mapping[str, Figure]
    points: tuple[Point, ...]
    bars: Mapping[str, tuple[Bar, ...]]
    spend: tuple[Spend, ...]
    dearest_tasks: tuple[TaskSpend, ...]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
