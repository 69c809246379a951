"""Comparing, embedding and screening are each done by one worker at a time, however many are asked."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.core.cache import cache

from notebook_app.models import Embedding, Entry
from reflection_app.core.turn import Turn
from reflection_app.notebook.background import (
    EMBED_TURN,
    SCREEN_TURN,
    TURN,
    compare_due,
    embed_waiting,
    screen_waiting,
)
from tests.notebook.entries import make_entry

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("name", "work"), [(TURN, compare_due), (EMBED_TURN, embed_waiting), (SCREEN_TURN, screen_waiting)]
)
def test_while_one_worker_is_at_it_another_goes_on_with_runs(name: str, work: Callable[[], object]) -> None:
    cache.delete(name)
    make_entry(uuid4())
    busy = Turn(name)
    assert busy.take()
    assert not work()
    assert Entry.objects.filter(is_compared=False, read_by_weights=0).exists()
    assert not Embedding.objects.exists()
    busy.give_up()
    work()
    if work is compare_due:
        assert not Entry.objects.filter(is_compared=False).exists()
    assert Turn(name).take()
