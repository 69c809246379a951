"""The lots of a run's check: kept in its journal and as a row, settled by its end and never by the check's word."""

from typing import Any
from unittest.mock import patch

import pytest
from django.db import transaction
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.verdicts import Ended, Outcome
from reflection_app.repairs.check_worth import settle_check, worth_of_checks
from reflection_app.repairs.models import CheckDraw, CompletenessCheck
from reflection_app.runs import advance as advancing
from reflection_app.runs.advance import advance, end_run
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Attempt, Run, Step, Verdict
from reflection_app.runs.undo import take_back_run
from tests.api.caller import make_caller
from tests.factories import make_project
from tests.repairs.check_rows import drawn_runs
from tests.repairs.completeness import planned_run, reading_project
from tests.repairs.test_completeness_settings import spec_of
from tests.runs.critiques import critique
from tests.runs.test_crashes import Killed, killing_after
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db(transaction=True)

HALF = {"holdout_share": 0.5}


def drawn_run(*lots: float, project: Project | None = None, counts: bool = True, **more: Any) -> Run:
    """A run that ended, whose lots were these two numbers; without models' scripts as far as counting goes."""
    run = planned_run(project or reading_project(completeness=HALF), **more)
    if counts:
        Run.objects.filter(pk=run.pk).update(is_scripted=False)
    with patch("secrets.SystemRandom") as chance:
        chance.return_value.random = iter([*lots, *[0.99] * 20]).__next__
        advance(run.pk)
    run.refresh_from_db()
    return run


def test_a_run_that_is_held_out_ends_without_a_check_and_counts_as_it_was_judged() -> None:
    run = drawn_run(0.0, 0.49)
    row = CheckDraw.objects.get(run=run)
    assert (row.arm, row.task_kind, row.share, row.holdout_share) == ("held_out", "compare", 1.0, 0.5)
    assert (row.is_counted, row.succeeded) == (True, True)
    assert not CompletenessCheck.objects.filter(run=run).exists()
    step = Step.objects.get(run=run, kind="draw_check")
    assert step.result is not None
    assert (step.key, step.result["held_by"]) == ("completeness/draw", 0.49)


def test_a_run_in_the_other_arm_is_checked_and_counts_too() -> None:
    run = drawn_run(0.0, 0.5)
    assert CheckDraw.objects.get(run=run).arm == "checked"
    assert CompletenessCheck.objects.get(run=run).state == "completed_by_supplement"


def test_a_run_that_is_not_sampled_is_kept_and_compared_with_nobody() -> None:
    project = reading_project(completeness={"when": "sampled", "share": 0.2} | HALF)
    run = drawn_run(0.2, 0.9, project=project)
    assert (CheckDraw.objects.get(run=run).arm, run.outcome) == ("not_sampled", "succeeded")
    assert worth_of_checks(project.pk).overall.measured.total == 0


def test_without_lots_there_is_neither_a_step_nor_a_row() -> None:
    run = drawn_run(project=reading_project())
    assert not Step.objects.filter(run=run, kind="draw_check").exists()
    assert not CheckDraw.objects.exists()


def test_what_the_check_finds_missing_makes_no_run_fail_and_a_sent_back_answer_does() -> None:
    project = reading_project(completeness=HALF | {"max_supplements": 0})
    assert CheckDraw.objects.get(run=drawn_run(0.0, 0.9, project=project)).succeeded is True
    bad = {"attempt-1/critique": critique(60, approved=False)}
    failed = drawn_run(0.0, 0.1, project=project, answers=bad, limits={"max_iterations": 1, "token_budget": 50_000})
    assert (failed.outcome, CheckDraw.objects.get(run=failed).succeeded) == ("exhausted", False)


