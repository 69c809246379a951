"""The figures against runs that really ran, and against rows with many runs behind them."""

import pytest

from reflection_app.metrics.completeness_figures import Worth, completeness_figures, recurring_supplements
from reflection_app.repairs.models import CompletenessCheck, Supplement
from reflection_app.runs.models import Run, RunState
from tests.loops.completeness.scenes import checked
from tests.repairs.completeness import reading_project, supplemented

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_project_without_checks_has_figures_all_the_same() -> None:
    figures = completeness_figures(reading_project().pk)
    assert (figures.checks, figures.share_incomplete, figures.supplements_per_task) == (0, None, None)
    assert figures.exec.success_rate is None


def test_supplemented_runs_are_set_against_the_others_of_their_kind() -> None:
    project = reading_project()
    for _ in range(5):
        supplemented(project)
    complete = {"attempt-1/completeness": checked(analysis="都有了")}
    others = [supplemented(project, complete) for _ in range(5)]
    Run.objects.filter(pk__in=[run.pk for run in others[:4]]).update(outcome="exhausted")
    supplemented(project, complete, kind="another")

    [one] = recurring_supplements(project.pk)
    assert (one.task_kind, one.runs, one.found, one.attempted, one.succeeded) == ("compare", 5, 5, 5, 5)
    assert (one.value.done.runs, one.value.done.succeeded) == (5, 5)
    assert (one.value.others.runs, one.value.others.succeeded) == (5, 1)
    assert one.value.tokens == sum(Supplement.objects.values_list("tokens", flat=True)) > 0
    assert one.value.worth is Worth.WORTH_IT


def test_a_run_that_has_not_ended_is_on_neither_side() -> None:
    project = reading_project()
    runs = [supplemented(project) for _ in range(3)]
    Run.objects.filter(pk=runs[0].pk).update(state=RunState.QUEUED, outcome=None)
    [one] = recurring_supplements(project.pk)
    assert (one.runs, one.value.done.runs, one.value.others.runs) == (3, 2, 0)


def test_a_run_checked_twice_counts_the_newest_statistics_once() -> None:
    project = reading_project()
    run = supplemented(project)
    first = CompletenessCheck.objects.get(run=run)
    copy_of(first, attempted=5, succeeded=4, step_of=supplemented(project, {"attempt-1/completeness": ""}))
    figures = completeness_figures(project.pk)
    assert (figures.exec.used, figures.exec.attempted, figures.exec.succeeded) == (1, 5, 4)


def copy_of(check: CompletenessCheck, *, attempted: int, succeeded: int, step_of: Run) -> None:
    """A second check of the same run, which stands on a step of another: rows only, as a later attempt leaves them."""
    taken = set(CompletenessCheck.objects.values_list("step", flat=True))
    step = step_of.steps.exclude(pk__in=taken)[0]
    CompletenessCheck.objects.create(
        project=check.project,
        run=check.run,
        step=step,
        attempt_number=2,
        state="incomplete",
        used=True,
        attempted=attempted,
        succeeded=succeeded,
    )
