from contextlib import suppress

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

pytestmark = pytest.mark.usefixtures("committing")


def test_callbacks_run_once_the_outermost_transaction_ends() -> None:
    called: list[str] = []
    with transaction.atomic():
        with transaction.atomic():
            Group.objects.create(name="a")
            transaction.on_commit(lambda: called.append("inner"))
        assert called == []
    assert called == ["inner"]

    transaction.on_commit(lambda: called.append("outside"))
    assert called == ["inner", "outside"]


def test_callbacks_of_what_is_rolled_back_never_run() -> None:
    called: list[str] = []
    with suppress(ValueError), transaction.atomic():
        transaction.on_commit(lambda: called.append("x"))
        raise ValueError
    with transaction.atomic():
        Group.objects.create(name="a")
    assert called == []
