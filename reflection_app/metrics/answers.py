"""Metrics and calibration as REST answers them. What the pages are computed from is answered as it is."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from reflection_app.api.reading import Answer, KnownCost, OrNull, PageAnswer, part
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.calibration import (
    JudgementSource,
    MatrixCell,
    OfVerdict,
    Reliability,
)
from reflection_app.metrics.critics import CalibrationFigures
from reflection_app.metrics.definitions import Bar, Chosen, Figure, Metrics, Unit
from reflection_app.metrics.review_figures import Overruled
from reflection_app.metrics.statistics import Interval
from reflection_app.runs.models import RunState

BY_NAME = "figures by name; `GET /metrics/definitions` defines them"


class PointAnswer(Answer):
    """An interval of the period: a day for periods of up to 92 days, otherwise a week."""

    start: str = Field(examples=["2026-03-04"])
    values: dict[str, Annotated[float | None, part("value")]] = Field(validation_alias="figures")


class TookAnswer(Answer):
    cost_usd: KnownCost = Field(
        validation_alias="known_cost_usd",
        description="known cost in USD, a lower bound if some prices are unknown; null if all are unknown",
    )
    is_known: bool = Field(description="true if the price of every call is known")


class SpendAnswer(TookAnswer):
    role: str = Field(description="role of the model; empty for steps that were undone")
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


class TaskSpendAnswer(TookAnswer):
    task_id: UUID
    objective: str
    tokens: int


class OfPeriodAnswer(Answer):
    chosen: Chosen
    figures: dict[str, Figure] = Field(description=BY_NAME)
    before: dict[str, Figure] = Field(description="the same figures for the preceding period of equal length")
    points: list[PointAnswer]


class MetricsAnswer(OfPeriodAnswer):
    """Metrics of runs that finished in the period. Forks and redos count only toward spend."""

    mode_usage: dict[str, float] = Field(description="share of runs for each loop, 0 to 1")
    most_common_failure_types: list[Bar] = Field(
        description="number of runs with each failure type, most frequent first"
    )
    bars: dict[str, list[Bar]]
    spend: list[SpendAnswer]
    dearest_tasks: list[TaskSpendAnswer]
    choices: dict[str, list[str]] = Field(description="available filter values, regardless of the period")


class ReviewMetricsAnswer(OfPeriodAnswer):
    """Queue figures are current; all others cover the decisions of the period."""

    ages: list[Bar] = Field(description="open reviews by waiting time, up to each limit")
    by_reviewer: list[Overruled] = Field(
        description="decisions by person; all other figures also count only decisions by people"
    )
    by_key: list[Overruled] = Field(description="decisions by API keys, which are in no other figure")
    by_critic: list[Overruled] = Field(description="by model of the critic; each verdict counts once")
    reasons: dict[str, int] = Field(description="number of decided reviews by reason for the review")


class RunBehindAnswer(Answer):
    """A run without its content."""

    id: UUID
    task_id: UUID
    mode: Mode
    state: RunState
    outcome: Annotated[Outcome | None, OrNull]
    attempts: int = Field(validation_alias="attempts_made")
    created_at: datetime
    finished_at: datetime | None


class RunsBehindPage(PageAnswer):
    results: list[RunBehindAnswer]


class DefinitionAnswer(Answer):
    name: str
    unit: Unit
    definition: str


class DefinitionsAnswer(Answer):
    results: list[DefinitionAnswer]


def metrics_answer(found: Metrics) -> MetricsAnswer:
    counted = sum(bar.count for bar in found.bars["modes"])
    return MetricsAnswer.from_row(
        found,
        mode_usage={bar.key: bar.count / counted for bar in found.bars["modes"]},
        most_common_failure_types=found.bars["failures"],
    )


# Calibration.


class CriticAnswer(Answer):
    """Estimates for all verdicts of one critic, with 95 % intervals."""

    source: JudgementSource = Field(description="reviews of this project, or imported judgments")
    model: str
    prompt_version: str
    pairs: int = Field(description="number of verdicts compared")
    worth: float = Field(
        description="effective sample size: number of equally weighted, independent verdicts with the same information"
    )
    agreed: Interval | None
    kappa: Interval | None = Field(description="Cohen's κ; null if both always gave one and the same verdict")
    precision: Interval | None = Field(
        description="of the attempts that the critic passed, the share that people passed"
    )
    recall: Interval | None = Field(description="of the attempts that people passed, the share that the critic passed")
    false_pass: Interval | None = Field(
        description="of the attempts that people sent back, the share that the critic passed"
    )
    false_fail: Interval | None = Field(
        description="of the attempts that people passed, the share that the critic sent back"
    )
    matrix: list[MatrixCell]
    by_verdict: list[OfVerdict]
    reliability: Reliability


class CalibrationAnswer(Answer):
    """Critics, ordered by amount of evidence."""

    since: date
    until: date
    critics: list[CriticAnswer]
    waiting: int = Field(description="verdicts of the period that await a human decision")
    withdrawn: int = Field(description="verdicts whose run ended before a human decision")
    by_keys: int = Field(description="verdicts decided only by API keys; they are in no figure")
    split_items: int = Field(description="imported items without a majority among people; they are in no figure")
    unjudged_items: int = Field(description="imported items without a human judgment")


def calibration_answer(found: CalibrationFigures, chosen: Chosen) -> CalibrationAnswer:
    return CalibrationAnswer(
        since=chosen.since,
        until=chosen.until,
        critics=[
            CriticAnswer.from_row(
                one.calibration,
                source=one.critic.source,
                model=one.critic.model,
                prompt_version=one.critic.version,
            )
            for one in found.critics
        ],
        waiting=found.drawn.waiting,
        withdrawn=found.drawn.withdrawn,
        by_keys=found.drawn.by_keys,
        split_items=found.undecided.split,
        unjudged_items=found.undecided.unjudged,
    )
