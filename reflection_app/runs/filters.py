"""By what lists of runs and of tasks are narrowed and sorted over REST: these names and no others."""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Self
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from pydantic import AfterValidator, Field, TypeAdapter, model_validator

from reflection_app.api.pages import NEWEST_FIRST, Order, PageQuery
from reflection_app.loops.storable import AgentName, Moment
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome
from reflection_app.runs.models import NOT_OF_THE_DESK, VOID, Run, RunState, Verdict
from reflection_app.tasks.models import Task, has_metadata


def _finite(amount: Decimal) -> Decimal:
    if not amount.is_finite():
        raise ValueError("must be a number")
    return amount


Score = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
# What has more places than a run's cost is no number to the database, where its exponent is large enough.
Cost = Annotated[Decimal, AfterValidator(_finite), Field(ge=0, le=1_000_000, decimal_places=8)]

OLDEST_FIRST = Order(NEWEST_FIRST.fields, descending=False, position=NEWEST_FIRST.position)
BY_COST: TypeAdapter[tuple[Any, ...]] = TypeAdapter(
    tuple[Annotated[Decimal, Field(max_digits=16, decimal_places=8)], UUID]
)


class TaskSort(StrEnum):
    """A minus stands for the greatest, or the newest, first."""

    NEWEST = "-created_at"
    OLDEST = "created_at"


class RunSort(StrEnum):
    """A minus stands for the greatest, or the newest, first."""

    NEWEST = "-created_at"
    OLDEST = "created_at"
    ENDED_LAST = "-finished_at"
    ENDED_FIRST = "finished_at"
    DEAREST = "-cost_usd"
    CHEAPEST = "cost_usd"


ORDERS = {
    RunSort.NEWEST: NEWEST_FIRST,
    RunSort.OLDEST: OLDEST_FIRST,
    RunSort.ENDED_LAST: Order(("finished_at", "id"), descending=True, position=NEWEST_FIRST.position),
    RunSort.ENDED_FIRST: Order(("finished_at", "id"), descending=False, position=NEWEST_FIRST.position),
    RunSort.DEAREST: Order(("cost_usd", "id"), descending=True, position=BY_COST),
    RunSort.CHEAPEST: Order(("cost_usd", "id"), descending=False, position=BY_COST),
}


class WorkFilters(PageQuery):
    """What runs and tasks are both looked for by."""

    external_id: str | None = Field(default=None, max_length=200, description="external id of the task; exact match")
    kind: str | None = Field(default=None, max_length=60)
    agent: AgentName | None = Field(default=None, max_length=120, description="agent of the task")
    created_from: Moment | None = Field(default=None, description="time with time zone, such as 2026-01-31T00:00:00Z")
    created_before: Moment | None = None
    metadata_key: str | None = Field(
        default=None, min_length=1, max_length=200, description="key that the task's metadata contains"
    )
    metadata_value: str | None = Field(
        default=None,
        max_length=2_000,
        description="value of `metadata_key`: a string, or a number, `true`, `false` or `null` as written in JSON",
    )
    state: RunState | None = Field(
        default=None, description="state of the run; for tasks, of the newest run, as with the filters below"
    )
    outcome: Outcome | None = None
    score_from: Score | None = Field(
        default=None, description="score of the best attempt, from its highest-ranked evaluator"
    )
    score_below: Score | None = None
    cost_from_usd: Cost | None = Field(default=None, description="known cost of the run")
    cost_below_usd: Cost | None = None

    @model_validator(mode="after")
    def check_a_value_has_a_key(self) -> Self:
        if self.metadata_value is not None and self.metadata_key is None:
            raise ValueError("metadata_value is of use beside metadata_key alone")
        return self

    def get_task_conditions(self, at: str = "") -> Q:
        """What a task has to be like; `at` leads from another row to the task."""
        named = _given(external_id=self.external_id, kind=self.kind, agent=self.agent)
        found = Q(**{f"{at}{name}": value for name, value in named.items()})
        if self.metadata_key is not None:
            found &= has_metadata(self.metadata_key, self.metadata_value, at=at)
        return found

    def narrow_runs(self, runs: QuerySet[Run]) -> QuerySet[Run]:
        """Those of `runs` that have got so far, have ended so, scored so and cost so much."""
        cost = {"cost_usd__gte": self.cost_from_usd, "cost_usd__lt": self.cost_below_usd}
        runs = runs.filter(**_given(state=self.state, outcome=self.outcome, **cost))
        by_score = _given(best_score__gte=self.score_from, best_score__lt=self.score_below)
        return runs.alias(best_score=best_score()).filter(**by_score) if by_score else runs

    def get_creation(self) -> Q:
        return _between("created_at", self.created_from, self.created_before)


class TaskFilters(WorkFilters):
    mode: Mode | None = Field(default=None, description="the requested loop")
    sort: TaskSort = TaskSort.NEWEST

    def narrow_tasks(self, tasks: QuerySet[Task]) -> QuerySet[Task]:
        tasks = tasks.filter(self.get_task_conditions(), self.get_creation())
        tasks = tasks.filter(NOT_OF_THE_DESK) if self.mode is None else tasks.filter(mode=self.mode)
        of_run = (self.state, self.outcome, self.score_from, self.score_below, self.cost_from_usd, self.cost_below_usd)
        if any(value is not None for value in of_run):
            newest = Run.objects.filter(task=OuterRef("pk")).order_by("-created_at", "-id").values("pk")[:1]
            fitting = self.narrow_runs(Run.objects.filter(pk=OuterRef("newest_run")))
            tasks = tasks.alias(newest_run=Subquery(newest)).filter(Exists(fitting))
        return tasks

    @property
    def order(self) -> Order:
        return NEWEST_FIRST if self.sort is TaskSort.NEWEST else OLDEST_FIRST


class RunFilters(WorkFilters):
    mode: Mode | None = Field(
        default=None, description="default: all except post-run reflections and merge suggestions"
    )
    task: UUID | None = Field(default=None, description="the id of a task")
    parent: UUID | None = Field(default=None, description="the id of a run, to list its forks")
    finished_from: Moment | None = None
    finished_before: Moment | None = None
    sort: RunSort = Field(
        default=RunSort.NEWEST, description="sorting by `finished_at` lists only runs that have ended"
    )

    def narrow(self, runs: QuerySet[Run]) -> QuerySet[Run]:
        given = _given(mode=self.mode, task=self.task, parent=self.parent)
        runs = self.narrow_runs(runs.filter(self.get_task_conditions("task__"), self.get_creation(), **given))
        runs = runs.filter(_between("finished_at", self.finished_from, self.finished_before))
        if self.sort in {RunSort.ENDED_FIRST, RunSort.ENDED_LAST}:
            runs = runs.filter(state=RunState.FINISHED)
        return runs if given else runs.filter(NOT_OF_THE_DESK)

    @property
    def order(self) -> Order:
        return ORDERS[self.sort]


def best_score() -> Subquery:
    """Of a run: the score of its best attempt by the strongest referee, of two equally strong the later one's."""
    judged = Verdict.objects.filter(attempt=OuterRef("best_attempt")).exclude(VOID)
    return Subquery(judged.order_by("-referee", "-created_at", "-id").values("score")[:1])


def _between(field: str, begin: datetime | None, end: datetime | None) -> Q:
    return Q(**_given(**{f"{field}__gte": begin, f"{field}__lt": end}))


def _given(**wanted: Any) -> dict[str, Any]:
    """Return what is not None."""
    return {name: value for name, value in wanted.items() if value is not None}
