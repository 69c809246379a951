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

BY_NAME = "by name; `GET /metrics/definitions` tells what each is"


class PointAnswer(Answer):
    """A piece of the period: a day of up to 92, else a week."""

    start: str = Field(examples=["2026-03-04"])
    values: dict[str, Annotated[float | None, part("value")]] = Field(validation_alias="figures")


class TookAnswer(Answer):
    cost_usd: KnownCost = Field(
        validation_alias="known_cost_usd", description="at least this where not all is known, null where nothing is"
    )
    is_known: bool = Field(description="whether the price of every call was known")


class SpendAnswer(TookAnswer):
    role: str = Field(description="empty: of steps that were taken back")
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
    before: dict[str, Figure] = Field(description="the same of as many days right before")
    points: list[PointAnswer]


class MetricsAnswer(OfPeriodAnswer):
    """Of the runs that finished in the period. Forks and redos count for what they took alone."""

    mode_usage: dict[str, float] = Field(description="the share of each loop")
    most_common_failure_types: list[Bar] = Field(description="of how many runs had it, the most frequent first")
    bars: dict[str, list[Bar]]
    spend: list[SpendAnswer]
    dearest_tasks: list[TaskSpendAnswer]
    choices: dict[str, list[str]] = Field(description="what there is to choose from, whatever the period")


class ReviewMetricsAnswer(OfPeriodAnswer):
    """The queue is as it is now; all else is of the decisions of the period."""

    ages: list[Bar] = Field(description="open reviews by how long they have waited: up to so long")
    by_reviewer: list[Overruled] = Field(description="by person; all other figures are of people's decisions")
    by_key: list[Overruled] = Field(description="what keys decided, which is in no other figure")
    by_critic: list[Overruled] = Field(description="by the critic's model; each verdict once")
    reasons: dict[str, int] = Field(description="why what was decided had been put before people")


class RunBehindAnswer(Answer):
    """A run, without what it wrote."""

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
    """Of the critic's verdicts as a whole; intervals are of 95 %."""

    source: JudgementSource = Field(description="the desk's own reviews, or judgements that were imported")
    model: str
    prompt_version: str
    pairs: int = Field(description="how many verdicts were compared")
    worth: float = Field(description="how many that were drawn evenly and independently would say as much")
    agreed: Interval | None
    kappa: Interval | None = Field(description="Cohen's κ; null where both always said one and the same")
    precision: Interval | None = Field(description="of what the critic passed, what people pass")
    recall: Interval | None = Field(description="of what people pass, what the critic passed")
    false_pass: Interval | None = Field(description="of what people send back, what the critic passed")
    false_fail: Interval | None = Field(description="of what people pass, what the critic sent back")
    matrix: list[MatrixCell]
    by_verdict: list[OfVerdict]
    reliability: Reliability


class CalibrationAnswer(Answer):
    """Critics in the order of how much is known of them."""

    since: date
    until: date
    critics: list[CriticAnswer]
    waiting: int = Field(description="verdicts of the period that were put before people and are not decided")
    withdrawn: int = Field(description="those of which the run ended first")
    by_keys: int = Field(description="verdicts that keys alone decided about, which no person judged; in no figure")
    split_items: int = Field(description="imported items on which people have no majority; they are in no figure")
    unjudged_items: int = Field(description="imported items that no person has judged")


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
