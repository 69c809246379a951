"""The sample of runs whose completeness is checked: drawn once, in the journal of the run."""

from unittest.mock import patch

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.repairs.models import CompletenessCheck
from reflection_app.runs import advance as advancing
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, Step
from tests import given, then, when
from tests.repairs.completeness import planned_run, reading_project
from tests.runs.test_crashes import Killed, killing_after

pytestmark = pytest.mark.django_db

HALF = {"when": "sampled", "share": 0.5}


def drawn_run(chance: float, project: Project | None = None) -> Run:
    """A run that ended, for which this number was drawn."""
    run = planned_run(project or reading_project(completeness=HALF))
    with patch("secrets.SystemRandom") as source:
        source.return_value.random = iter([chance, *[0.99] * 20]).__next__
        advance(run.pk)
    run.refresh_from_db()
    return run


def test_a_run_outside_the_sample_ends_without_a_check() -> None:
    run = drawn_run(0.5)
    assert run.outcome == "succeeded"
    assert not CompletenessCheck.objects.filter(run=run).exists()
    step = Step.objects.get(run=run, kind="draw_check")
    assert (step.key, step.result) == ("completeness/draw", {"share": 0.5, "sampled_by": 0.5})


@pytest.mark.parametrize("commits", [1, 2, 3, 4])
def test_a_worker_killed_anywhere_draws_no_second_time(commits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = planned_run(reading_project(completeness=HALF))
    with monkeypatch.context() as patched:
        killing_after(commits, patched, advancing, "value_of")
        with pytest.raises(Killed):
            advance(run.pk)
    drawn = list(Step.objects.filter(run=run, kind="draw_check").values_list("result", flat=True))
    Run.objects.filter(pk=run.pk).update(state="queued", lease_token=None, lease_until=None)
    when.advances(run)
    after = list(Step.objects.filter(run=run, kind="draw_check").values_list("result", flat=True))
    assert (run.outcome, len(after)) == ("succeeded", 1)
    assert not drawn or drawn == after


def test_a_fork_goes_on_as_its_parent_was_drawn() -> None:
    parent = drawn_run(0.9)
    answer = Step.objects.get(run=parent, key="attempt-1/answer")
    fork = fork_run(parent, ForkInput(from_step=answer.seq), actor=Actor())
    advance(fork.pk)
    then.run_succeeded(fork)
    assert not CompletenessCheck.objects.filter(run=fork).exists()


def test_the_draw_of_a_run_cannot_be_edited_in_a_fork() -> None:
    run = drawn_run(0.9)
    step = Step.objects.get(run=run, kind="draw_check")
    caller = given.caller(run.project)
    answer = caller.post(f"runs/{run.pk}/fork", {"from_step": step.seq, "result": {"sampled_by": 0.1}})
    assert answer.status == 400
    assert "random draw" in str(answer.body)


def test_a_run_that_was_held_out_before_is_still_shown(client: Client) -> None:
    run = drawn_run(0.9)
    recorded = {"share": 1.0, "holdout_share": 0.5, "sampled_by": 0.0, "held_by": 0.1}
    Step.objects.filter(run=run, kind="draw_check").update(result=recorded)
    former = {"enabled": True, "when": "always", "least_share": 0.05, "holdout_share": 0.5, "least_worth": 0.0}
    spec = run.spec | {"completeness": former, "completeness_from": "kind"}
    Run.objects.filter(pk=run.pk).update(spec=spec)
    page = given.logged_in(client, run.project).get(f"/p/{run.project.slug}/runs/{run.pk}/").text
    assert "Not checked:" in page
    lots = given.caller(run.project).get(f"runs/{run.pk}").body["completeness_lots"]
    assert lots["arm"] == "not_sampled"
