"""Answers that the database cannot take wait on disk, and are used once, by whichever worker comes first."""

import json
import os
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from pytest_django.fixtures import Settings

from reflection_app.runs import journal_writes, offering, spool
from reflection_app.runs.advance import advance
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.lease import claim
from reflection_app.runs.models import Attempt, Run, RunState, Step, StepState
from reflection_app.runs.offering import offer_spooled
from tests import given, then, when
from tests.pace import PATIENCE_S
from tests.runs.critiques import critique
from tests.runs.test_crashes import counted_calls, let_lease_run_out

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = ["attempt-1/answer", "attempt-1/critique"]


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path / "spool"


def run_with_spooled_answer(monkeypatch: pytest.MonkeyPatch) -> tuple[Run, list[str]]:
    """A run whose first answer came while the database was away, and whose worker then died; and the calls made."""
    run = given.scripted_run({"attempt-1/answer": "text", "attempt-1/critique": critique(90, approved=True)})
    calls = counted_calls(monkeypatch)
    write = journal_writes._commit_once

    def away_once_answered(lease: Any, changes: Any, then: Any, *, durable: bool = True) -> None:
        if calls:
            raise OperationalError("the database is away")
        write(lease, changes, then, durable=durable)

    with monkeypatch.context() as patched:
        patched.setattr(journal_writes, "_commit_once", away_once_answered)
        patched.setattr(journal_writes, "WAITS_S", ())
        with pytest.raises(OperationalError):
            advance(run.pk)
    let_lease_run_out(run)
    assert take_back_expired() == [run.pk]
    assert Step.objects.get(run=run, seq=1).state == StepState.STARTED
    return run, calls


def check_it_ends_right(run: Run, calls: list[str]) -> None:
    when.advances(run)
    assert (run.outcome, run.attempts_made, run.llm_calls) == ("succeeded", 1, 2)
    assert Attempt.objects.get(run=run).content == "text"
    assert calls == CALLS
    assert Step.objects.get(run=run, seq=1).tries == 1


def test_the_next_worker_on_the_machine_goes_on_with_the_answer_on_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, calls = run_with_spooled_answer(monkeypatch)
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    finished_at = datetime.fromisoformat(json.loads(file.read_text())["finished_at"])
    check_it_ends_right(run, calls)
    assert list(folder.iterdir()) == []
    # Else another worker that gave the same answer meanwhile would be charged for as well.
    assert Step.objects.get(run=run, seq=1).finished_at == finished_at


def test_the_sweep_offers_the_answer_so_that_any_worker_can_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, calls = run_with_spooled_answer(monkeypatch)
    assert offer_spooled() == 1
    assert list(folder.iterdir()) == []
    run.refresh_from_db()
    assert (run.state, run.llm_calls, run.attempts_made) == (RunState.QUEUED, 1, 1)
    check_it_ends_right(run, calls)


def test_a_hanging_commit_spools_its_answer_until_it_succeeds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.scripted_run({"attempt-1/answer": "text", "attempt-1/critique": critique(90, approved=True)})
    calls = counted_calls(monkeypatch)
    write = journal_writes._commit_once
    on_disk: list[str] = []

    def hanging(*args: Any, **kwargs: Any) -> None:
        until = time.monotonic() + PATIENCE_S
        while len(calls) == 1 and not on_disk and time.monotonic() < until:
            on_disk.extend(json.loads(file.read_text())["key"] for file in folder.glob("*.json"))
            time.sleep(0.01)
        write(*args, **kwargs)

    monkeypatch.setattr(journal_writes, "_commit_once", hanging)
    advance(run.pk)
    then.run_succeeded(run)
    assert on_disk == CALLS[:1]
    assert list(folder.iterdir()) == []


def test_while_the_database_answers_nothing_is_written_to_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "WRITTEN_AFTER_S", PATIENCE_S)
    run = given.scripted_run({"attempt-1/answer": "text", "attempt-1/critique": critique(90, approved=True)})
    monkeypatch.setattr(os, "fsync", lambda _file: pytest.fail("something was written to disk"))
    advance(run.pk)
    assert not folder.exists()
    assert not spool.spool._pending


def test_damaged_files_are_set_aside_and_valid_ones_are_still_offered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, calls = run_with_spooled_answer(monkeypatch)
    (file,) = folder.iterdir()
    damaged = {
        f"{run.pk}.1.half.json": file.read_text()[:100],
        "foreign.json": '{"hello": "world"}',
        "bytes.json": "\x00\x01",
    }
    for name, content in damaged.items():
        (folder / name).write_text(content)
    unfinished = folder / f"half{spool.UNFINISHED}"
    unfinished.write_text("{")
    os.utime(unfinished, (0, 0))

    assert offer_spooled() == 1
    assert offer_spooled() == 0
    assert {path.name for path in folder.iterdir()} == {f"{name}.bad" for name in damaged}
    check_it_ends_right(run, calls)


def test_an_answer_that_does_not_fit_its_step_is_set_aside_and_the_call_is_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, calls = run_with_spooled_answer(monkeypatch)
    (file,) = folder.iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"result": {"no": "generation"}}))
    assert offer_spooled() == 0
    assert [path.suffix for path in folder.iterdir()] == [".bad"]
    advance(run.pk)
    then.run_succeeded(run)
    assert calls == [CALLS[0], *CALLS]


def test_an_answer_is_not_offered_while_its_worker_holds_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _calls = run_with_spooled_answer(monkeypatch)
    lease = claim(run.pk)
    assert lease is not None
    (file,) = folder.iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"token": str(lease.token)}))
    assert offer_spooled() == 0
    assert file.exists()


@pytest.mark.parametrize("is_its_own", [False, True])
def test_an_answer_that_nobody_waits_for_is_deleted_after_a_while_and_paid_for_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_its_own: bool
) -> None:
    run, calls = run_with_spooled_answer(monkeypatch)
    (file,) = folder.iterdir()
    content = file.read_text()
    check_it_ends_right(run, calls)
    if not is_its_own:
        content = json.dumps(json.loads(content) | {"finished_at": "2020-01-01T00:00:00Z"})
    else:
        finished_at = Step.objects.get(run=run, seq=1).finished_at
        assert finished_at is not None
        content = json.dumps(json.loads(content) | {"finished_at": finished_at.isoformat()})
    file.write_text(content)
    assert offer_spooled() == 0
    assert file.exists()
    monkeypatch.setattr(offering, "SETTLED_AFTER_S", 0.0)
    os.utime(file, (0, 0))
    assert offer_spooled() == 0
    assert not file.exists()
    run.refresh_from_db()
    assert run.llm_calls == (2 if is_its_own else 3)


def test_of_workers_that_offer_the_same_answer_one_gives_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, calls = run_with_spooled_answer(monkeypatch)
    sent: list[int] = []
    threads = [threading.Thread(target=lambda: sent.append(offer_and_close())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(sent) == 1
    check_it_ends_right(run, calls)


def offer_and_close() -> int:
    try:
        return offer_spooled()
    finally:
        connection.close()
