from datetime import timedelta
from uuid import uuid4

import pytest
from celery import current_app
from django.utils import timezone
from kombu.exceptions import OperationalError
from pytest_django.fixtures import Settings

from reflection_app.core.models import IdempotentAnswer
from reflection_app.runs.jobs import MOST_BESIDE_A_QUEUE, find_unclaimed, queue_length, sweep, tidy
from reflection_app.runs.models import Run
from reflection_app.runs.queueing import Outage, enqueue
from tests import given


@pytest.mark.django_db
def test_a_broker_that_is_away_is_asked_once_and_not_for_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def away(*args: object, **kwargs: object) -> None:
        asked.append(args)
        raise OperationalError("connection refused")

    monkeypatch.setattr(Outage, "until", 0.0)
    monkeypatch.setattr(current_app, "send_task", away)
    run = Run(id=uuid4(), project_id=uuid4(), mode="actor_critic")
    for _ in range(50):
        enqueue(run)
    assert len(asked) == 1

    monkeypatch.setattr(Outage, "until", 0.0)
    enqueue(run)
    assert len(asked) == 2


@pytest.mark.django_db
def test_only_old_idempotent_answers_are_forgotten() -> None:
    key, _ = given.api_key(given.project())
    for name in ("old", "new"):
        IdempotentAnswer.objects.create(api_key=key, key=name, fingerprint="")
    IdempotentAnswer.objects.filter(key="old").update(created_at=timezone.now() - timedelta(days=3))

    tidy()
    assert list(IdempotentAnswer.objects.values_list("key", flat=True)) == ["new"]


@pytest.mark.django_db(transaction=True)
def test_the_sweep_asks_again_for_lost_runs_and_for_a_few_while_messages_wait_in_the_queue(settings: Settings) -> None:
    project, left = given.project(), 3
    for _ in range(MOST_BESIDE_A_QUEUE + left):
        given.submitted_run(project)
    Run.objects.update(enqueued_at=timezone.now() - timedelta(minutes=5))
    settings.WORKER_CONCURRENCY = before = queue_length("desk")
    sweep()
    assert queue_length("desk") == before + MOST_BESIDE_A_QUEUE

    settings.WORKER_CONCURRENCY = queue_length("desk") + 1
    sweep()
    assert queue_length("desk") == before + MOST_BESIDE_A_QUEUE + left


@pytest.mark.django_db(transaction=True)
def test_what_the_broker_was_not_told_of_is_found_by_the_next_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("connection refused")

    with monkeypatch.context() as patched:
        patched.setattr(Outage, "until", 0.0)
        patched.setattr(current_app, "send_task", away)
        run = given.submitted_run(given.project())
    assert Run.objects.get(pk=run.pk).enqueued_at is None
    assert find_unclaimed() == [run.pk]
