"""Keeping the figures of runs, and their sums by day, as the runs are.

The sums of a day are worked out anew, in the transaction that changes a figure of it, under a lock that projects have
each for themselves. So they are never anything but the sums of the figures that are there.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import batched
from uuid import UUID

from django.db import OperationalError, connection, transaction

from reflection_app.core.models import Project
from reflection_app.metrics.figures import sum_days
from reflection_app.metrics.models import DayCount, DayFigure, DaySpend, FigureDue, RunFigure, RunSpend
from reflection_app.metrics.recorded_runs import figures_of_runs
from reflection_app.runs.models import Run

AT_ONCE = 500
log = logging.getLogger(__name__)


@transaction.atomic
def figure_due(*, at_most: int = AT_ONCE) -> int:
    """Figures the runs that have ended or changed since, oldest first; how many notes of such runs were dealt with.

    0 where another worker is at it: many that wait for one project's lock would be missed where runs are advanced.
    """
    if not _is_alone():
        return 0
    # A note that is being dealt with elsewhere is passed over; a run that changes meanwhile has another note.
    due = list(
        FigureDue.objects.select_for_update(skip_locked=True).order_by("pk").values_list("pk", "run_id")[:at_most]
    )
    FigureDue.objects.filter(pk__in=[pk for pk, _ in due]).delete()
    figure_runs(run_id for _, run_id in due)
    return len(due)


@transaction.atomic
def figure_runs(run_ids: Iterable[UUID]) -> None:
    """Figures these runs as they are now. One that is finished no more has no figure any more."""
    ids = list(dict.fromkeys(run_ids))
    projects = Run.objects.filter(pk__in=ids).order_by("project").values_list("project", flat=True).distinct()
    for project_id in projects:
        lock_figures(project_id)
    days = _forget(ids)
    for figure in _figured(ids):
        days[figure.project_id].add(figure.finished_on)
    for project_id, touched in days.items():
        sum_days(project_id, sorted(touched))


def rebuild(project: Project) -> int:
    """Figures all runs of the project anew, and sums all days anew; how many runs.

    What runs counted for that are deleted is kept.
    """
    with transaction.atomic():
        lock_figures(project.pk)
        RunFigure.objects.filter(project=project, run__isnull=False).delete()
        ids = Run.objects.filter(project=project).order_by("pk").values_list("pk", flat=True)
        figured = 0
        for some in batched(ids.iterator(), AT_ONCE):
            figured += len(_figured(some))
        for model in (DayFigure, DayCount, DaySpend):
            model.objects.filter(project=project).delete()
        days = RunFigure.objects.filter(project=project).values_list("finished_on", flat=True).distinct()
        sum_days(project.pk, list(days))
    return figured


def _forget(run_ids: Sequence[UUID]) -> dict[UUID, set[date]]:
    """Takes the figures of the runs away; the days that they were of, by project."""
    known = RunFigure.objects.filter(run__in=run_ids)
    days: dict[UUID, set[date]] = defaultdict(set)
    for project_id, day in known.values_list("project", "finished_on"):
        days[project_id].add(day)
    known.delete()
    return days


def _figured(run_ids: Sequence[UUID]) -> list[RunFigure]:
    """The figures of those of the runs that are finished, written.

    One whose rows make no sense, such as from another desk's file, is left out: it must not hold up all others.
    """
    try:
        with transaction.atomic():
            figures = _write(figures_of_runs(run_ids))
            # What is wrong with a row is said here, and not at the commit, where it would take all others along.
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    except OperationalError:
        # The database's trouble and not the runs': the next look tries again.
        raise
    except Exception:
        if len(run_ids) > 1:
            half = len(run_ids) // 2
            return [*_figured(run_ids[:half]), *_figured(run_ids[half:])]
        log.exception("run %s is left out of the metrics", run_ids[0])
        return []
    return figures


def _write(figured: Sequence[tuple[RunFigure, Sequence[RunSpend]]]) -> list[RunFigure]:
    figures = RunFigure.objects.bulk_create(figure for figure, _ in figured)
    # A task's first run was alone until it had another.
    several = [figure.task_id for figure in figures if figure.is_of_several]
    RunFigure.objects.filter(task__in=several, is_of_several=False).update(is_of_several=True)
    for figure, spend in figured:
        for one in spend:
            one.figure = figure
    RunSpend.objects.bulk_create(one for _, spend in figured for one in spend)
    return figures


def lock_figures(project_id: UUID) -> None:
    """Until the transaction's end nobody else changes the project's figures.

    Whoever deletes runs takes this lock before it locks them: figures that are being written refer to runs.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"figures of {project_id}"])


def _is_alone() -> bool:
    """Whether no other worker figures what is due, until the transaction's end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended('figures that are due', 0))")
        return bool(cursor.fetchone()[0])
