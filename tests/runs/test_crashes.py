"""A worker may die after any commit: the run ends the same, and no answered call is made again."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from reflection_app.adapters.llm import scripted
from reflection_app.core.audit import Actor
from reflection_app.runs import advance as advancing
from reflection_app.runs import journal_writes, performing
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.jobs import find_unclaimed, take_back_expired
from reflection_app.runs.journal import Journal
from reflection_app.runs.lease import LeaseLost, claim, keeper
from reflection_app.runs.models import Attempt, Run, RunState, Step, StepState, Verdict
from reflection_app.runs.resuming import cancel_run
from tests import given, then, when
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db(transaction=True)


class Killed(BaseException):
    """Stands for kill -9: nothing of the runner's own error handling sees it."""


def let_lease_end(run: Run) -> None:
    # For longer than a lease: else who just came to the database takes nobody for dead.
    Run.objects.filter(pk=run.pk, state=RunState.RUNNING).update(lease_until=timezone.now() - timedelta(hours=1))


def let_lease_run_out(run: Run) -> None:
    """As a dead worker's does: this process is alive, and may be renewing what it holds at this very moment."""
    Run.objects.filter(pk=run.pk, state=RunState.RUNNING).update(lease_token=uuid4())
    let_lease_end(run)


def killing_after(calls: int, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Kills the worker right after `name` of `owner` was called for the n-th time."""
    original = getattr(owner, name)
    left = [calls]

    def killed_after(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return result

    monkeypatch.setattr(owner, name, killed_after)


def counted_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of all model calls from now on, in order."""
    calls: list[str] = []
    answer = scripted.answer_from_script

    def counted(request: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(request.key)
        return answer(request, *args, **kwargs)

    monkeypatch.setattr("reflection_app.adapters.llm.gateway.answer_from_script", counted)
    return calls


def check_it_ended_right_after(run: Run) -> None:
    let_lease_run_out(run)
    assert take_back_expired() == [run.pk]
    advance(run.pk)

    run.refresh_from_db()
    assert (run.outcome, run.attempts_made, run.failures) == ("succeeded", 2, 0)
    assert list(Attempt.objects.filter(run=run).values_list("number", flat=True)) == [1, 2]
    assert Verdict.objects.filter(attempt__run=run).count() == 2
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


# Two attempts are four steps with a start of their own, each written with the end of the one before.
@pytest.mark.parametrize("commits", [1, 2, 3, 4])
def test_a_run_killed_after_any_commit_ends_the_same_with_no_call_made_twice(
    commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = given.code_run({"attempt-1/answer": given.WRONG, "attempt-2/answer": given.RIGHT})
    calls = counted_calls(monkeypatch)
    with monkeypatch.context() as patched:
        killing_after(commits, patched, journal_writes, "_commit_once")
        with pytest.raises(Killed):
            advance(run.pk)

    check_it_ended_right_after(run)
    assert calls == ["attempt-1/answer", "attempt-2/answer"]


@pytest.mark.parametrize("effects", [1, 2, 3, 4])
def test_a_run_killed_before_a_result_is_kept_repeats_that_effect_alone(
    effects: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = given.code_run({"attempt-1/answer": given.WRONG, "attempt-2/answer": given.RIGHT})
    calls = counted_calls(monkeypatch)
    with monkeypatch.context() as patched:
        killing_after(effects, patched, advancing, "perform")
        with pytest.raises(Killed):
            advance(run.pk)
    kept = Step.objects.filter(run=run, state=StepState.DONE, kind="generate").values_list("key", flat=True)
    kept_before, made_before = set(kept), len(calls)

    check_it_ended_right_after(run)
    assert kept_before.isdisjoint(calls[made_before:])
    assert len(calls) == (3 if effects in {1, 3} else 2)


def test_a_worker_that_lost_its_lease_is_refused_and_the_other_ends_the_run() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    slow = claim(run.pk)
    assert slow is not None
    let_lease_run_out(run)
    take_back_expired()
    advance(run.pk)

    journal = Journal(slow)
    with pytest.raises(LeaseLost):
        journal.commit(lambda run: pytest.fail("the slow worker could still write"))
    then.run_succeeded(run)


def test_progress_forgives_earlier_failures() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    for _ in range(2):
        claim(run.pk)
        let_lease_run_out(run)
        take_back_expired()
    advance(run.pk)

    run.refresh_from_db()
    assert (run.outcome, run.failures) == ("succeeded", 0)


def test_a_sandbox_that_breaks_is_tried_again_and_never_blamed_on_the_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})

    def broken(*args: object, **kwargs: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("reflection_app.runs.performing.run_tests", broken)
    delays = []
    for _ in range(3):
        delays.append(advance(run.pk))
        Run.objects.filter(pk=run.pk, state=RunState.QUEUED).update(not_before=None)

    run.refresh_from_db()
    assert delays == [5.0, 10.0, None]
    assert run.outcome == "failed"
    assert "no space left on device" in run.error
    assert run.llm_calls == 1
    assert not Verdict.objects.filter(attempt__run=run).exists()


def test_a_run_put_off_is_not_claimed_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    Run.objects.filter(pk=run.pk).update(not_before=timezone.now() + timedelta(minutes=1))
    assert claim(run.pk) is None


def test_a_run_whose_message_was_lost_is_found_and_only_once() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    assert find_unclaimed() == []
    Run.objects.filter(pk=run.pk).update(enqueued_at=timezone.now() - timedelta(minutes=5))
    assert find_unclaimed() == [run.pk]
    assert find_unclaimed() == []


def test_a_run_cancelled_under_a_workers_hands_stays_cancelled_and_what_was_paid_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = given.scripted_run({"attempt-1/answer": "text", "attempt-1/critique": critique(90, approved=True)})
    perform = performing.perform

    def cancelled_meanwhile(*args: object, **kwargs: object) -> object:
        result = perform(*args, **kwargs)  # type: ignore[arg-type]
        cancel_run(run, actor=Actor())
        return result

    monkeypatch.setattr("reflection_app.runs.advance.perform", cancelled_meanwhile)
    assert advance(run.pk) is None

    run.refresh_from_db()
    assert (run.state, run.outcome, run.best_attempt) == (RunState.FINISHED, "cancelled", None)
    assert run.llm_calls == 1
    assert run.total_tokens > 0
    assert Step.objects.get(run=run).state == StepState.ABANDONED


def test_a_worker_that_stops_gives_its_runs_back_to_be_found_at_once() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    lease = claim(run.pk)
    assert lease is not None
    with keeper.keep(lease):
        assert keeper.give_back() == 1
        with pytest.raises(LeaseLost):
            Journal(lease).commit(lambda run: pytest.fail("the stopping worker could still write"))

    assert find_unclaimed() == [run.pk]
    when.advances(run)
    assert (run.outcome, run.failures) == ("succeeded", 0)
