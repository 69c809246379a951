"""What each metric is: one table of figures with how they are computed, their words and the runs behind them.

A run that solves a task is counted. Forks and redos are not, for they begin with more than a task; nor is what checks,
diagnoses, merges or looks at other work, whoever asked for it. What any of them took is spent all the same.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import cached_property, reduce
from operator import or_
from typing import Any

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from pydantic import ConfigDict

from reflection_app.metrics.statistics import wilson

# What the metrics page, REST and the charts are told: figures, bars and series, as plain values. Pure.

# REST answers these values as they are: every field is always there.
ANSWERED = ConfigDict(json_schema_serialization_defaults_required=True)
# A year and a leap day: what is asked for at once.
LONGEST_DAYS = 366


@dataclass(frozen=True)
class Chosen:
    """Filter for the runs of the figures: those that finished from `since` to `until`, both days included, in UTC.

    An empty string matches all. `model` is the one that made the run's attempts, `kind` the task's type. Runs of the
    scripted demo model have figures of their own and are never counted among the others.
    """

    __pydantic_config__ = ANSWERED

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
    """One figure. `value` is None if nothing could be counted.

    `of` is the number of runs (or reflections, reviews …) that it is computed over. `low` and `high` bound a share's 95
    % Wilson interval. `is_at_least` marks a lower bound: a sum of money with some prices unknown.
    """

    __pydantic_config__ = ANSWERED

    name: str
    value: float | None
    unit: Unit
    of: int = 0
    low: float | None = None
    high: float | None = None
    is_at_least: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar of a distribution with its key and count. `key` selects the runs behind it."""

    key: str
    count: int


# The families of bars, each with the column of RunFigure that tells a run's bar.
COLUMNS: Mapping[str, str] = {
    "modes": "mode",
    "agents": "agent",
    "models": "model",
    "kinds": "kind",
    "outcomes": "outcome",
    "attempts_to_success": "attempts_to_success",
    "failures": "failures",
}


@dataclass(frozen=True)
class Point:
    """The figures of one piece of the period: a day or a week, as long as the period asks for."""

    start: str
    figures: Mapping[str, Figure]


@dataclass(frozen=True, kw_only=True)
class Took:
    """What something cost. `is_known` is false where a price of some call was not known."""

    cost_usd: Decimal
    is_known: bool = True

    @property
    def known_cost_usd(self) -> Decimal | None:
        """What it cost at least; None where nothing is known of it."""
        return self.cost_usd if self.is_known or self.cost_usd else None


@dataclass(frozen=True, kw_only=True)
class Spend(Took):
    """What one role of one model took."""

    role: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, kw_only=True)
class TaskSpend(Took):
    task_id: str
    objective: str
    tokens: int


@dataclass(frozen=True)
class Metrics:
    """All that the metrics of one choice are, but for reviews and calibration.

    `bars` by name: modes, agents, models, kinds, outcomes, attempts_to_success, failures.
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


class Sums(Counter[str]):
    """The numbers of metrics/models.py's Summed over some runs, by name; sums of parts are exactly the sum of all."""

    def __init__(self, **numbers: Any) -> None:
        super().__init__(numbers)


# Of the figures of runs those that took anything.
TOOK = Q(prompt_tokens__gt=0) | Q(completion_tokens__gt=0) | Q(cost_usd__gt=0)


@dataclass(frozen=True)
class Definition:
    """One figure, with all that pages, charts, files and lists of runs have to know of it.

    `sums` is how it comes from Sums: `a / b` is a ratio, `a of b` the number a, counted over b. Figures of reviews
    have none, since the database computes them. REST tells the `meaning`, pages the `label` as well; `better` is the
    direction that is good, where there is one. `over` and `favour` say which runs it is computed over, and which
    of them count in its favour, where those are others than the runs whose b (of a number: a), or a, is above 0.
    """

    name: str
    unit: Unit
    sums: str = ""
    label: str | Promise = ""
    meaning: str | Promise = ""
    _: KW_ONLY
    better: str = ""
    over: Q | None = None
    favour: Q | None = None

    @cached_property
    def part(self) -> tuple[str, ...]:
        return tuple(re.split(" / | of ", self.sums)[0].split(" + "))

    @cached_property
    def whole(self) -> tuple[str, ...]:
        return tuple(re.split(" / | of ", self.sums)[1].split(" + "))

    @property
    def is_total(self) -> bool:
        return " of " in self.sums

    def of(self, sums: Sums) -> Figure:
        """The figure of these sums. Of money, nothing where no price is known."""
        # Whole numbers, and money as decimals.
        numbers: Any = sums
        part, whole = (sum(numbers[name] for name in names) for names in (self.part, self.whole))
        unpriced = sums["counted_unpriced_calls" if "counted_cost_usd" in self.part else "unpriced_calls"]
        is_at_least = self.unit is Unit.USD and unpriced > 0
        value: float | None = float(part) if isinstance(part, Decimal) else part
        if is_at_least and not part:
            value = None
        elif not self.is_total:
            value = value / whole if whole else None
        return figure(self.name, value, whole, is_at_least=is_at_least)

    def runs_behind(self) -> tuple[Q, Q]:
        """Over which runs it is computed, and which of them count in its favour; both select rows of RunFigure."""
        over = self.over or _any_of(self.part if self.is_total else self.whole)
        return over, self.favour or _any_of(self.part)


