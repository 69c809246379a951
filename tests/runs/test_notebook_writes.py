"""What a step has for the notebook is written after it: no answer waits, and a death in between loses nothing."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from notebook_app.changing import lock_notebook
from notebook_app.models import Entry, Evidence
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.lease import keeper
from reflection_app.runs.models import Run, RunState, Step
from tests.pace import PATIENCE_S
from tests.runs.test_crashes import Killed, counted_calls, killing_after, let_lease_run_out
from tests.sessions.looking_back import ended_run, forks_of

pytestmark = pytest.mark.django_db(transaction=True)


def waited_for(holds: Any) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(found)


@contextmanager
def held_notebook(run: Run) -> Iterator[None]:
    """Somebody works on the notebook of the run's project meanwhile."""
    is_held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                lock_notebook(run.project_id)
                is_held.set()
                assert let_go.wait(PATIENCE_S)
        finally:
            connection.close()

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        assert is_held.wait(PATIENCE_S)
        yield
    finally:
        let_go.set()
        holding.join(PATIENCE_S)


def test_an_answer_is_committed_while_somebody_else_has_the_notebook() -> None:
    run = ended_run()
    fork = forks_of(run)["errors"].fork
    with held_notebook(run):
        advancing = threading.Thread(target=advance, args=(fork.pk,))
        advancing.start()
        noted = Step.objects.filter(run=fork, kind="record_findings")
        assert waited_for(noted.exists)
        assert noted.get().owes_notebook
        assert Step.objects.get(run=fork, kind="generate").state == "done"
        assert not Entry.objects.exists()
    advancing.join(PATIENCE_S)
    fork.refresh_from_db()
    assert (fork.outcome, noted.get().owes_notebook, Entry.objects.count()) == ("succeeded", False, 1)


# It says what it reads, what it was answered, what it found, that the notebook has it, and that it has ended.
@pytest.mark.parametrize("commits", [1, 2, 3, 4, 5])
def test_a_worker_that_dies_after_any_commit_leaves_one_entry_and_the_same_row(
    commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ended_run()
    fork = forks_of(run)["errors"].fork
    calls = counted_calls(monkeypatch)
    with monkeypatch.context() as patched:
        killing_after(commits, patched, journal_writes, "_commit_once")
        try:
            advance(fork.pk)
        except Killed:
            let_lease_run_out(fork)
            take_back_expired()
    advance(fork.pk)

    row = forks_of(run)["errors"]
    assert (row.fork.outcome, row.found, row.added, row.counted) == ("succeeded", 1, 1, 0)
    entry = Entry.objects.get()
    assert (entry.occurrences, Evidence.objects.filter(entry=entry).count()) == (1, 1)
    assert calls == ["errors-1"]
    assert not Step.objects.filter(owes_notebook=True).exists()


def test_who_lost_the_run_meanwhile_writes_nothing_to_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ended_run()
    fork = forks_of(run)["errors"].fork
    written = journal_writes._commit_once

    def and_taken_over(*args: Any, **more: Any) -> None:
        written(*args, **more)
        if Step.objects.filter(run=fork, owes_notebook=True).exists():
            keeper.give_back()

    with monkeypatch.context() as patched:
        patched.setattr(journal_writes, "_commit_once", and_taken_over)
        advance(fork.pk)
    fork.refresh_from_db()
    assert (fork.state, Entry.objects.count()) == (RunState.QUEUED, 0)
    advance(fork.pk)
    assert Entry.objects.get().occurrences == 1
