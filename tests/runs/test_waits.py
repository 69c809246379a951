"""Runs that wait for time to pass hold no worker, and go on when the time is over, not before."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from reflection_app.adapters.llm import Completion, CompletionRequest, complete
from reflection_app.adapters.llm.errors import ModelUnavailable
from reflection_app.loops.attempt_effects import Wait
from reflection_app.loops.effect import Performed
from reflection_app.repairs.models import Report, Ticket
from reflection_app.runs.following import consequences
from reflection_app.runs.jobs import advance_run, find_unclaimed, queue_length, sweep
from reflection_app.runs.journal import Journal
from reflection_app.runs.lease import Lease, claim
from reflection_app.runs.models import Run, RunState, Step, StepState
from reflection_app.runs.performing import wait_for
from tests import given, when

pytestmark = pytest.mark.django_db
MINUTE = Wait(key="wait", delay_s=60, why="rate limit")


def asked_for(effect: Wait, lease: Lease) -> tuple[Performed[Any] | None, Journal]:
    journal = Journal(lease)
    assert journal.recall(effect) is None
    return wait_for(effect, journal=journal, follow=consequences(effect, attempts={}, judgements=[])), journal


def waiting_run() -> Run:
    run = given.submitted_run(given.project())
    lease = claim(run.pk)
    assert lease is not None
    passed, journal = asked_for(MINUTE, lease)
    assert passed is None
    assert journal.wakes_after_s == pytest.approx(60, abs=5)
    run.refresh_from_db()
    return run


def later(run: Run) -> None:
    """As if the minute were over."""
    Step.objects.filter(run=run).update(started_at=timezone.now() - timedelta(seconds=61))
    Run.objects.filter(pk=run.pk).update(not_before=timezone.now() - timedelta(seconds=1))


def test_it_waits_without_a_worker_and_cannot_be_claimed_early() -> None:
    run = waiting_run()
    assert (run.state, run.waiting_for, run.lease_token) == (RunState.WAITING_TIME, "rate limit", None)
    assert claim(run.pk) is None
    assert find_unclaimed() == []


def test_it_goes_on_when_it_is_due_and_does_not_wait_again() -> None:
    run = waiting_run()
    later(run)
    lease = claim(run.pk)
    assert lease is not None
    passed, journal = asked_for(MINUTE, lease)
    assert passed is not None
    assert passed.value is None
    assert passed.spent.duration_s == 0
    journal.commit(lambda _run: None)
    assert Step.objects.get(run=run).state == StepState.DONE


def test_the_sweep_finds_one_whose_message_was_lost() -> None:
    run = waiting_run()
    later(run)
    Run.objects.filter(pk=run.pk).update(enqueued_at=timezone.now() - timedelta(hours=1))
    assert find_unclaimed() == [run.pk]


def busy_for(asked_s: float | None) -> Callable[..., None]:
    def busy(*_: Any, **__: Any) -> None:
        raise ModelUnavailable("429: slow down" if asked_s else "nothing came", retry_after_s=asked_s)

    return busy


def put_off(run: Run, monkeypatch: pytest.MonkeyPatch, *, asked_s: float | None) -> Run:
    """The run, due at once, after its provider asked to be left alone for so long, or could not be reached (None)."""
    Run.objects.filter(pk=run.pk).update(not_before=None)
    monkeypatch.setattr("reflection_app.runs.performing.complete", busy_for(asked_s))
    when.advances(run)
    return run


def test_a_provider_that_asks_for_more_time_than_is_left_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = put_off(given.code_run({}, limits={"time_budget_s": 25}), monkeypatch, asked_s=3600)
    assert (run.outcome, run.not_before, run.failures) == ("failed", None, 0)
    assert run.error == "the model's provider asked to wait 3600 s, and the run has 25 s left: 429: slow down"


def test_a_provider_is_left_alone_for_as_long_as_it_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    run = put_off(given.code_run({}, limits={"time_budget_s": 7200}), monkeypatch, asked_s=3600)
    assert (run.state, run.waiting_for) == (RunState.QUEUED, "as the model's provider asked")
    assert run.not_before is not None
    assert timedelta(minutes=59) < run.not_before - timezone.now() <= timedelta(hours=1)
    assert claim(run.pk) is None
    Run.objects.filter(pk=run.pk).update(not_before=timezone.now())
    assert claim(run.pk) is not None
    run.refresh_from_db()
    assert run.waiting_for == ""


def test_a_provider_that_asks_for_patience_is_asked_eight_times(monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.code_run({}, limits={"time_budget_s": 7200})
    for waits in range(1, 8):
        run = put_off(run, monkeypatch, asked_s=30)
        assert (run.state, run.asked_waits, run.failures, run.waiting_for) == (
            RunState.QUEUED,
            waits,
            0,
            "as the model's provider asked",
        )
    run = put_off(run, monkeypatch, asked_s=30)
    assert (run.state, run.outcome, run.error) == (RunState.FINISHED, "failed", "429: slow down")


def test_waits_that_were_asked_for_are_no_failures_and_failures_are_no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.code_run({}, limits={"time_budget_s": 7200})
    for asked_s in (30, 30, 30, 30, None, 30, None, 30):
        run = put_off(run, monkeypatch, asked_s=asked_s)
        assert run.state == RunState.QUEUED
    assert (run.asked_waits, run.failures) == (6, 2)
    # The third failure is the last, whatever was waited for.
    run = put_off(run, monkeypatch, asked_s=None)
    assert (run.outcome, run.error) == ("failed", "nothing came")


def test_a_provider_that_stays_broken_leaves_a_ticket_and_a_report_of_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.code_run({}, limits={"time_budget_s": 7200})
    for _ in range(3):
        assert not Ticket.objects.filter(run=run).exists()
        run = put_off(run, monkeypatch, asked_s=None)
    assert (run.outcome, run.error, run.attempts_made) == ("failed", "nothing came", 0)
    ticket = Ticket.objects.get(run=run)
    assert (ticket.trigger, ticket.state, ticket.attempt) == ("interruption", "closed", None)
    report = Report.objects.get(run=run)
    assert (report.error_type, report.ticket) == ("3.3.3", ticket)
    assert Step.objects.get(run=run, kind="generate").state == StepState.FAILED


def test_waits_add_up_over_the_whole_run_though_calls_in_between_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.code_run({"attempt-1/answer": given.WRONG}, limits={"time_budget_s": 100})
    with monkeypatch.context() as patched:
        run = put_off(run, patched, asked_s=60)
    Run.objects.filter(pk=run.pk).update(not_before=None)
    calls = []

    def once(request: CompletionRequest, **more: Any) -> Completion:
        calls.append(request.key)
        if len(calls) == 1:
            return complete(request, **more)
        raise ModelUnavailable("429: slow down", retry_after_s=60)

    monkeypatch.setattr("reflection_app.runs.performing.complete", once)
    when.advances(run)
    assert calls == ["attempt-1/answer", "attempt-2/answer"]
    assert (run.outcome, run.attempts_made, run.asked_waits) == ("failed", 1, 0)
    assert "asked to wait 60 s, after 60 s before" in run.error


@pytest.mark.parametrize("delay_s", [61.0, 3600.0])
def test_a_wait_over_a_minute_is_held_by_no_worker_and_the_sweep_brings_it_back(
    monkeypatch: pytest.MonkeyPatch, delay_s: float
) -> None:
    run = given.code_run({}, limits={"time_budget_s": 7200})
    with monkeypatch.context() as patched:
        patched.setattr("reflection_app.runs.performing.complete", busy_for(delay_s))
        before = queue_length("desk")
        advance_run(str(run.pk))
    run.refresh_from_db()
    assert (queue_length("desk"), run.enqueued_at) == (before, None)
    assert run.not_before is not None
    # Not a moment before it is due, and then by the very next sweep, not only once a message has been missed for long.
    assert find_unclaimed() == []
    Run.objects.filter(pk=run.pk).update(not_before=timezone.now())
    sweep()
    assert queue_length("desk") == before + 1


def test_a_shorter_wait_is_brought_back_to_the_second_by_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.code_run({}, limits={"time_budget_s": 7200})
    with monkeypatch.context() as patched:
        patched.setattr("reflection_app.runs.performing.complete", busy_for(60.0))
        before = queue_length("desk")
        advance_run(str(run.pk))
    run.refresh_from_db()
    assert queue_length("desk") == before + 1
    assert run.enqueued_at == run.not_before