@pytest.mark.parametrize("commits", [1, 2, 3, 4])
def test_a_worker_killed_anywhere_draws_no_second_time(commits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = planned_run(reading_project(completeness=HALF))
    with monkeypatch.context() as patched:
        killing_after(commits, patched, advancing, "value_of")
        with pytest.raises(Killed):
            advance(run.pk)
    drawn = list(Step.objects.filter(run=run, kind="draw_check").values_list("result", flat=True))
    Run.objects.filter(pk=run.pk).update(state="queued", lease_token=None, lease_until=None)
    advance(run.pk)
    run.refresh_from_db()
    after = list(Step.objects.filter(run=run, kind="draw_check").values_list("result", flat=True))
    assert run.outcome == "succeeded"
    assert len(after) == CheckDraw.objects.count() == 1
    assert not drawn or drawn == after


def test_a_fork_goes_on_as_its_parent_was_drawn_and_is_no_second_run_of_the_comparison() -> None:
    parent = drawn_run(0.0, 0.1)
    answer = Step.objects.get(run=parent, key="attempt-1/answer")
    later = fork_run(parent, ForkInput(from_step=answer.seq), actor=Actor())
    advance(later.pk)
    later.refresh_from_db()
    assert later.outcome == "succeeded"
    assert not CompletenessCheck.objects.filter(run=later).exists()
    assert CheckDraw.objects.count() == 1

    earlier = fork_run(parent, ForkInput(from_step=1), actor=Actor())
    Run.objects.filter(pk=earlier.pk).update(is_scripted=False)
    advance(earlier.pk)
    assert CheckDraw.objects.get(run=earlier).is_counted is False


def test_the_lots_of_a_run_cannot_be_edited_in_a_fork() -> None:
    run = drawn_run(0.0, 0.1)
    step = Step.objects.get(run=run, kind="draw_check")
    caller = make_caller(run.project)
    answer = caller.post(f"runs/{run.pk}/fork", {"from_step": step.seq, "result": {"held_by": 0.9}})
    assert answer.status == 400
    assert "random draw" in str(answer.body)


def test_what_was_scripted_is_not_counted() -> None:
    assert CheckDraw.objects.get(run=drawn_run(0.0, 0.1, counts=False)).is_counted is False


def test_a_run_that_a_person_cancels_does_not_count() -> None:
    run = drawn_run(0.0, 0.1)
    end_run(run, Ended(outcome=Outcome.CANCELLED))
    row = CheckDraw.objects.get(run=run)
    assert (row.succeeded, row.settled_at) == (None, None)


def test_a_run_that_is_taken_back_leaves_no_draw() -> None:
    run = drawn_run(0.0, 0.1)
    with transaction.atomic():
        take_back_run(Run.objects.select_for_update(of=("self",)).get(pk=run.pk), why="ordered by mistake")
    assert not CheckDraw.objects.exists()


def test_a_persons_word_after_the_end_holds_and_keeps_its_place_in_time() -> None:
    run = drawn_run(0.0, 0.1)
    before = CheckDraw.objects.get(run=run)
    Verdict.objects.create(attempt=Attempt.objects.get(run=run), referee=6, verdict="REJECT", score=10)
    settle_check(run)
    after = CheckDraw.objects.get(run=run)
    assert (before.succeeded, after.succeeded, after.settled_at) == (True, False, before.settled_at)


def test_the_page_and_rest_tell_why_a_run_was_not_checked(client: Client) -> None:
    run = drawn_run(0.0, 0.1)
    page = logged_in(client, run.project).get(f"/p/{run.project.slug}/runs/{run.pk}/").text
    assert "Held out by lot, and not checked: of 50 % of the runs, to learn what checks are worth." in page
    lots = make_caller(run.project).get(f"runs/{run.pk}").body["completeness_lots"]
    assert lots == {"arm": "held_out", "share": 1.0, "holdout_share": 0.5}


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ({}, ("sampled", 0.2, 0.1)),
        ({"enabled": True}, ("always", 0.2, 0.0)),
        ({"when": "never"}, ("never", 0.2, 0.0)),
        ({"max_supplements": 1}, ("sampled", 0.2, 0.1)),
        ({"when": "always", "holdout_share": 0.3}, ("always", 0.2, 0.3)),
    ],
)
def test_a_task_that_asks_for_its_check_is_not_held_out(
    task: dict[str, Any], expected: tuple[str, float, float]
) -> None:
    kinds = {"news": {"when": "sampled", "share": 0.2}}
    project = reading_project(completeness={"holdout_share": 0.1}, completeness_by_kind=kinds)
    found = spec_of(project, tools=["read_file"], kind="news", completeness=task).completeness
    assert found is not None
    assert (found.when, found.share, found.holdout_share) == expected


def test_worth_is_told_by_kind_and_over_all_of_this_project_alone() -> None:
    project, other = make_project(), make_project()
    drawn_runs(project, "news", "Gw" * 40)
    drawn_runs(project, "maps", "GgWw" * 10)
    drawn_runs(other, "news", "gW" * 40)
    worth = worth_of_checks(project.pk)
    assert (worth.by_kind["news"].claim, worth.by_kind["maps"].claim) == ("helps", "open")
    assert worth.overall.measured.total == 120
    news = worth.by_kind["news"].measured
    assert (news.given.successes, news.withheld.successes) == (40, 0)
