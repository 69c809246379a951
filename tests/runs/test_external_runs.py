"""Runs of outside agents: killed in each place, and taken over by a newer version of their loop."""

from decimal import Decimal

import pytest

from reflection_app.core.audit import Actor
from reflection_app.loops import catalogue
from reflection_app.loops.task_spec import Mode
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Attempt, Run, RunState, Step, Verdict
from tests import given, when
from tests.runs.test_crashes import Killed, killing_after, let_lease_run_out

pytestmark = pytest.mark.django_db

COMMITS = 5


def waiting_run() -> Run:
    project = given.project(review_policy={"audit_share": 0})
    return given.scripted_run({}, project=project, execution="external", tests=given.TESTS)


def hand_in(run: Run, content: str, *, number: int) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "cost_usd": "0.5"}
    sent = AttemptInput.model_validate({"content": content, "attempt": number, "usage": usage})
    hand_in_attempt(run, sent, actor=Actor())


def go_through(run: Run) -> None:
    """Moves the run to its end; the agent hands in what it is asked for."""
    for number, content in enumerate((given.WRONG, given.RIGHT), start=1):
        advance(run.pk)
        hand_in(run, content, number=number)
    advance(run.pk)


@pytest.mark.parametrize("commits", range(1, COMMITS + 1))
def test_a_worker_killed_after_any_commit_takes_and_charges_each_attempt_once(
    commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = waiting_run()
    with monkeypatch.context() as patched:
        killing_after(commits, patched, journal_writes, "_commit_once")
        with pytest.raises(Killed):
            go_through(run)
    let_lease_run_out(run)
    take_back_expired()
    while advance(run.pk) is None and not Run.objects.get(pk=run.pk).is_finished:
        made = Attempt.objects.filter(run=run).count()
        hand_in(run, (given.WRONG, given.RIGHT)[made], number=made + 1)

    run.refresh_from_db()
    assert (run.state, run.outcome, run.attempts_made) == (RunState.FINISHED, "succeeded", 2)
    assert (run.total_tokens, run.cost_usd) == (20, Decimal(1))
    assert list(Attempt.objects.filter(run=run).values_list("content", flat=True)) == [given.WRONG, given.RIGHT]
    assert list(Verdict.objects.filter(attempt__run=run).values_list("verdict", flat=True)) == ["REVISE", "PASS"]
    for rows in (Event.objects.filter(run=run), Step.objects.filter(run=run)):
        seqs = list(rows.values_list("seq", flat=True))
        assert seqs == list(range(1, len(seqs) + 1))


def test_an_attempt_handed_in_to_a_newer_version_is_kept_and_judged_in_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    run = waiting_run()
    advance(run.pk)
    monkeypatch.setitem(catalogue.VERSIONS, Mode.EXTERNAL_LOOP, 99)
    hand_in(run, given.RIGHT, number=1)
    when.advances(run)
    assert (run.outcome, run.attempts_made, run.best_attempt is not None) == ("failed", 1, True)
    assert "this is version 99" in run.error
    assert "fork the run" in run.error

    fork = fork_run(run, ForkInput(from_step=2), actor=Actor())
    when.advances(fork)
    assert (fork.outcome, fork.attempts_made, fork.total_tokens) == ("succeeded", 1, 0)
