"""The metrics of a project for a period and a choice of runs, read from the sums by day."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Model, QuerySet, Sum

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
from reflection_app.metrics.models import SUMMED, DayCount, DayFigure, DaySpend, RunFigure, RunSpend
from reflection_app.tasks.models import Task

# The sums by day, by the database: over the figures of the runs that finished on it.

SPENT = ("calls", "prompt_tokens", "completion_tokens", "cost_usd", "unpriced_calls")
# What a row is of: one row for all of the day, and one for each combination of what can be asked for by.
KEYS = "project_id, is_total, day, is_scripted, agent, mode, model, kind"
GROUPED = """%(project)s, GROUPING(fact.agent) = 1, fact.finished_on, fact.is_scripted,
  coalesce(fact.agent, ''), coalesce(fact.mode, ''), coalesce(fact.model, ''), coalesce(fact.kind, '')"""
SETS = """GROUPING SETS (
  (fact.finished_on, fact.is_scripted),
  (fact.finished_on, fact.is_scripted, fact.agent, fact.mode, fact.model, fact.kind)
)"""
OF_THE_DAYS = "fact.project_id = %(project)s AND fact.finished_on = ANY(%(days)s)"

FIGURES = """
INSERT INTO {day_figures} ({keys}, {summed})
SELECT {grouped}, {sums} FROM {figures} fact WHERE {of_the_days} GROUP BY {sets}
"""
COUNTS = """
INSERT INTO {day_counts} ({keys}, family, key, count)
SELECT {grouped}, bar.family, bar.key, count(*)
FROM {figures} fact CROSS JOIN LATERAL ({bars}) bar
WHERE {of_the_days} AND fact.is_counted
GROUP BY bar.family, bar.key, {sets}
"""
SPEND = """
INSERT INTO {day_spend} ({keys}, role, spent_on, {spent})
SELECT {grouped}, spent.role, spent.spent_on, {sums_spent}
FROM {figures} fact JOIN {spend} spent ON spent.figure_id = fact.id
WHERE {of_the_days}
GROUP BY spent.role, spent.spent_on, {sets}
"""
# Every bar that a run belongs to. Those of one family are apart, but for failures, of which a run may have several.
BARS = """
  SELECT 'modes' AS family, fact.mode AS key
  UNION ALL SELECT 'agents', fact.agent
  UNION ALL SELECT 'models', fact.model
  UNION ALL SELECT 'kinds', fact.kind
  UNION ALL SELECT 'outcomes', fact.outcome
  UNION ALL SELECT 'attempts_to_success', fact.attempts_to_success::text WHERE fact.attempts_to_success > 0
  UNION ALL SELECT 'failures', unnest(fact.failures)
"""
TABLES = {
    "day_figures": DayFigure,
    "day_counts": DayCount,
    "day_spend": DaySpend,
    "figures": RunFigure,
    "spend": RunSpend,
}
WORDS = {
    "keys": KEYS,
    "grouped": GROUPED,
    "sets": SETS,
    "of_the_days": OF_THE_DAYS,
    "bars": BARS,
    "summed": ", ".join(SUMMED),
    "sums": ", ".join(f"sum(fact.{name})" for name in SUMMED),
    "spent": ", ".join(SPENT),
    "sums_spent": ", ".join(f"sum(spent.{name})" for name in SPENT),
}


def sum_days(project_id: UUID, days: Sequence[date]) -> None:
    """Works the sums of these days out anew. Call it in the transaction, and under the lock, that changes figures."""
    for model in (DayFigure, DayCount, DaySpend):
        model.objects.filter(project=project_id, day__in=days).delete()
    with connection.cursor() as cursor:
        for query in (FIGURES, COUNTS, SPEND):
            cursor.execute(in_sql(query), {"project": project_id, "days": list(days)})


def in_sql(query: str) -> str:
    """The query with the names of tables, and the words that queries over figures have in common."""
    names = {name: connection.ops.quote_name(model._meta.db_table) for name, model in TABLES.items()}  # noqa: SLF001
    return query.format(**names, **WORDS)


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
    # The most frequent first; those that have an order of their own in that.
    counts = _days(DayCount.objects.all(), project_id, chosen).values("family", "key").annotate(runs=Sum("count"))
    counted: dict[str, dict[str, int]] = {family: {} for family in COLUMNS}
    for row in counts.order_by("-runs", "key"):
        counted[row["family"]][row["key"]] = row["runs"]
    tries = counted["attempts_to_success"]
    counted["attempts_to_success"] = {key: tries[key] for key in sorted(tries, key=int)}
    # The dearest first, and of what has no price, what took most tokens.
    spend = (
        _days(DaySpend.objects.all(), project_id, chosen)
        .values("role", "spent_on")
        .annotate(
            all_calls=Sum("calls"),
            prompt=Sum("prompt_tokens"),
            completion=Sum("completion_tokens"),
            cost=Sum("cost_usd"),
            unpriced=Sum("unpriced_calls"),
        )
        .order_by("-cost", "-prompt", "role", "spent_on")
    )
    return Metrics(
        chosen=chosen,
        figures=figures,
        before=before,
        points=points,
        bars={
            family: tuple(Bar(key=key, count=count) for key, count in list(bars.items())[:MOST_BARS])
            for family, bars in counted.items()
        },
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


def _days[M: Model](rows: QuerySet[M], project_id: UUID, chosen: Chosen) -> QuerySet[M]:
    """Of sums by day those of the period, where nothing narrows it down the totals of the days."""
    wanted = asked_for(chosen)
    is_total = wanted.keys() == {"is_scripted"}
    return rows.filter(project=project_id, is_total=is_total, day__range=(chosen.since, chosen.until), **wanted)


def _sums_by_day(project_id: UUID, chosen: Chosen) -> dict[Any, Sums]:
    """Of this period and the one before it."""
    both = Chosen(**vars(chosen) | {"since": chosen.before().since})
    rows = _days(DayFigure.objects.all(), project_id, both)
    return {
        row["day"]: Sums(**{name: row[f"sum_{name}"] for name in SUMMED})
        for row in rows.values("day").annotate(**_SUMS).order_by("day")
    }


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
    rows = DayCount.objects.filter(
        project=project_id, is_total=True, is_scripted=chosen.scripted, family__in=CHOICES
    ).exclude(key="")
    known: dict[str, list[str]] = {family: [] for family in CHOICES}
    for family, key in rows.order_by("family", "key").values_list("family", "key").distinct():
        if len(known[family]) < MOST_CHOICES:
            known[family].append(key)
    return {family: tuple(keys) for family, keys in known.items()}
