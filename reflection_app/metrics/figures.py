"""The metrics of a project for a period and a choice of runs, summed over the figures of runs by the database."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import CharField, Count, F, Func, QuerySet, Sum

from reflection_app.metrics.definitions import (
    COLUMNS,
    Bar,
    Chosen,
    Figure,
    Metrics,
    Point,
    Spend,
    Sums,
    TaskSpend,
    figures_of,
)
from reflection_app.metrics.models import SUMMED, RunFigure, RunSpend
from reflection_app.tasks.models import Task

# The pieces of a period, each of which has a point in charts: days, or weeks where there are many. Pure.

MOST_DAYS_BY_DAY = 92


class Step(StrEnum):
    DAY = "day"
    WEEK = "week"


@dataclass(frozen=True)
class Piece:
    """From the day `begin` to right before the day `end`, in UTC."""

    begin: date
    end: date


def pieces_of(chosen: Chosen) -> tuple[Step, list[Piece]]:
    """All pieces in order. A period that begins or ends within a week has a shorter first or last one."""
    days = [chosen.since + timedelta(days=day) for day in range(chosen.days)]
    step = Step.DAY if chosen.days <= MOST_DAYS_BY_DAY else Step.WEEK
    begins = [day for day in days if step is Step.DAY or day == chosen.since or day.weekday() == 0]
    ends = [*begins[1:], chosen.until + timedelta(days=1)]
    return step, [Piece(begin, end) for begin, end in zip(begins, ends, strict=True)]


# Bars beyond these would be too thin to see, and choices too many to choose from.
MOST_BARS = 50
MOST_CHOICES = 500
DEAREST = 10
# Of shorter periods the index of the dearest tasks would be read nearly to its end.
FEW_DAYS = 2
BY = ("agent", "mode", "model", "kind")
CHOICES = ("agents", "modes", "models", "kinds")
_SUMS = {f"sum_{name}": Sum(name) for name in SUMMED}


def metrics_of(project_id: UUID, chosen: Chosen) -> Metrics:
    """The figures, what they were in the period before, their course, and what they are made of."""
    by_day = _sums_by_day(project_id, chosen)
    figures, before = _compared(chosen, by_day)
    points = tuple(
        Point(
            start=piece.begin.isoformat(),
            figures=figures_of(_total(sums for day, sums in by_day.items() if piece.begin <= day < piece.end)),
        )
        for piece in pieces_of(chosen)[1]
    )
    spend = (
        RunSpend.objects.filter(figure__in=_of_period(project_id, chosen))
        .values("role", "spent_on")
        .annotate(
            all_calls=Sum("calls"),
            prompt=Sum("prompt_tokens"),
            completion=Sum("completion_tokens"),
            cost=Sum("cost_usd"),
            unpriced=Sum("unpriced_calls"),
        )
        # The dearest first, and of what has no price, what took most tokens.
        .order_by("-cost", "-prompt", "role", "spent_on")
    )
    return Metrics(
        chosen=chosen,
        figures=figures,
        before=before,
        points=points,
        bars=_bars(project_id, chosen),
        spend=tuple(
            Spend(
                role=row["role"],
                model=row["spent_on"],
                calls=row["all_calls"],
                prompt_tokens=row["prompt"],
                completion_tokens=row["completion"],
                cost_usd=row["cost"],
                is_known=not row["unpriced"],
            )
            for row in spend
        ),
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


def _of_period(project_id: UUID, chosen: Chosen) -> QuerySet[RunFigure]:
    """The figures of the runs that are asked for, in no order."""
    period = (chosen.since, chosen.until)
    return RunFigure.objects.filter(project=project_id, finished_on__range=period, **asked_for(chosen)).order_by()


def _bars(project_id: UUID, chosen: Chosen) -> dict[str, tuple[Bar, ...]]:
    """The most frequent first; attempts in their own order. A run may have several failures."""
    rows = _of_period(project_id, chosen).filter(is_counted=True)
    # All but failures in one query: a project has few combinations, and a scan of the runs of a long period takes long.
    families = [family for family in COLUMNS if family != "failures"]
    keys = [COLUMNS[family] for family in families]
    combined = list(rows.values(*keys).annotate(count=Count("pk")).values_list(*keys, "count"))
    counts = {family: Counter[Any]() for family in families}
    for *values, count in combined:
        for family, key in zip(families, values, strict=True):
            counts[family][key] += count
    del counts["attempts_to_success"][0]
    failed = rows.annotate(key=Func("failures", function="unnest", output_field=CharField()))
    counts["failures"] = Counter(dict(failed.values("key").annotate(count=Count("pk")).values_list("key", "count")))
    bars = {}
    for family, found in counts.items():
        in_order = sorted(found.items(), key=lambda one: one if family == "attempts_to_success" else (-one[1], one[0]))
        bars[family] = tuple(Bar(key=str(key), count=count) for key, count in in_order[:MOST_BARS])
    return bars


def _sums_by_day(project_id: UUID, chosen: Chosen) -> dict[Any, Sums]:
    """Of this period and the one before it."""
    both = Chosen(**vars(chosen) | {"since": chosen.before().since})
    rows = _of_period(project_id, both).values("finished_on").annotate(**_SUMS)
    sums: Iterable[dict[str, Any]] = rows  # type: ignore[assignment]
    return {row["finished_on"]: Sums(**{name: row[f"sum_{name}"] for name in SUMMED}) for row in sums}


def _total(sums: Iterable[Sums]) -> Sums:
    total = Sums()
    for one in sums:
        total.update(one)
    return total


def finished_within(chosen: Chosen) -> dict[str, datetime]:
    """The period by the moment at which runs finished, as a filter."""
    return {"finished_at__gte": chosen.begin, "finished_at__lt": chosen.end}


def _dearest_tasks(project_id: UUID, chosen: Chosen) -> tuple[TaskSpend, ...]:
    """What was spent on all runs of a task, forks and redos among them.

    Of tasks with one run, most of all, an index has the dearest in order; only what the others took has to be added up.
    """
    rows = RunFigure.objects.filter(
        project=project_id, finished_on__range=(chosen.since, chosen.until), task__isnull=False, **asked_for(chosen)
    )
    # Sorting by a sum makes the database take the index of the period.
    cost = F("cost_usd") + 0 if chosen.days <= FEW_DAYS else F("cost_usd")
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
    rows = RunFigure.objects.filter(project=project_id, is_scripted=chosen.scripted, is_counted=True)
    known = list(rows.order_by().values_list(*BY).distinct())
    return {
        family: tuple(sorted({row[place] for row in known if row[place]})[:MOST_CHOICES])
        for place, family in enumerate(CHOICES)
    }
