"""A run whose code waits for memory, because other sandboxes use all that there is."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from desk_sandbox import SandboxLimits, memory
from desk_sandbox.limits import MEBIBYTE
from desk_sandbox.memory import reserved_memory
from reflection_app.runs.advance import advance
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Run, Step, StepState
from tests import given, then
from tests.pace import PATIENCE_S


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def has_queue_head(path: Path) -> bool:
    file = os.open(path, os.O_RDWR)
    try:
        return not memory._lock(file, memory.HEAD_OF_QUEUE)
    finally:
        os.close(file)


@pytest.mark.django_db(transaction=True)
def test_it_keeps_its_lease_and_is_not_charged_for_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = memory.Shared(tmp_path / "memory", 64 * MEBIBYTE)
    monkeypatch.setattr(memory, "_shared", shared)
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    thread = threading.Thread(target=advance, args=(run.pk,))
    with reserved_memory(SandboxLimits()):
        started = time.monotonic()
        thread.start()
        wait_until(lambda: Step.objects.filter(run=run, kind="run_tests", state=StepState.STARTED).exists())
        wait_until(lambda: has_queue_head(shared.file))
        began, given_until = time.monotonic(), Run.objects.get(pk=run.pk).lease_until
        assert given_until is not None
        wait_until(lambda: Run.objects.filter(pk=run.pk, lease_until__gt=given_until).exists())
        assert take_back_expired() == []
        waited_s = time.monotonic() - began
    thread.join()
    took_s = time.monotonic() - started
    connection.close()
    then.run_succeeded(run)
    assert run.active_s <= took_s - waited_s
