"""When runs are figured: as they end, are undone, or change after their end; and by which batches."""

from datetime import UTC, datetime, timedelta

import pytest

from reflection_app.config import jobs
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.completeness_figures import completeness_figures, recurring_supplements
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.figuring import figure_due, rebuild
from reflection_app.metrics.models import FigureDue
from reflection_app.metrics.runs_behind import runs_behind
from reflection_app.repairs.models import CompletenessCheck, Supplement
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given
from tests.loops.completeness.scenes import checked
from tests.metrics.recorded import begin
from tests.metrics.test_figures import NOON, bars, every_sum, figured, on, two_attempts, values
from tests.repairs.completeness import reading_project, supplemented
from tests.repairs.tool_failures import report
from tests.reviews.editing import edited
from tests.reviews.undoing import claimed, decide
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db


def test_runs_that_really_ran_are_figured_and_fall_out_when_their_end_is_undone() -> None:
    project = given.project(review_policy={"audit_share": 0, "rules": [{"verdicts": ["REJECT"]}]})
    code = given.code_run({"attempt-1/answer": given.WRONG, "attempt-2/answer": given.RIGHT}, project=project)
    answers = {"attempt-1/answer": "One.", "attempt-1/critique": critique(10)}
    rejected = given.scripted_run(answers, project=project)
    for run in (code, rejected):
        advance(run.pk)
    chosen = on(datetime.now(UTC).date() - timedelta(days=1), datetime.now(UTC).date(), scripted=True)
    told = values(figured(project, chosen))
    assert (told["runs"], told["improvement_rate"], told["avg_iterations_to_success"]) == (1, 1.0, 2.0)
    assert bars(metrics_of(project.pk, chosen), "failures") == {"test:wrong_answer": 1}

    reviewer = Actor(user=given.member(project, Role.REVIEWER))
    review = decide(claimed(Review.objects.get(run=rejected), reviewer), reviewer, "approve")
    advance(rejected.pk)
    metrics = figured(project, chosen)
    assert (metrics.figures["runs"].value, bars(metrics, "outcomes")) == (2, {"rejected": 1, "succeeded": 1})
    undo_decision(review, actor=reviewer)
    assert figured(project, chosen).figures["runs"].value == 1
    assert set(runs_behind(project.pk, chosen, "runs")) == {code}


def test_what_a_reviewer_wrote_is_no_attempt_and_no_success_of_the_loop() -> None:
    project = given.project(review_policy={"audit_share": 0, "rules": [{"verdicts": ["REJECT"]}]})
    run = given.scripted_run({"attempt-1/answer": "One.", "attempt-1/critique": critique(10)}, project=project)
    advance(run.pk)
    edited(Review.objects.get(run=run), "Mine.", actor=Actor(user=given.member(project, Role.REVIEWER)))
    advance(run.pk)
    today = datetime.now(UTC).date()
    metrics = figured(project, on(today - timedelta(days=1), today, scripted=True))
    told = values(metrics)
    assert (told["runs"], told["success_rate"]) == (1, 0.0)


def test_a_failure_reported_of_a_run_that_has_ended_is_counted_as_one_before_its_end(project: Project) -> None:
    run = two_attempts(begin(project), 40, 90)
    assert "tool:external_service_error" not in bars(figured(project), "failures")
    report(project, run_id=str(run.pk))
    assert bars(figured(project), "failures")["tool:external_service_error"] == 1
    kept = every_sum(project)
    rebuild(project)
    assert every_sum(project) == kept


def test_a_run_under_way_is_not_noted_and_an_ended_one_is(project: Project) -> None:
    rows = begin(project)
    Run.objects.filter(pk=rows.run.pk).update(last_event_seq=5, state="running")
    assert not FigureDue.objects.exists()
    rows.end(Outcome.FAILED, kept=None, at=NOON)
    assert [note.run_id for note in FigureDue.objects.all()] == [rows.run.pk]
    assert (figure_due(), figure_due()) == (1, 0)


def test_the_worker_counts_what_has_ended_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "figure_due", lambda: figure_due(at_most=2))
    monkeypatch.setattr(jobs, "AT_ONCE", 2)
    project = given.project()
    for _ in range(5):
        begin(project).end(Outcome.FAILED, kept=None, at=NOON)
    jobs.figure_runs()
    assert not FigureDue.objects.exists()
    assert metrics_of(project.pk, on()).figures["runs"].value == 5


# The figures against runs that really ran, and against rows with many runs behind them.


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
