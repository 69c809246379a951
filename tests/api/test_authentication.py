from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from reflection_app.core.models import ApiKey
from tests import given
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


def test_a_call_without_a_key_is_refused() -> None:
    response = Client().get("/api/v1/tasks")
    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"
    assert response["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("header", ["", "Bearer ", "Basic abc", "Bearer \xff\xfe", "Bearer a b"])
def test_a_header_that_is_no_bearer_key_is_refused(db: None, header: str) -> None:
    assert Client().get("/api/v1/tasks", headers={"Authorization": header}).status_code == 401


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
