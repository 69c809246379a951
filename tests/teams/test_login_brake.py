import logging
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from reflection_app.teams.pages import login
from tests import given

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_counted(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": uuid4().hex}}


def try_to_log_in(name: str, password: str, *, address: str = "203.0.113.1") -> int:
    return Client(REMOTE_ADDR=address).post("/login/", {"username": name, "password": password}).status_code


def fail(times: int, *, name: str) -> None:
    assert [try_to_log_in(name, "wrong") for _ in range(times)] == [200] * times


def test_after_ten_failures_even_the_right_password_has_to_wait(caplog: pytest.LogCaptureFixture) -> None:
    given.user("ann")
    fail(10, name="ann")
    with caplog.at_level(logging.WARNING):
        response = Client(REMOTE_ADDR="203.0.113.1").post("/login/", {"username": "Ann ", "password": given.PASSWORD})
    assert response.status_code == 429
    assert "Too many failed logins" in response.text
    assert response.headers["Retry-After"] == "900"
    assert "203.0.113.1 was refused" in caplog.text


def test_other_names_and_other_addresses_are_not_held_up() -> None:
    given.user("ann")
    given.user("ben")
    fail(10, name="ann")
    assert try_to_log_in("ben", given.PASSWORD) == 302
    assert try_to_log_in("ann", given.PASSWORD, address="203.0.113.2") == 302


def test_a_login_forgets_the_failures_before() -> None:
    given.user("ann")
    fail(9, name="ann")
    assert try_to_log_in("ann", given.PASSWORD) == 302
    fail(10, name="ann")


def test_failures_are_forgotten_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "WITHIN_S", 0.001)
    given.user("ann")
    fail(11, name="ann")


def test_without_a_broker_one_may_log_in(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    backend = "django.core.cache.backends.redis.RedisCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "redis://127.0.0.1:1/0"}}
    given.user("ann")
    assert try_to_log_in("ann", given.PASSWORD) == 302
    # Asked once: a broker that hangs lets each question wait.
    assert caplog.text.count("logins are not counted") == 1


def test_an_address_that_tries_ever_other_names_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "MOST_FAILURES_OF_ADDRESS", 5)
    given.user("ann")
    assert try_to_log_in("ann", given.PASSWORD) == 302
    for number in range(5):
        fail(1, name=f"name-{number}")
    assert try_to_log_in("ann", given.PASSWORD) == 429
    assert try_to_log_in("ann", given.PASSWORD, address="203.0.113.2") == 302


def test_another_address_of_the_same_ipv6_network_is_the_same_caller() -> None:
    given.user("ann")
    for number in range(10):
        assert try_to_log_in("ann", "wrong", address=f"2001:db8:1:2::{number}") == 200
    assert try_to_log_in("ann", given.PASSWORD, address="2001:db8:1:2:ffff::1") == 429
    assert try_to_log_in("ann", given.PASSWORD, address="2001:db8:1:3::1") == 302
