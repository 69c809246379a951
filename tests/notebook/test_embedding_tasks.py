from uuid import uuid4

import pytest
from celery import current_app
from kombu.exceptions import OperationalError
from pytest_django.fixtures import Settings

from reflection_app.runs import jobs as tasks
from reflection_app.runs.queueing import LAST_ASKED, Outage
from tests.notebook.embedding_rows import kept


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tasks that are asked for, none of which is carried out."""
    names: list[str] = []
    LAST_ASKED.clear()
    monkeypatch.setattr(Outage, "until", 0.0)
    monkeypatch.setattr(current_app, "send_task", lambda name, *_, **__: names.append(name))
    return names


@pytest.mark.django_db(transaction=True)
def test_many_entries_proposed_in_a_row_are_asked_for_once(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    project = uuid4()
    monkeypatch.setattr(tasks, "EMBED_DELAY_S", 600.0)
    for number in range(3):
        kept(project, f"lesson {number}", approved=False)
    assert sent == [tasks.EMBED_ENTRIES]


@pytest.mark.django_db
def test_nothing_is_asked_for_what_was_not_committed(sent: list[str]) -> None:
    kept(uuid4(), "a lesson", approved=False)
    assert sent == []


def test_nothing_is_asked_where_it_is_turned_off(sent: list[str], settings: Settings) -> None:
    settings.EMBEDDING_MODEL = "None"
    tasks.embed_soon()
    assert sent == []


def test_a_broker_that_is_away_keeps_nobody_from_changing_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("connection refused")

    LAST_ASKED.clear()
    monkeypatch.setattr(Outage, "until", 0.0)
    monkeypatch.setattr(current_app, "send_task", away)
    tasks.embed_soon()
    assert Outage.is_on()
