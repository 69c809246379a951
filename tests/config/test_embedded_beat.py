"""Beat as a thread of a worker."""

import os
import signal
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reflection_app.config import embedded_beat
from reflection_app.config.celery import app
from reflection_app.config.embedded_beat import EmbeddedBeat
from tests.pace import PATIENCE_S


class FakeService:
    """The part of Celery's beat service that the step uses."""

    def __init__(self, _app: Any, *, schedule_filename: str) -> None:
        self.schedule = schedule_filename
        self.runs, self.ends = threading.Event(), threading.Event()

    def start(self) -> None:
        self.runs.set()
        self.ends.wait(PATIENCE_S)

    def stop(self) -> None:
        self.ends.set()


class FailingService(FakeService):
    def start(self) -> None:
        raise OSError("the disk is full")


WORKER = SimpleNamespace(app=app, steps=[])


def test_only_a_worker_with_the_option_has_beat(tmp_path: Path) -> None:
    assert not EmbeddedBeat(WORKER).include_if(WORKER)
    assert EmbeddedBeat(WORKER, with_beat=str(tmp_path / "schedule")).include_if(WORKER)
    assert EmbeddedBeat in app.steps["worker"]
    assert "with_beat" in {option.name for option in app.user_options["worker"]}


def test_beat_begins_and_ends_with_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_beat, "Service", FakeService)
    step = EmbeddedBeat(WORKER, with_beat="schedule")
    step.start(WORKER)
    service: Any = step.service
    assert service.runs.wait(PATIENCE_S)
    step.stop(WORKER)
    assert (service.schedule, service.ends.is_set()) == ("schedule", True)


def test_a_beat_that_fails_stops_its_worker_so_that_both_are_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_beat, "Service", FailingService)
    sent: list[tuple[int, int]] = []
    told = threading.Event()

    def kill(pid: int, sign: int) -> None:
        sent.append((pid, sign))
        told.set()

    monkeypatch.setattr(os, "kill", kill)
    EmbeddedBeat(WORKER, with_beat="schedule").start(WORKER)
    assert told.wait(PATIENCE_S)
    assert sent == [(os.getpid(), signal.SIGTERM)]
