"""The metrics of a project for a period and a choice of runs: read from the sums by day, and by hour from the runs."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Model, QuerySet, Sum
from django.db.models.functions import TruncHour

from reflection_app.metrics.definitions import SUMMED, Sums, figures_of
from reflection_app.metrics.models.day_figures import DayCount, DayFigure, DaySpend
from reflection_app.metrics.models.run_figures import RunFigure
from reflection_app.metrics.pieces import MOST_DAYS_BY_HOUR, Step, pieces_of
from reflection_app.metrics.run_facts import LATENCIES, LONGER
from reflection_app.metrics.values import Bar, Chosen, Figure, Metrics, Point, Spend, TaskSpend
from reflection_app.tasks.models import Task

# Bars beyond these would be too thin to see, and choices too many to choose from.
MOST_BARS = 50
MOST_CHOICES = 500
DEAREST = 10
BY = ("agent", "mode", "model", "kind")
FAMILIES = (
    "modes",
    "agents",
    "models",
    "kinds",
    "outcomes",
    "attempts_to_success",
    "failures",
    "latency",
    "referees",
)
CHOICES = ("agents", "modes", "models", "kinds")
_SUMS = {f"sum_{name}": Sum(name) for name in SUMMED}


def metrics_of(project_id: UUID, chosen: Chosen) -> Metrics:
    """The figures, what they were in the period before, their course, and what they are made of."""
    by_day = _sums_by_day(project_id, chosen)
    figures, before = _compared(chosen, by_day)
    return Metrics(
        chosen=chosen,
        figures=figures,
        before=before,
        points=_points(project_id, chosen, by_day),
        bars=_bars(project_id, chosen),
        spend=_spend(project_id, chosen),
        dearest_tasks=_dearest_tasks(project_id, chosen),
        choices=choices_of(project_id, chosen),
    )


def headline_of(project_id: UUID, chosen: Chosen) -> tuple[Mapping[str, Figure], Mapping[str, Figure]]:
    """The figures alone, and what they were in the period before."""
    return _compared(chosen, _sums_by_day(project_id, chosen))


def _compared(chosen: Chosen, by_day: Mapping[Any, Sums]) -> tuple[Mapping[str, Figure], Mapping[str, Figure]]:
    before = chosen.before()
    return (
        figures_of(_total(sums for day, sums in by_day.items() if day >= chosen.since)),
        figures_of(_total(sums for day, sums in by_day.items() if day <= before.until)),
    )


def asked_for(chosen: Chosen) -> dict[str, Any]:
    """What rows of figures are filtered by, but for their time."""
    by = {name: getattr(chosen, name) for name in BY if getattr(chosen, name)}
    return {"is_scripted": chosen.scripted, **by}


def _days[M: Model](rows: QuerySet[M], project_id: UUID, chosen: Chosen) -> QuerySet[M]:
    """Of sums by day those of the period, where nothing narrows it down the totals of the days."""
    wanted = asked_for(chosen)
    is_total = wanted.keys() == {"is_scripted"}
    return rows.filter(project=project_id, is_total=is_total, day__range=(chosen.since, chosen.until), **wanted)


def _sums_by_day(project_id: UUID, chosen: Chosen) -> dict[Any, Sums]:
    """Of this period and the one before it."""
    both = Chosen(**vars(chosen) | {"since": chosen.before().since})
    rows = _days(DayFigure.objects.all(), project_id, both)
    return {row["day"]: _sums(row) for row in rows.values("day").annotate(**_SUMS).order_by("day")}


def _sums(row: Mapping[str, Any]) -> Sums:
    values: dict[str, Any] = {name: row[f"sum_{name}"] for name in SUMMED}
    return Sums(**values)


def _total(sums: Iterable[Sums]) -> Sums:
    total = Sums()
    for one in sums:
        total += one
    return total


def _points(project_id: UUID, chosen: Chosen, by_day: Mapping[Any, Sums]) -> tuple[Point, ...]:
    step, pieces = pieces_of(chosen)
    by_time = _sums_by_hour(project_id, chosen) if step is Step.HOUR else by_day
    return tuple(
        Point(
            start=piece.name,
            figures=figures_of(_total(sums for at, sums in by_time.items() if piece.begin <= at < piece.end)),
        )
        for piece in pieces
    )


def _sums_by_hour(project_id: UUID, chosen: Chosen) -> dict[Any, Sums]:
    rows = RunFigure.objects.filter(project=project_id, **asked_for(chosen), **finished_within(chosen))
    hours = rows.annotate(hour=TruncHour("finished_at", tzinfo=UTC)).values("hour").annotate(**_SUMS)
    return {row["hour"]: _sums(row) for row in hours.order_by("hour")}


def finished_within(chosen: Chosen) -> dict[str, datetime]:
    """The period by the moment at which runs finished, as a filter."""
    return {"finished_at__gte": chosen.begin, "finished_at__lt": chosen.end}


def _bars(project_id: UUID, chosen: Chosen) -> dict[str, tuple[Bar, ...]]:
    """The most frequent first; those that have an order of their own in that."""
    rows = _days(DayCount.objects.all(), project_id, chosen).values("family", "key").annotate(runs=Sum("count"))
    counted: dict[str, dict[str, int]] = {family: {} for family in FAMILIES}
    for row in rows.order_by("-runs", "key"):
        counted[row["family"]][row["key"]] = row["runs"]
    if counted["latency"]:
        counted["latency"] = {name: counted["latency"].get(name, 0) for name in (*LATENCIES, LONGER)}
    tries = counted["attempts_to_success"]
    counted["attempts_to_success"] = {key: tries[key] for key in sorted(tries, key=int)}
    return {
        family: tuple(Bar(key=key, count=count) for key, count in list(bars.items())[:MOST_BARS])
        for family, bars in counted.items()
    }


def _spend(project_id: UUID, chosen: Chosen) -> tuple[Spend, ...]:
    """The dearest first, and of what has no price, what took most tokens."""
    rows = _days(DaySpend.objects.all(), project_id, chosen).values("role", "spent_on")
    summed = rows.annotate(
        all_calls=Sum("calls"),
        prompt=Sum("prompt_tokens"),
        completion=Sum("completion_tokens"),
        cost=Sum("cost_usd"),
        unpriced=Sum("unpriced_calls"),
    )
    return tuple(
        Spend(
            role=row["role"],
            model=row["spent_on"],
            calls=row["all_calls"],
            prompt_tokens=row["prompt"],
            completion_tokens=row["completion"],
            cost_usd=row["cost"],
            is_known=not row["unpriced"],
        )
        for row in summed.order_by("-cost", "-prompt", "role", "spent_on")
    )


def _dearest_tasks(project_id: UUID, chosen: Chosen) -> tuple[TaskSpend, ...]:
    """What was spent on all runs of a task, forks and redos among them.

    Of tasks with one run, most of all, an index has the dearest in order; only what the others took has to be added up.
    """
    rows = RunFigure.objects.filter(
        project=project_id, finished_on__range=(chosen.since, chosen.until), task__isnull=False, **asked_for(chosen)
    )
    # Of short periods the index would be read nearly to its end: sorting by a sum makes the database take the period's.
    cost = F("cost_usd") + 0 if chosen.days <= MOST_DAYS_BY_HOUR else F("cost_usd")
    lone = rows.filter(is_of_several=False).order_by(cost.desc(), "-prompt_tokens", "task")
    several = rows.filter(is_of_several=True).values("task")
    added = several.annotate(cost=Sum("cost_usd"), prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens"))
    added = added.annotate(unpriced=Sum("unpriced_calls"))
    of_one = ("task", "cost_usd", "prompt_tokens", "completion_tokens", "unpriced_calls")
    of_several = ("task", "cost", "prompt", "completion", "unpriced")
    dearest = [
        *lone.values_list(*of_one)[:DEAREST],
        *added.order_by("-cost", "-prompt", "task").values_list(*of_several)[:DEAREST],
    ]
    dearest.sort(key=lambda row: (-row[1], -row[2], row[0]))
    tasks = Task.objects.only("objective").in_bulk([row[0] for row in dearest])
    return tuple(
        TaskSpend(
            task_id=str(task),
            objective=tasks[task].title,
            tokens=prompt + completion,
            cost_usd=cost,
            is_known=not unpriced,
        )
        for task, cost, prompt, completion, unpriced in dearest[:DEAREST]
        if task in tasks and (cost or prompt)
    )


def choices_of(project_id: UUID, chosen: Chosen) -> dict[str, tuple[str, ...]]:
    """What there is to choose from, whatever the period."""
    rows = DayCount.objects.filter(
        project=project_id, is_total=True, is_scripted=chosen.scripted, family__in=CHOICES
    ).exclude(key="")
    known: dict[str, list[str]] = {family: [] for family in CHOICES}
    for family, key in rows.order_by("family", "key").values_list("family", "key").distinct():
        if len(known[family]) < MOST_CHOICES:
            known[family].append(key)
    return {family: tuple(keys) for family, keys in known.items()}