def _any_of(names: Iterable[str]) -> Q:
    return reduce(or_, (Q(**{f"{name}__gt": 0}) for name in names))


# The names are those of the specification. The order is the one in which files and REST tell them.
DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "success_rate",
        Unit.SHARE,
        "succeeded / runs",
        _("Success rate"),
        _("Share of finished task runs that succeeded."),
        better="up",
    ),
    Definition(
        "success_rate_without_reflection",
        Unit.SHARE,
        "enabled_first_succeeded / enabled",
        _("Success without reflection"),
        _("Share of runs allowing a second attempt whose first attempt succeeded."),
        better="up",
    ),
    Definition(
        "success_rate_with_reflection",
        Unit.SHARE,
        "enabled_succeeded / enabled",
        _("Success with reflection"),
        _("Share of runs allowing a second attempt that succeeded in the end."),
        better="up",
    ),
    Definition(
        "improvement_rate",
        Unit.SHARE,
        "improved / enabled_first_failed",
        _("Recovery rate"),
        _("Share of runs with a failed first attempt that succeeded in the end. Unverified does not count as success."),
        better="up",
    ),
    Definition(
        "over_correction_rate",
        Unit.SHARE,
        "over_corrected / scored_twice",
        _("Over-correction rate"),
        _("Share of runs with two or more scores whose last score is below their best."),
        better="down",
    ),
    Definition(
        "reflection_effectiveness",
        Unit.SHARE,
        "effective / reflections",
        _("Effective reflections"),
        _("Share of reflections whose next attempt scored higher or succeeded."),
        better="up",
    ),
    Definition(
        "passed_lowered_rate",
        Unit.SHARE,
        "passed_lowered / succeeded",
        _("Lowered-expectation passes"),
        _("Share of successful runs that passed only against a lowered expectation."),
        better="down",
    ),
    Definition(
        "success_on_first_try",
        Unit.SHARE,
        "first_succeeded / told",
        _("First-attempt success"),
        _("Share of runs whose first attempt succeeded, among those with a known first result."),
        better="up",
    ),
    Definition(
        "found_incomplete",
        Unit.SHARE,
        "checks_incomplete / checks_complete + checks_incomplete",
        _("Incomplete rate"),
        _("Share of conclusive completeness checks that found something missing."),
        better="down",
    ),
    Definition(
        "completed_by_supplement",
        Unit.SHARE,
        "checks_supplemented / checks_supplementable",
        _("Completed by follow-up"),
        _("Share of in-run checks with something missing where follow-up steps completed all of it."),
        better="up",
    ),
    Definition(
        "exec_success_rate",
        Unit.SHARE,
        "exec_succeeded / exec_attempted",
        _("Step success rate"),
        _("Share of steps tried that succeeded, in runs that executed follow-up steps."),
        better="up",
    ),
    Definition(
        "runs",
        Unit.COUNT,
        "runs of runs",
        _("Finished runs"),
        _("Task runs, excluding forks, redos, checks and diagnoses."),
    ),
    Definition(
        "reflection_enabled_tasks",
        Unit.COUNT,
        "enabled of enabled",
        _("Tasks with reflection"),
        _("Tasks with a finished run that allowed a second attempt."),
    ),
    Definition(
        "total_reasoning_attempts",
        Unit.COUNT,
        "attempts of attempted",
        _("Attempts"),
        _("Total attempts of all runs."),
    ),
    Definition(
        "exec_used",
        Unit.COUNT,
        "exec_used of checked",
        _("Runs with follow-up steps"),
        _("Runs that executed at least one follow-up step."),
    ),
    Definition(
        "exec_attempted",
        Unit.COUNT,
        "exec_attempted of checked",
        _("Steps tried"),
        _("Plan steps of checked runs that executed follow-up steps."),
    ),
    Definition(
        "exec_succeeded",
        Unit.COUNT,
        "exec_succeeded of checked",
        _("Successful steps"),
        _("Steps tried that succeeded."),
    ),
    Definition(
        "avg_iterations_per_task",
        Unit.MEAN,
        "attempts / attempted",
        _("Attempts per run"),
        _("Mean attempts of runs with at least one attempt."),
        better="down",
    ),
    Definition(
        "avg_iterations_to_success",
        Unit.MEAN,
        "attempts_to_success / attempted_succeeded",
        _("Attempts to success"),
        _("Mean attempts of successful runs."),
        better="down",
    ),
    Definition(
        "supplements_per_task",
        Unit.MEAN,
        "supplements / checked",
        _("Follow-up steps per run"),
        _("Mean follow-up steps requested by checks per checked run."),
    ),
    Definition(
        "tokens",
        Unit.TOKENS,
        "prompt_tokens + completion_tokens of llm_calls",
        _("Tokens"),
        _("Input and output tokens of all model calls, including forks, redos and internal calls."),
        over=TOOK,
        favour=TOOK,
    ),
    Definition(
        "avg_tokens_per_reflection",
        Unit.TOKENS,
        "reflection_tokens / reflections",
        _("Tokens per reflection"),
        _("Evaluation and reflection tokens per attempt sent back."),
        better="down",
        over=Q(reflections__gt=0) | Q(reflection_tokens__gt=0),
        favour=Q(reflections__gt=0),
    ),
    Definition(
        "avg_latency_per_iteration_ms",
        Unit.MS,
        "cycle_ms / attempts",
        _("Time per attempt"),
        _("Mean working time of an attempt including its verdict, excluding time waiting for people."),
        better="down",
        favour=Q(attempted=1),
    ),
    Definition(
        "cost_usd",
        Unit.USD,
        "cost_usd of llm_calls",
        _("Cost"),
        _("Cost of all model calls with known prices."),
        better="down",
    ),
    Definition(
        "cost_usd_per_success",
        Unit.USD,
        "counted_cost_usd / succeeded",
        _("Cost per success"),
        _("Total cost ÷ successful runs."),
        better="down",
        over=Q(runs__gt=0),
        favour=Q(succeeded__gt=0),
    ),
)

