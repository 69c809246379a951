"""Accounts while the broker, which counts their tries, is away."""

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.test import Client
from pytest_django import Settings

from tests import given

pytestmark = pytest.mark.django_db
SAID = "Nothing was changed; try again soon."


@pytest.fixture(autouse=True)
def no_broker(settings: Settings) -> None:
    backend = "django.core.cache.backends.redis.RedisCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "redis://127.0.0.1:1/0"}}


def test_a_lost_password_is_asked_for_later(client: Client) -> None:
    answer = client.post("/account/password/lost/", {"email": "a@b.example"})
    assert (answer.status_code, SAID in answer.text) == (503, True)
    assert answer["Retry-After"]


def test_nobody_gets_past_the_second_factor_uncounted(client: Client) -> None:
    user = given.user("anna")
    TOTP.activate(user, "JBSWY3DPEHPK3PXP")
    assert (
        client.post("/login/", {"username": "anna", "password": given.PASSWORD})["Location"]
        == "/account/two-factor/login/"
    )
    answer = client.post("/account/two-factor/login/", {"code": "000000"})
    assert (answer.status_code, SAID in answer.text) == (503, True)
    assert "_auth_user_id" not in client.session
