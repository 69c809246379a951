import time

import pytest
from django.db import connection

from reflection_app.api import waiting
from reflection_app.core.audit import Actor
from reflection_app.runs.models import Run
from reflection_app.runs.resuming import cancel_run
from tests import given
from tests.api.caller import Caller
from tests.api.meanwhile import meanwhile

pytestmark = pytest.mark.django_db(transaction=True)


def cancel_soon(run: Run) -> None:
    time.sleep(0.3)
    cancel_run(run, actor=Actor())


def test_waiting_ends_when_the_run_ends(caller: Caller) -> None:
    run = given.submitted_run(caller.project)
    answer = meanwhile(lambda: caller.get(f"runs/{run.pk}", wait=15), lambda: cancel_soon(run))
    assert answer.body["outcome"] == "cancelled"


def test_waiting_ends_at_once_where_somebody_else_has_to_act(caller: Caller) -> None:
    review = given.waiting_review(caller.project)
    assert caller.get(f"runs/{review.run_id}", wait=15).body["state"] == "waiting_review"


def test_no_connection_is_held_while_waiting(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []

    def sleep(seconds: float) -> None:
        held.append(connection.connection is not None)
        time.sleep(seconds)

    run = given.submitted_run(caller.project)
    monkeypatch.setattr(waiting, "sleep", sleep)
    caller.get(f"runs/{run.pk}", wait="0.5")
    assert held
    assert not any(held)


def test_whoever_waits_long_looks_less_often() -> None:
    assert waiting.next_look_s(0) == waiting.next_look_s(2) == 0.2
    assert waiting.next_look_s(5) == 0.5
    looks, waited_s = 0, 0.0
    while waited_s < 30:
        waited_s += waiting.next_look_s(waited_s)
        looks += 1
    assert looks <= 50


def test_nobody_waits_longer_than_the_longest_wait(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.submitted_run(caller.project)
    monkeypatch.setattr(waiting, "LONGEST_WAIT_S", 0.3)
    assert caller.get(f"runs/{run.pk}", wait="1e300").status == 200


def test_waiting_for_events_ends_when_one_comes(caller: Caller) -> None:
    run = given.submitted_run(caller.project)
    (created,) = caller.get(f"runs/{run.pk}/events", wait=15).body["results"]
    address = f"runs/{run.pk}/events"
    answer = meanwhile(lambda: caller.get(address, after=created["seq"], wait=15), lambda: cancel_soon(run))
    assert [event["type"] for event in answer.body["results"]] == ["run.finished"]
