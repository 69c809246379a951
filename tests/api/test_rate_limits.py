"""How many requests are answered: the buckets lie in a real Valkey."""

import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from reflection_app.api import view
from reflection_app.api.rate_limits import Buckets, Limit
from reflection_app.tasks.models import Task
from tests import given, then
from tests.api.caller import Caller


@pytest.fixture(autouse=True)
def _few(settings: Settings) -> None:
    """One request a minute comes back, so that none does while a test runs; no other test has used any up."""
    settings.API_REQUESTS_PER_MINUTE = 1
    settings.API_BURST = 3
    settings.API_REQUESTS_WITHOUT_KEY = 2
    broker = Redis.from_url(settings.CACHES["default"]["LOCATION"])
    for name in broker.scan_iter("desk-rate:address:*"):
        broker.delete(name)


@pytest.mark.django_db
def test_a_key_that_asks_too_often_is_told_when_to_come_back(caller: Caller) -> None:
    assert [caller.get("tasks").status for _ in range(3)] == [200] * 3
    answer = caller.post("tasks", {"objective": "x"})
    then.refused(answer, 429)
    assert 0 < int(answer.headers["retry-after"]) <= 60
    assert not Task.objects.exists()


@pytest.mark.django_db
def test_one_key_does_not_use_up_anothers_requests(caller: Caller) -> None:
    for _ in range(4):
        caller.get("tasks")
    assert caller.get("tasks").status == 429
    assert given.caller(caller.project).get("tasks").status == 200


@pytest.mark.django_db
def test_an_address_without_a_key_is_limited_and_keys_behind_it_are_not(caller: Caller) -> None:
    wrong = Caller(caller.project, caller.key, "rd_wrong")
    assert [wrong.get("tasks").status, Client().get("/api/v1/runs").status_code] == [401, 401]
    answer = wrong.get("tasks")
    then.refused(answer, 429)
    assert int(answer.headers["retry-after"]) > 0
    assert caller.get("tasks").status == 200
    assert Client(REMOTE_ADDR="192.0.2.7").get("/api/v1/tasks").status_code == 401


@pytest.mark.django_db
def test_where_the_broker_is_away_everybody_is_let_in(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    away = Buckets()
    with monkeypatch.context() as patched:
        patched.setattr("django.conf.settings.CACHES", {"default": {"LOCATION": "unix:///nowhere/valkey.sock"}})
        assert away.take(Limit("key", 1, 1), of="x") is None
    monkeypatch.setattr(view, "buckets", away)
    answers = [caller.get("tasks") for _ in range(5)]
    assert {answer.status for answer in answers} == {200}
    assert "ratelimit" not in answers[-1].headers


@pytest.mark.django_db
def test_no_limit_is_no_limit(caller: Caller, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 0
    answers = [caller.get("tasks") for _ in range(6)]
    assert {answer.status for answer in answers} == {200}
    assert "ratelimit" not in answers[0].headers


def test_of_many_requests_at_once_none_slips_past_the_count() -> None:
    limit, whose, together = Limit("key", 1, 10), str(uuid4()), threading.Barrier(8)

    def ask(_: int) -> list[bool]:
        together.wait()
        quotas = [Buckets().take(limit, of=whose) for _ in range(4)]
        return [quota is not None and not quota.wait_s for quota in quotas]

    with ThreadPoolExecutor(8) as pool:
        let_in = [one for several in pool.map(ask, range(8)) for one in several]
    assert len(let_in) == 32
    assert sum(let_in) == 10


def test_what_was_used_comes_back_at_an_even_pace() -> None:
    buckets, whose, limit = Buckets(), str(uuid4()), Limit("key", 120, 1)
    assert (quota := buckets.take(limit, of=whose)) is not None
    assert quota.full_in_s == 1
    tries = 0
    while (again := buckets.take(limit, of=whose)) is not None and again.wait_s:
        tries += 1
        sleep(0.02)
    assert tries > 0
