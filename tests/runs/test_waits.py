"""Runs that wait for time to pass hold no worker, and go on when the time is over, not before."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from reflection_app.adapters.llm.errors import ModelUnavailable
from reflection_app.core.audit import Actor
from reflection_app.loops.attempt_effects import Wait
from reflection_app.loops.effect import Performed
from reflection_app.runs.advance import advance
from reflection_app.runs.following import consequences
from reflection_app.runs.jobs import find_unclaimed
from reflection_app.runs.journal import Journal
from reflection_app.runs.lease import Lease, claim
from reflection_app.runs.models import Run, RunState, Step, StepState
from reflection_app.runs.performing import wait_for
from reflection_app.runs.resuming import cancel_run
from tests.factories import make_project, submit
from tests.runs.scripts import code_run

pytestmark = pytest.mark.django_db(transaction=True)
MINUTE = Wait(key="wait", delay_s=60, why="rate limit")


def asked_for(effect: Wait, lease: Lease) -> tuple[Performed[Any] | None, Journal]:
    journal = Journal(lease)
    assert journal.recall(effect) is None
    return wait_for(effect, journal=journal, follow=consequences(effect, attempts={}, judgements=[])), journal


def waiting_run() -> Run:
    run = submit(make_project())
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


def test_woken_too_early_it_waits_for_what_is_left() -> None:
    run = waiting_run()
    Run.objects.filter(pk=run.pk).update(not_before=None)
    Step.objects.filter(run=run).update(started_at=timezone.now() - timedelta(seconds=20))
    lease = claim(run.pk)
    assert lease is not None
    passed, journal = asked_for(MINUTE, lease)
    assert passed is None
    assert journal.wakes_after_s == pytest.approx(40, abs=5)


def test_the_sweep_finds_one_whose_message_was_lost() -> None:
    run = waiting_run()
    later(run)
    Run.objects.filter(pk=run.pk).update(enqueued_at=timezone.now() - timedelta(hours=1))
    assert find_unclaimed() == [run.pk]


def test_it_can_be_cancelled() -> None:
    run = waiting_run()
    cancel_run(run, actor=Actor())
    later(run)
    assert claim(run.pk) is None
    run.refresh_from_db()
    assert run.outcome == "cancelled"


def put_off(run: Run, monkeypatch: pytest.MonkeyPatch, *, asked_s: float) -> Run:
    """The run after its provider asked to be left alone for so long."""

    def busy(*_: Any, **__: Any) -> None:
        raise ModelUnavailable("429: slow down", retry_after_s=asked_s)

    monkeypatch.setattr("reflection_app.runs.performing.complete", busy)
    advance(run.pk)
    run.refresh_from_db()
    return run


def test_a_provider_that_asks_for_more_time_than_is_left_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = put_off(code_run({}, limits={"time_budget_s": 25}), monkeypatch, asked_s=3600)
    assert (run.outcome, run.not_before, run.failures) == ("failed", None, 0)
    assert run.error == "the model's provider asked to wait 3600 s, and the run has 25 s left: 429: slow down"


def test_a_provider_is_left_alone_for_as_long_as_it_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    run = put_off(code_run({}, limits={"time_budget_s": 7200}), monkeypatch, asked_s=3600)
    assert (run.state, run.waiting_for) == (RunState.QUEUED, "as the model's provider asked")
    assert run.not_before is not None
    assert timedelta(minutes=59) < run.not_before - timezone.now() <= timedelta(hours=1)
    assert claim(run.pk) is None
    Run.objects.filter(pk=run.pk).update(not_before=timezone.now())
    assert claim(run.pk) is not None
    run.refresh_from_db()
    assert run.waiting_for == ""


def test_a_provider_that_asks_for_patience_is_asked_eight_times(monkeypatch: pytest.MonkeyPatch) -> None:
    run = code_run({}, limits={"time_budget_s": 7200})
    for failures in range(1, 8):
        run = put_off(run, monkeypatch, asked_s=30)
        assert (run.state, run.failures, run.waiting_for) == (
            RunState.QUEUED,
            failures,
            "as the model's provider asked",
        )
        Run.objects.filter(pk=run.pk).update(not_before=timezone.now())
    run = put_off(run, monkeypatch, asked_s=30)
    assert (run.state, run.outcome, run.error) == (RunState.FINISHED, "failed", "429: slow down")
