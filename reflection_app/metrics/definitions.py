"""What each metric is: a figure from sums over runs, its formula in its docstring. Pure.

The names are those of the specification. A task's own run is counted, and so is what is handed in by calls of their
own; forks and redos are not, for they begin with more than a task, and neither is what the desk does by itself. What
any of them took is spent all the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum

from reflection_app.metrics.statistics import wilson

# What the metrics page, REST and the charts are told: figures, bars and series, as plain values. Pure.

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


@dataclass(frozen=True)
class Sums:
    """Whole numbers over runs, so that sums of parts are exactly the sum of all.

    `enabled` are the runs that allowed a second attempt, `told` those whose first attempt somebody could judge, and
    `attempted` those that made an attempt. `scored_twice` have scores of two attempts or more. Times are milliseconds.
    `reflection_tokens` are those of evaluation and reflection steps.
    """

    runs: int = 0
    succeeded: int = 0
    enabled: int = 0
    enabled_first_succeeded: int = 0
    enabled_first_failed: int = 0
    enabled_succeeded: int = 0
    improved: int = 0
    told: int = 0
    first_succeeded: int = 0
    attempted: int = 0
    attempts: int = 0
    attempted_succeeded: int = 0
    attempts_to_success: int = 0
    cycle_ms: int = 0
    reflections: int = 0
    effective: int = 0
    reflection_tokens: int = 0
    scored_twice: int = 0
    over_corrected: int = 0
    checked: int = 0
    checks_complete: int = 0
    checks_incomplete: int = 0
    supplements: int = 0
    exec_used: int = 0
    exec_attempted: int = 0
    exec_succeeded: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    llm_calls: int = 0
    unpriced_calls: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(**{name: getattr(self, name) + getattr(other, name) for name in SUMMED})


SUMMED = tuple(field.name for field in fields(Sums))

type Definition = Callable[[Sums], tuple[float | None, int]]


def reflection_enabled_tasks(sums: Sums) -> tuple[float | None, int]:
    """Tasks with a finished run that allowed a second attempt. A task has one run that is counted."""
    return sums.enabled, sums.enabled


def success_rate(sums: Sums) -> tuple[float | None, int]:
    """Of all runs, those that succeeded."""
    return _ratio(sums.succeeded, sums.runs)


def success_rate_without_reflection(sums: Sums) -> tuple[float | None, int]:
    """Of runs that allowed a second attempt, those whose attempt 1 succeeded: what stopping there would have got."""
    return _ratio(sums.enabled_first_succeeded, sums.enabled)


def success_rate_with_reflection(sums: Sums) -> tuple[float | None, int]:
    """Of the same runs, those that succeeded in the end."""
    return _ratio(sums.enabled_succeeded, sums.enabled)


def improvement_rate(sums: Sums) -> tuple[float | None, int]:
    """Of the same runs, of those that failed at attempt 1, the share that succeeded in the end."""
    return _ratio(sums.improved, sums.enabled_first_failed)


def avg_iterations_per_task(sums: Sums) -> tuple[float | None, int]:
    """Attempts / runs that made any."""
    return _ratio(sums.attempts, sums.attempted)


def avg_iterations_to_success(sums: Sums) -> tuple[float | None, int]:
    """The same over those that succeeded only."""
    return _ratio(sums.attempts_to_success, sums.attempted_succeeded)


def avg_tokens_per_reflection(sums: Sums) -> tuple[float | None, int]:
    """Tokens of all evaluation and reflection steps / reflections; an attempt that was sent back is a reflection."""
    return _ratio(sums.reflection_tokens, sums.reflections)


def avg_latency_per_iteration_ms(sums: Sums) -> tuple[float | None, int]:
    """Time of the steps about attempts / attempts. Waiting for people, and for the outside agent, is no such time."""
    return _ratio(sums.cycle_ms, sums.attempts)


def over_correction_rate(sums: Sums) -> tuple[float | None, int]:
    """Of runs with scores of two attempts or more, those whose last score is below their best."""
    return _ratio(sums.over_corrected, sums.scored_twice)


def reflection_effectiveness(sums: Sums) -> tuple[float | None, int]:
    """Of reflections, those whose next attempt scored higher or succeeded; one that none followed did nothing."""
    return _ratio(sums.effective, sums.reflections)


def success_on_first_try(sums: Sums) -> tuple[float | None, int]:
    """Of all runs whose attempt 1 could be judged, those where it succeeded."""
    return _ratio(sums.first_succeeded, sums.told)


def total_reasoning_attempts(sums: Sums) -> tuple[float | None, int]:
    """Attempts of all runs."""
    return sums.attempts, sums.attempted


def found_incomplete(sums: Sums) -> tuple[float | None, int]:
    """Of the completeness checks that could tell, those that found something missing."""
    return _ratio(sums.checks_incomplete, sums.checks_complete + sums.checks_incomplete)


def supplements_per_task(sums: Sums) -> tuple[float | None, int]:
    """Supplements that checks asked for / runs that were checked."""
    return _ratio(sums.supplements, sums.checked)


def exec_used(sums: Sums) -> tuple[float | None, int]:
    """Runs in which a supplement was carried out."""
    return sums.exec_used, sums.checked


def exec_attempted(sums: Sums) -> tuple[float | None, int]:
    """Steps of plans that were tried in the checked runs that carried supplements out."""
    return sums.exec_attempted, sums.checked


def exec_succeeded(sums: Sums) -> tuple[float | None, int]:
    """Of those steps, those that worked, as a number."""
    return sums.exec_succeeded, sums.checked


def exec_success_rate(sums: Sums) -> tuple[float | None, int]:
    """The same as a share."""
    return _ratio(sums.exec_succeeded, sums.exec_attempted)


def runs(sums: Sums) -> tuple[float | None, int]:
    """Finished runs."""
    return sums.runs, sums.runs


def tokens(sums: Sums) -> tuple[float | None, int]:
    """Tokens in and out, of all model calls: also those of forks, redos and what the desk did by itself."""
    return sums.prompt_tokens + sums.completion_tokens, sums.llm_calls


def cost_usd(sums: Sums) -> tuple[float | None, int]:
    """What the same calls cost, at least, where some price is not known; nothing where none is."""
    return _known_cost(sums), sums.llm_calls


def cost_usd_per_success(sums: Sums) -> tuple[float | None, int]:
    """What was spent on everything, as far as it is known / runs that succeeded."""
    cost = _known_cost(sums)
    return (None, sums.succeeded) if cost is None else _ratio(cost, sums.succeeded)


def _known_cost(sums: Sums) -> float | None:
    return None if sums.unpriced_calls and not sums.cost_usd else float(sums.cost_usd)


DEFINITIONS: Mapping[Unit, tuple[Definition, ...]] = {
    Unit.SHARE: (
        success_rate,
        success_rate_without_reflection,
        success_rate_with_reflection,
        improvement_rate,
        over_correction_rate,
        reflection_effectiveness,
        success_on_first_try,
        found_incomplete,
        exec_success_rate,
    ),
    Unit.COUNT: (runs, reflection_enabled_tasks, total_reasoning_attempts, exec_used, exec_attempted, exec_succeeded),
    Unit.MEAN: (avg_iterations_per_task, avg_iterations_to_success, supplements_per_task),
    Unit.TOKENS: (tokens, avg_tokens_per_reflection),
    Unit.MS: (avg_latency_per_iteration_ms,),
    Unit.USD: (cost_usd, cost_usd_per_success),
}


def figures_of(sums: Sums) -> dict[str, Figure]:
    """All figures by name. Shares come with their 95 % interval (Wilson 1927)."""
    return {
        definition.__name__: replace(
            figure(definition.__name__, *definition(sums), unit=unit),
            is_at_least=unit is Unit.USD and sums.unpriced_calls > 0,
        )
        for unit, definitions in DEFINITIONS.items()
        for definition in definitions
    }


def figure(name: str, value: float | None, of: int, *, unit: Unit) -> Figure:
    """The figure, a share with its interval."""
    # Reflections, checks and steps of one run hang together, so the interval of their shares is somewhat too narrow.
    bounds = wilson(value * of, of) if unit is Unit.SHARE and value is not None else None
    if bounds is None:
        return Figure(name=name, value=value, unit=unit, of=of)
    return Figure(name=name, value=value, unit=unit, of=of, low=bounds.low, high=bounds.high)


def _ratio(part: float, whole: int) -> tuple[float | None, int]:
    return (part / whole if whole else None), whole
