from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import ApiKey
from reflection_app.teams.members import revoke_api_key
from tests import given, then
from tests.api.caller import Answer, Caller

pytestmark = pytest.mark.django_db


def refused(caller: Caller) -> Answer:
    answer = caller.get("tasks")
    then.refused(answer, 401)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    return answer


def test_a_call_without_a_key_is_refused() -> None:
    response = Client().get("/api/v1/tasks")
    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_an_unknown_key_is_refused(caller: Caller) -> None:
    refused(Caller(caller.project, caller.key, "rd_wrong"))


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "Token abc", "Bearer \xff\xfe", "Bearer a b"])
def test_a_header_that_is_no_bearer_key_is_refused(db: None, header: str) -> None:
    assert Client().get("/api/v1/tasks", headers={"Authorization": header}).status_code == 401


def test_a_revoked_key_is_refused(caller: Caller) -> None:
    revoke_api_key(caller.key, actor=Actor())
    refused(caller)


def test_an_expired_key_is_refused(caller: Caller) -> None:
    ApiKey.objects.filter(pk=caller.key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    refused(caller)


def test_a_session_of_the_browser_is_no_key(caller: Caller) -> None:
    client = Client()
    client.force_login(given.member(caller.project))
    assert client.get("/api/v1/tasks").status_code == 401


def test_the_last_use_of_a_key_is_kept_to_the_minute(caller: Caller) -> None:
    caller.get("tasks")
    first = ApiKey.objects.get(pk=caller.key.pk).last_used_at
    caller.get("tasks")
    assert first is not None
    assert ApiKey.objects.get(pk=caller.key.pk).last_used_at == first

    long_ago = timezone.now() - timedelta(minutes=5)
    ApiKey.objects.filter(pk=caller.key.pk).update(last_used_at=long_ago)
    caller.get("tasks")
    now = ApiKey.objects.get(pk=caller.key.pk).last_used_at
    assert now is not None
    assert now > long_ago


@pytest.mark.django_db(transaction=True)
def test_who_only_reads_is_let_in_also_where_the_database_takes_nothing(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        assert caller.get("tools").status == 200
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")
    assert "read-only" in caplog.text
