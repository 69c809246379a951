"""Figuring beside others who change, delete or figure the same runs; and runs whose rows make no sense."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from reflection_app.core.models import Project
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.definitions import Chosen
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.figuring import figure_due, figure_runs, lock_figures, rebuild
from reflection_app.metrics.models import FigureDue, RunFigure
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from reflection_app.teams.retention import take_tasks
from tests import given
from tests.metrics.recorded import begin, random_project
from tests.metrics.test_figures import every_sum, raw, sums
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
CHOSEN = Chosen(since=NOON.date(), until=NOON.date())


def ended(project: Project, **fields: Any) -> Run:
    return begin(project, **fields).end(Outcome.SUCCEEDED, kept=None, at=NOON)


@contextmanager
def beside(do: Any) -> Iterator[list[BaseException]]:
    """Does it in a thread of its own; what it raised is in the list afterwards."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            do()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            raised.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield raised
    finally:
        thread.join(timeout=PATIENCE_S)
        assert not thread.is_alive()


def until_somebody_waits() -> None:
    for _ in range(500):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'")
            if cursor.fetchone()[0]:
                return
        time.sleep(0.01)
    raise AssertionError("nobody waits")


def test_deleting_a_run_that_is_being_figured_waits_for_its_figures_and_neither_is_given_up(project: Project) -> None:
    run = ended(project)
    locked = threading.Event()

    def delete() -> None:
        assert locked.wait(timeout=PATIENCE_S)
        take_tasks(project.pk, Task.objects.filter(project=project))

    with beside(delete) as raised, transaction.atomic():
        lock_figures(project.pk)
        locked.set()
        until_somebody_waits()
        figure_runs([run.pk])
    assert not raised
    assert not Run.objects.exists()
    assert metrics_of(project.pk, CHOSEN).figures["runs"].value == 1


def test_a_worker_leaves_it_to_the_one_that_is_at_it() -> None:
    run = ended(given.project())
    locked, free = threading.Event(), threading.Event()

    @transaction.atomic
    def hold() -> None:
        lock_figures(run.project_id)
        locked.set()
        free.wait(timeout=PATIENCE_S)

    with beside(hold):
        assert locked.wait(timeout=PATIENCE_S)
        with beside(figure_due) as raised:
            until_somebody_waits()
            assert figure_due() == 0, "it waits for nobody"
            free.set()
    assert not raised
    assert RunFigure.objects.filter(run=run).exists()
    assert not FigureDue.objects.exists()


@pytest.mark.parametrize("spec", [{"limits": {"max_iterations": "many"}}, {"limits": {"max_iterations": [3]}}])
def test_a_run_that_makes_no_sense_holds_up_no_other(
    spec: dict[str, object], caplog: pytest.LogCaptureFixture, project: Project
) -> None:
    runs = [ended(project) for _ in range(5)]
    Run.objects.filter(pk=runs[2].pk).update(spec=spec)
    assert figure_due() == 5
    assert not FigureDue.objects.exists()
    assert str(runs[2].pk) in caplog.text
    assert metrics_of(project.pk, CHOSEN).figures["runs"].value == 4
    assert rebuild(project) == 4
    assert metrics_of(project.pk, CHOSEN).figures["runs"].value == 4


def test_a_task_that_has_another_run_later_is_one_dear_task(project: Project) -> None:
    first = ended(project, prompt_tokens=100)
    assert figure_due() == 1
    ended(project, task=first.task, parent=first, prompt_tokens=50)
    assert figure_due() == 1
    assert [(one.task_id, one.tokens) for one in metrics_of(project.pk, CHOSEN).dearest_tasks] == [
        (str(first.task_id), 150)
    ]


@pytest.mark.exhaustive("many at once, or many rows")
def test_after_a_storm_of_workers_the_sums_are_those_of_the_runs(project: Project) -> None:
    made = random_project(project, runs=24, seed=7, until=NOON, days=2)
    stop = threading.Event()

    def figure() -> None:
        while not stop.is_set():
            figure_due(at_most=3)

    def anew() -> None:
        while not stop.is_set():
            rebuild(project)

    with beside(figure) as first, beside(figure) as second, beside(anew) as third:
        for turn in range(60):
            run = made[turn % len(made)]
            if turn % 3 == 0:
                Run.objects.filter(pk=run.pk).update(state="queued", outcome=None, finished_at=None)
            elif turn % 7 == 5:
                take_tasks(project.pk, Task.objects.filter(pk=run.task_id))
            else:
                moment = NOON - timedelta(days=turn % 4)
                Run.objects.filter(pk=run.pk).update(
                    state="finished", outcome="failed", finished_at=moment, last_event_seq=turn
                )
        stop.set()
    assert not [*first, *second, *third]
    while figure_due():
        pass
    kept = every_sum(project)
    rebuild(project)
    assert every_sum(project) == kept
    RunFigure.objects.filter(project=project, run=None).delete()
    rebuild(project)
    assert sums(project) == raw(project)