# Of reviews, as metrics/review_figures.py reads them.
OF_REVIEWS: tuple[Definition, ...] = (
    Definition(
        "queue_length",
        Unit.COUNT,
        label=_("Waiting now"),
        meaning=_("Reviews currently open."),
        better="down",
    ),
    Definition(
        "oldest_age_s",
        Unit.SECONDS,
        label=_("Longest wait"),
        meaning=_("Waiting time of the oldest open review."),
        better="down",
    ),
    Definition(
        "overdue",
        Unit.COUNT,
        label=_("Overdue now"),
        meaning=_("Open reviews past the SLA target; empty if no target is set."),
        better="down",
    ),
    Definition(
        "decided",
        Unit.COUNT,
        label=_("Decided"),
        meaning=_("Reviews decided by people in this period."),
    ),
    Definition(
        "time_to_decision_p50_s",
        Unit.SECONDS,
        label=_("Median decision time"),
        meaning=_("Median time from opening a review to its decision."),
        better="down",
    ),
    Definition(
        "time_to_decision_p95_s",
        Unit.SECONDS,
        label=_("p95 decision time"),
        meaning=_("95th percentile of the time from opening a review to its decision."),
        better="down",
    ),
    Definition(
        "overrule_rate",
        Unit.SHARE,
        label=_("Overruled"),
        meaning=_("Share of decided reviews where people overruled the verdict."),
        better="down",
    ),
)
FIGURES: Mapping[str, Definition] = {one.name: one for one in (*DEFINITIONS, *OF_REVIEWS)}


def figures_of(sums: Sums) -> dict[str, Figure]:
    """All figures of runs by name. Shares come with their 95 % interval (Wilson 1927)."""
    return {one.name: one.of(sums) for one in DEFINITIONS}


def figure(name: str, value: float | None, of: int, *, is_at_least: bool = False) -> Figure:
    """The figure of that name, a share with its interval."""
    unit = FIGURES[name].unit
    # Reflections, checks and steps of one run hang together, so the interval of their shares is somewhat too narrow.
    bounds = wilson(value * of, of) if unit is Unit.SHARE and value is not None else None
    low, high = (bounds.low, bounds.high) if bounds else (None, None)
    return Figure(name, value, unit, of, low, high, is_at_least)
