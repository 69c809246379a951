"""Workers die, or are stopped and come back: no run is given up for that, and no answer that was paid for is lost."""

import threading
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from reflection_app.runs import journal_writes, performing
from reflection_app.runs import lease as leases
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.jobs import MOST_BESIDE_A_QUEUE, find_unclaimed, take_back_expired
from reflection_app.runs.lease import claim, keeper, lapsed, silent_s
from reflection_app.runs.models import Attempt, Run, RunState, Step
from tests import given, then, when
from tests.pace import PATIENCE_S
from tests.runs.critiques import critique
from tests.runs.test_crashes import counted_calls, let_lease_end, let_lease_run_out

pytestmark = pytest.mark.django_db(transaction=True)


def die_with(runs: Sequence[Run], monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """A worker of its own took these runs and died; those that may be claimed again at once."""
    monkeypatch.setattr(leases, "PROCESS", uuid4().bytes[:8])
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(not_before=None)
    for run in runs:
        assert claim(run.pk) is not None
        let_lease_end(run)
    return take_back_expired()


def test_runs_that_die_together_again_and_again_are_never_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [given.code_run({"attempt-1/answer": given.RIGHT}) for _ in range(3)]
    for _ in range(3):
        assert set(die_with(runs, monkeypatch)) == {run.pk for run in runs}
    for _ in range(7):
        # From here on they are parted, so that whichever does no harm comes through.
        assert die_with(runs, monkeypatch) == []
    waits = set(Run.objects.filter(state=RunState.QUEUED).values_list("not_before", flat=True))
    assert len(waits) == 3
    Run.objects.update(not_before=None)
    for run in runs:
        when.advances(run)
        assert (run.outcome, run.worker_deaths) == ("succeeded", 0)


def test_a_run_that_workers_die_of_is_told_by_who_else_died(monkeypatch: pytest.MonkeyPatch) -> None:
    poison = given.code_run({"attempt-1/answer": given.RIGHT})
    for _ in range(5):
        # Each time in other company, which does no harm.
        company = given.code_run({"attempt-1/answer": given.RIGHT})
        die_with([poison, company], monkeypatch)
        advance(company.pk)
        then.run_succeeded(company)
    last = given.code_run({"attempt-1/answer": given.RIGHT})
    assert die_with([poison, last], monkeypatch) == [last.pk]
    then.run_ended(poison, "failed")
    assert poison.error.startswith("6 workers in a row died with it, and no other run died as often")


def test_a_worker_that_was_stopped_for_a_while_keeps_its_runs_where_nobody_took_them() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    lease = claim(run.pk)
    assert lease is not None
    with keeper.keep(lease):
        let_lease_end(run)
        assert keeper.renew() == 1
        assert take_back_expired() == []


def a_run_slowly_answered(monkeypatch: pytest.MonkeyPatch, meanwhile: Any) -> tuple[Run, list[str]]:
    """A run whose first model call is answered only after `meanwhile(run)` has been; and the calls that are made."""
    run = given.scripted_run({"attempt-1/answer": "text", "attempt-1/critique": critique(90, approved=True)})
    calls = counted_calls(monkeypatch)
    perform, is_first = performing.perform, [True]

    def slowly(*args: Any, **kwargs: Any) -> Any:
        result = perform(*args, **kwargs)
        if is_first[0]:
            is_first[0] = False
            meanwhile(run)
        return result

    monkeypatch.setattr("reflection_app.runs.advance.perform", slowly)
    return run, calls


def taken_back(run: Run) -> None:
    let_lease_run_out(run)
    assert take_back_expired() == [run.pk]


def test_an_answer_that_comes_after_the_lease_went_is_kept_and_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, calls = a_run_slowly_answered(monkeypatch, taken_back)
    when.advances(run)
    assert (run.state, run.attempts_made, run.llm_calls) == (RunState.QUEUED, 1, 1)
    when.advances(run)
    assert (run.outcome, run.llm_calls, run.attempts_made) == ("succeeded", 2, 1)
    assert calls == ["attempt-1/answer", "attempt-1/critique"]


def test_of_two_answers_to_the_same_step_the_first_counts_and_both_are_paid_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended_elsewhere: list[str | None] = []

    def overtaken(run: Run) -> None:
        taken_back(run)
        advance(run.pk)
        ended_elsewhere.append(Run.objects.get(pk=run.pk).outcome)

    run, calls = a_run_slowly_answered(monkeypatch, overtaken)
    when.advances(run)
    assert ended_elsewhere == ["succeeded"]
    assert (run.outcome, run.llm_calls) == ("succeeded", 3)
    assert calls == ["attempt-1/answer", "attempt-1/answer", "attempt-1/critique"]
    assert Attempt.objects.filter(run=run).count() == 1


def test_a_worker_that_asks_the_same_lets_go_when_the_answer_is_brought(monkeypatch: pytest.MonkeyPatch) -> None:
    others: list[Any] = []

    def taken_over(run: Run) -> None:
        taken_back(run)
        other = claim(run.pk)
        assert other is not None
        # The other worker has begun the call anew.
        Step.objects.filter(run=run).update(tries=F("tries") + 1)
        others.append(other)

    run, calls = a_run_slowly_answered(monkeypatch, taken_over)
    when.advances(run)
    assert (run.state, run.lease_token, run.attempts_made) == (RunState.QUEUED, None, 1)
    assert Step.objects.get(run=run, seq=1).tries == 2
    when.advances(run)
    assert (run.outcome, calls) == ("succeeded", ["attempt-1/answer", "attempt-1/critique"])
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


def test_nothing_is_brought_to_a_run_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(run: Run) -> None:
        Run.objects.filter(pk=run.pk).update(
            state=RunState.FINISHED, outcome="cancelled", finished_at=timezone.now(), lease_token=None
        )

    run, _calls = a_run_slowly_answered(monkeypatch, ended)
    when.advances(run)
    assert (run.outcome, run.attempts_made, run.llm_calls) == ("cancelled", 0, 1)


def test_leases_are_renewed_while_every_connection_of_the_pool_is_taken() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    lease = claim(run.pk)
    assert lease is not None
    soon = timezone.now() + timedelta(seconds=1)
    with keeper.keep(lease):
        Run.objects.filter(pk=run.pk).update(lease_until=soon)
        assert keeper.renew() == 1
    run.refresh_from_db()
    assert run.lease_until is not None
    assert run.lease_until > soon


@pytest.fixture
def silent_run(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run whose worker missed two renewals of a lease that stands; the database has known the desk for longer."""
    settings.RUN_LEASE_S = 3.0
    # Not this process, of which an earlier test's keeper may still have a session.
    monkeypatch.setattr(leases, "PROCESS", uuid4().bytes[:8])
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    assert claim(run.pk) is not None
    # Held, and so no younger than the silence.
    connection.ensure_connection()
    time.sleep(silent_s() + 0.1)
    assert not Run.objects.filter(pk=run.pk, lease_until__lt=Now()).exists()
    return run


def test_by_the_defaults_a_death_is_noticed_within_ten_seconds(settings: Any) -> None:
    assert silent_s() + settings.SWEEP_INTERVAL_S < 10


def test_the_run_of_a_process_that_is_gone_is_free_before_its_lease_ends(silent_run: Run) -> None:
    assert take_back_expired() == [silent_run.pk]
    silent_run.refresh_from_db()
    assert (silent_run.state, silent_run.lease_token, silent_run.worker_deaths) == (RunState.QUEUED, None, 1)


def test_a_process_that_is_only_slow_keeps_its_run_until_the_lease_ends(silent_run: Run) -> None:
    with closing(leases._unpooled_connection()) as session:
        session.connect()
        assert take_back_expired() == []
        let_lease_run_out(silent_run)
        assert take_back_expired() == [silent_run.pk]


def test_a_lease_that_was_renewed_since_it_was_looked_at_is_not_taken_back(
    silent_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def and_renewed(*, most: int) -> Any:
        found = lapsed(most=most)
        Run.objects.update(lease_until=leases.lease_end())
        return found

    monkeypatch.setattr("reflection_app.runs.jobs.lapsed", and_renewed)
    assert take_back_expired() == []
    silent_run.refresh_from_db()
    assert silent_run.state == RunState.RUNNING


def test_nobody_is_taken_for_dead_while_the_database_is_only_just_back(silent_run: Run, settings: Any) -> None:
    settings.RUN_LEASE_S = 300.0
    Run.objects.update(lease_until=timezone.now() + timedelta(seconds=150))
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as beside:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        beside.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}")
    connection.close()
    assert take_back_expired() == []
    silent_run.refresh_from_db()
    assert silent_run.state == RunState.RUNNING


def test_who_was_claimed_later_counts_as_company_too(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A process that is gone takes all its runs with it, also those whose lease was given a moment ago."""
    settings.RUN_LEASE_S = 1.2
    connection.ensure_connection()
    first, last = (given.code_run({"attempt-1/answer": given.RIGHT}) for _ in range(2))
    for _ in range(6):
        monkeypatch.setattr(leases, "PROCESS", uuid4().bytes[:8])
        Run.objects.update(not_before=None)
        assert claim(first.pk) is not None
        time.sleep(silent_s() / 2)
        assert claim(last.pk) is not None
        deadline = time.monotonic() + PATIENCE_S
        while Run.objects.filter(state=RunState.RUNNING).exists() and time.monotonic() < deadline:
            take_back_expired()
            time.sleep(0.05)
    for run in (first, last):
        run.refresh_from_db()
        assert (run.outcome, run.worker_deaths) == (None, 6)


def test_after_an_outage_longer_than_a_lease_nobody_is_taken_for_dead() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    lease = claim(run.pk)
    assert lease is not None
    Run.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as beside:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        beside.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}")
    connection.close()
    assert take_back_expired() == []
    with closing(leases._unpooled_connection()) as session:
        assert leases._renew([lease.token], by=session) == 1
    # Where no session lasts, as behind a pooler, a lease that ran out a whole lease ago is over all the same.
    let_lease_run_out(run)
    assert take_back_expired() == [run.pk]


def test_a_keeper_that_cannot_start_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run, own = given.code_run({"attempt-1/answer": given.RIGHT}), leases.LeaseKeeper()
    lease = claim(run.pk)
    assert lease is not None

    def no_more(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_more)
        with pytest.raises(RuntimeError), own.keep(lease):
            pytest.fail("the lease is not kept")
    assert own.renew() == 0


def test_a_start_that_the_database_forgot_is_written_with_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start does not wait for the disk: where PostgreSQL crashes right after it, the step is not there any more."""

    def forgotten(run: Run) -> None:
        Event.objects.filter(run=run, type="step.started").delete()
        Step.objects.filter(run=run).delete()
        Run.objects.filter(pk=run.pk).update(last_event_seq=1)

    run, calls = a_run_slowly_answered(monkeypatch, forgotten)
    when.advances(run)
    assert (run.outcome, run.llm_calls, run.attempts_made, run.failures) == ("succeeded", 2, 1, 0)
    assert calls == ["attempt-1/answer", "attempt-1/critique"]
    seqs = list(Step.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))
    events = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert events == list(range(1, len(events) + 1))


def test_a_commit_that_was_made_is_not_charged_again_where_its_answer_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.scripted_run({"attempt-1/answer": "text", "attempt-1/critique": critique(90, approved=True)})
    once = journal_writes._commit_once
    is_lost: list[bool] = []

    def lost(lease: Any, changes: Any, then: Any, *, durable: bool = True) -> None:
        once(lease, changes, then, durable=durable)
        if changes and changes[0].step.state == "done" and not is_lost:
            is_lost.append(True)
            taken_back(run)
            assert claim(run.pk) is not None
            # Who has it now begins the next step anew.
            Step.objects.filter(run=run, state="started").update(tries=2, started_at=timezone.now())
            raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(journal_writes, "_commit_once", lost)
    when.advances(run)
    assert is_lost
    assert run.llm_calls == 1


def test_a_late_answer_leaves_the_time_that_others_took(monkeypatch: pytest.MonkeyPatch) -> None:
    def put_off(run: Run) -> None:
        taken_back(run)
        Step.objects.filter(run=run).update(duration_s=F("duration_s") + 40)

    run, _calls = a_run_slowly_answered(monkeypatch, put_off)
    advance(run.pk)
    assert Step.objects.get(run=run, seq=1).duration_s >= 40


def test_a_message_that_comes_too_early_by_the_databases_clock_is_sent_again() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    Run.objects.filter(pk=run.pk).update(not_before=timezone.now() + timedelta(seconds=5))
    after_s = advance(run.pk)
    assert after_s is not None
    assert 0 < after_s <= 5
    # One of a run that is to wait for long is none of its own.
    Run.objects.filter(pk=run.pk).update(not_before=timezone.now() + timedelta(hours=5))
    assert advance(run.pk) is None


def test_what_was_lost_is_asked_for_again_also_beside_a_long_queue() -> None:
    lost, never_asked = (given.code_run({"attempt-1/answer": given.RIGHT}) for _ in range(2))
    waiting = [given.code_run({"attempt-1/answer": given.RIGHT}) for _ in range(MOST_BESIDE_A_QUEUE)]
    Run.objects.update(enqueued_at=timezone.now() - timedelta(hours=1))
    Run.objects.filter(pk=lost.pk).update(enqueued_at=timezone.now() - timedelta(hours=5))
    Run.objects.filter(pk=never_asked.pk).update(enqueued_at=None)
    found = find_unclaimed(beside_a_queue=lambda: True)
    assert len(found) == MOST_BESIDE_A_QUEUE + 1
    assert {lost.pk, never_asked.pk} <= set(found)
    assert len(find_unclaimed(beside_a_queue=lambda: True)) == len(waiting) - MOST_BESIDE_A_QUEUE + 1
