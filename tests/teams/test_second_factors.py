"""Second factors as they lie in the database."""

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.test import Client
from pytest_django import Settings

from tests import given

pytestmark = pytest.mark.django_db
SECRET = "JBSWY3DPEHPK3PXP"


def code_of(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, list(yield_hotp_counters_from_time())[1])))


def ask(client: Client, code: str) -> int:
    client.post("/login/", {"username": "anna", "password": given.PASSWORD})
    return client.post("/account/two-factor/login/", {"code": code}).status_code


def test_a_code_lets_in_and_no_secret_lies_open(client: Client) -> None:
    user = given.user("anna")
    TOTP.activate(user, SECRET)
    codes = RecoveryCodes.activate(user)
    kept = " ".join(str(row.data) for row in Authenticator.objects.all())
    assert SECRET not in kept
    seed = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES).data["seed"]
    assert len(seed) > 60
    assert ask(client, code_of(SECRET)) == 302
    assert ask(Client(), codes.get_unused_codes()[0]) == 302


def test_after_another_secret_key_no_code_fits(client: Client, settings: Settings) -> None:
    TOTP.activate(given.user("anna"), SECRET)
    settings.SECRET_KEY = "another-" * 8
    for secret in (SECRET, ""):
        assert ask(client, code_of(secret)) == 200
    assert "_auth_user_id" not in client.session
