"""One project's thousands do not keep another's one waiting."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.runs import jobs as tasks
from reflection_app.runs.jobs import advance_run
from reflection_app.runs.models import Run
from reflection_app.runs.queueing import FEW, Turns
from tests import given

pytestmark = pytest.mark.django_db


def many(project: Project, number: int) -> list[Run]:
    runs = [given.submitted_run(project) for _ in range(number)]
    # Handed in long before all others.
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(enqueued_at=timezone.now() - timedelta(minutes=1))
    return runs


def test_a_thread_takes_the_run_of_a_project_that_has_fewer() -> None:
    turns, big, small = Turns(), given.project(), given.project()
    runs, only = many(big, FEW + 3), given.submitted_run(small)
    with ExitStack() as busy:
        taken = [busy.enter_context(turns.taken(run.pk, project_id=big.pk)) for run in runs]
    assert taken[:FEW] == [run.pk for run in runs[:FEW]]
    assert taken[FEW] == only.pk
    # The other project has one thread by now, and nothing more that waits.
    assert taken[FEW + 1 :] == [run.pk for run in runs[FEW + 1 :]]


def test_of_several_projects_each_has_its_turn() -> None:
    turns, big = Turns(), given.project()
    others = [given.project() for _ in range(3)]
    runs, theirs = many(big, FEW + 4), {given.submitted_run(other).pk for other in others for _ in range(2)}
    first = {Run.objects.filter(project=other).order_by("enqueued_at")[0].pk for other in others}
    with ExitStack() as busy:
        taken = [busy.enter_context(turns.taken(run.pk, project_id=big.pk)) for run in runs]
    assert set(taken[FEW : FEW + 3]) == first
    assert theirs - set(taken)


def test_a_run_that_stood_back_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, big, small = Turns(), given.project(), given.project()
    runs, only = many(big, FEW + 1), given.submitted_run(small)
    advanced: list[UUID] = []
    asked: list[UUID] = []
    monkeypatch.setattr("reflection_app.runs.jobs.turns", turns)
    monkeypatch.setattr("reflection_app.runs.jobs.advance", advanced.append)
    monkeypatch.setattr("reflection_app.runs.jobs.enqueue", lambda run, **_: asked.append(run.pk))
    with ExitStack() as busy:
        for run in runs[:FEW]:
            busy.enter_context(turns.taken(run.pk, project_id=big.pk))
        advance_run(str(runs[FEW].pk), str(big.pk))
    assert (advanced, asked) == ([only.pk], [runs[FEW].pk])


def test_a_run_that_was_deleted_meanwhile_takes_nothing_from_the_one_that_was_moved_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other, gone = given.submitted_run(given.project()), given.submitted_run(given.project())
    asked: list[tuple[UUID, float]] = []

    def advance(_run_id: UUID) -> float:
        Run.objects.filter(pk=gone.pk).delete()
        return 7.0

    @contextmanager
    def taken(_run_id: UUID, *, project_id: UUID) -> Iterator[UUID]:
        assert project_id == gone.project_id
        yield other.pk

    monkeypatch.setattr(tasks, "advance", advance)
    monkeypatch.setattr("reflection_app.runs.jobs.turns.taken", taken)
    monkeypatch.setattr(tasks, "enqueue", lambda run, delay_s: asked.append((run.pk, delay_s)))
    advance_run(str(gone.pk), str(gone.project_id))
    assert asked == [(other.pk, 7.0)]
