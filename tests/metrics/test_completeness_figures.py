"""The figures against runs that really ran, and against rows with many runs behind them."""

import pytest

from reflection_app.metrics.completeness_figures import completeness_figures, recurring_supplements
from reflection_app.repairs.models import CompletenessCheck, Supplement
from reflection_app.runs.models import Run
from tests.loops.completeness.scenes import checked
from tests.repairs.completeness import reading_project, supplemented

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_project_without_checks_has_figures_all_the_same() -> None:
    figures = completeness_figures(reading_project().pk)
    assert (figures.checks, figures.share_incomplete, figures.supplements_per_task) == (0, None, None)
    assert figures.exec.success_rate is None


def test_what_recurs_is_counted_with_what_came_of_it_and_what_it_cost() -> None:
    project = reading_project()
    runs = [supplemented(project) for _ in range(3)]
    supplemented(project, {"attempt-1/completeness": checked(analysis="都有了")})
    supplemented(project, kind="another")

    [one] = recurring_supplements(project.pk)
    assert (one.task_kind, one.runs, one.found, one.attempted, one.succeeded) == ("compare", 3, 3, 3, 3)
    own = Supplement.objects.filter(task_kind="compare")
    assert one.tokens == sum(own.values_list("tokens", flat=True)) > 0
    assert (one.cost_usd, one.cost_known) == (sum(own.values_list("cost_usd", flat=True)), True)
    assert recurring_supplements(project.pk, task_kind="another") == []
    Run.objects.filter(pk=runs[0].pk).update(unpriced_calls=1)
    assert not recurring_supplements(project.pk)[0].cost_known


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
