"""A desk that runs for one test: a web server, a worker's part in a thread, and a key of a project of its own."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import pytest
from django.db import connections
from pytest_django.live_server_helper import LiveServer
from reflection_desk import AsyncDesk, Desk

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.models import Project, Scope
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, RunState
from tests import given

_numbers = count(1)


@dataclass(frozen=True)
class Served:
    """The desk as a pipeline knows it: an address and a key."""

    url: str
    key: str
    project: Project

    def client(self) -> Desk:
        return Desk(self.url, self.key)

    def async_client(self) -> AsyncDesk:
        return AsyncDesk(self.url, self.key)

    def critic(self, *answers: str) -> None:
        """What the critic of tasks that are handed in from now on says of one attempt after another.

        Where the desk makes the attempts, all of them are the same haiku.
        """
        script = {f"attempt-{number}/critique": answer for number, answer in enumerate(answers, start=1)}
        script |= {key.replace("critique", "answer"): "The old pond." for key in script}
        self.project.models_by_role = {"default": register_script(f"served-{next(_numbers)}", script)}
        self.project.save(update_fields=["models_by_role"])

    def reviewer(self) -> Desk:
        """A program that decides, by a key that hands nothing in."""
        _key, secret = given.api_key(self.project, (Scope.RUNS_READ, Scope.REVIEWS_WRITE))
        return Desk(self.url, secret)


@pytest.fixture
def served(live_server: LiveServer) -> Iterator[Served]:
    project = given.project(review_policy={"audit_share": 0})
    _key, secret = given.api_key(project)
    stop = threading.Event()
    worker = threading.Thread(target=_move_on, args=(stop,), name="worker")
    worker.start()
    yield Served(live_server.url, secret, project)
    stop.set()
    worker.join()


def _move_on(stop: threading.Event) -> None:
    """Moves queued runs on, as a worker does whom messages tell of them."""
    try:
        while not stop.wait(0.02):
            for run_id in Run.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True):
                advance(run_id)
    finally:
        connections.close_all()
