"""When runs are figured: as they end, are undone, or change after their end; and by which batches."""

from datetime import UTC, datetime, timedelta

import pytest

from reflection_app.config import jobs
from reflection_app.core.audit import Actor
from reflection_app.core.models import Role
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.figuring import figure_due, rebuild
from reflection_app.metrics.models import FigureDue
from reflection_app.metrics.runs_behind import runs_behind
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given
from tests.metrics.recorded import begin
from tests.metrics.test_figures import NOON, bars, every_sum, figured, on, two_attempts, values
from tests.repairs.tool_failures import report
from tests.reviews.editing import edited
from tests.reviews.undoing import claimed, decide
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db


@pytest.mark.django_db(transaction=True)
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


@pytest.mark.django_db(transaction=True)
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


def test_a_failure_reported_of_a_run_that_has_ended_is_counted_as_one_before_its_end() -> None:
    project = given.project()
    run = two_attempts(begin(project), 40, 90)
    assert "tool:external_service_error" not in bars(figured(project), "failures")
    report(project, run_id=str(run.pk))
    assert bars(figured(project), "failures")["tool:external_service_error"] == 1
    kept = every_sum(project)
    rebuild(project)
    assert every_sum(project) == kept


def test_a_run_under_way_is_not_noted_and_an_ended_one_is() -> None:
    project = given.project()
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
