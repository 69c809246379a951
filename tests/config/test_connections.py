from contextlib import suppress

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from reflection_app.core.connections import released


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [None, ValueError()])
def test_a_thread_has_no_connection_while_and_after_it_works_with_it_released(error: Exception | None) -> None:
    connection.ensure_connection()

    with suppress(ValueError), released():
        assert connection.connection is None
        connection.ensure_connection()
        if error:
            raise error

    assert connection.connection is None


@pytest.mark.django_db(transaction=True)
def test_a_connection_stays_where_it_is_inside_a_transaction() -> None:
    with transaction.atomic():
        Group.objects.create(name="kept")
        with released():
            assert Group.objects.filter(name="kept").exists()

    assert Group.objects.filter(name="kept").exists()
