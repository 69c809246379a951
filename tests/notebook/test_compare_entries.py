"""Comparing is done by one worker at a time, however many are asked."""

from uuid import uuid4

import pytest
from django.core.cache import cache

from notebook_app.models import Entry
from reflection_app.core.turn import Turn
from reflection_app.notebook.background import TURN, compare_due
from tests.notebook.entries import make_entry

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    cache.delete(TURN)


def test_while_one_worker_compares_another_goes_on_with_runs() -> None:
    make_entry(uuid4(), is_compared=False)
    busy = Turn(TURN)
    assert busy.take()
    assert compare_due() == 0
    assert Entry.objects.filter(is_compared=False).exists()
    busy.give_up()
    assert compare_due() == 1
    assert not Entry.objects.filter(is_compared=False).exists()
    assert Turn(TURN).take()
