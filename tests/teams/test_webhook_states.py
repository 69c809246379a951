"""What becomes of messages while a webhook changes: paused, switched off, moved, with another secret, deleted."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from pytest_django import Settings
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.models import Run
from reflection_app.teams.models import Delivery, DeliveryState, Webhook
from reflection_app.teams.webhook_sending import due_webhooks, send_due, switch_off_forgotten
from reflection_app.teams.webhooks import (
    WebhookChange,
    change_webhook,
    delete_webhook,
    rotate_secret,
)
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.pace import PATIENCE_S
from tests.teams.webhooks import Clock, Receiver, happen, make_webhook, only_delivery

__all__ = ["loopback"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback", "committing")]


@pytest.fixture
def run() -> Run:
    return given.submitted_run(given.project("desk"), external_id="ticket-7", agent="writer")


def test_while_receivers_change_over_both_secrets_sign(run: Run) -> None:
    clock = Clock()
    with Receiver() as receiver:
        webhook, old = make_webhook(run.project, receiver.url)
        _, new = rotate_secret(webhook, actor=Actor())
        happen(run)
        assert send_due(webhook.pk, clock=clock) == 1
        assert receiver.believed(old)[0].body == receiver.believed(new)[0].body
        clock.forward(hours=25)
        happen(run)
        assert send_due(webhook.pk, clock=clock) == 1
        late = receiver.heard[1]
    signatures = late.headers["webhook-signature"].split(" ")
    assert len(signatures) == 1
    sent_at = datetime.fromtimestamp(int(late.headers["webhook-timestamp"]), UTC)
    assert Verifier(new).sign(late.headers["webhook-id"], sent_at, late.body.decode()) == signatures[0]
    with pytest.raises(WebhookVerificationError):
        receiver.believed(make_webhook(run.project, receiver.url)[1])


def test_a_secret_that_cannot_be_read_any_more_is_told_as_the_reason(run: Run, settings: Settings) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        settings.SECRET_KEY = "another"
        assert send_due(webhook.pk) == 0
    assert not receiver.heard
    assert "SECRET_KEY has changed" in only_delivery().log.get().error


def test_what_nobody_resumes_is_switched_off_in_the_end(run: Run) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        other, _ = make_webhook(run.project, receiver.url)
    happen(run)
    now = datetime.now(UTC)
    Webhook.objects.update(paused_at=now)
    Webhook.objects.filter(pk=webhook.pk).update(paused_at=now - timedelta(days=31))
    assert switch_off_forgotten(now) == 1
    assert list(Webhook.objects.filter(is_enabled=True)) == [other]
    assert Delivery.objects.get(webhook=webhook).state == DeliveryState.GIVEN_UP
    assert Delivery.objects.get(webhook=other).state == DeliveryState.WAITING


def test_switched_off_nothing_is_written_and_what_waits_is_given_up(run: Run) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        change_webhook(webhook, WebhookChange(is_enabled=False), actor=Actor())
        happen(run)
        change_webhook(webhook, WebhookChange(is_enabled=True), actor=Actor())
        assert send_due(webhook.pk) == 0
    assert [one.state for one in Delivery.objects.all()] == [DeliveryState.GIVEN_UP]


def test_a_deleted_project_is_told_of_no_more(run: Run) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        Project.objects.update(deleted_at=datetime.now(UTC))
        assert due_webhooks(datetime.now(UTC)) == []
        assert send_due(webhook.pk) == 0


def test_of_a_run_that_was_deleted_before_it_was_told_nothing_is_told(run: Run) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        run.task.delete()
        send_due(webhook.pk)
    assert not receiver.heard
    assert not Delivery.objects.exists()


def test_what_the_desk_does_by_itself_about_other_work_is_not_told(run: Run) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        Run.objects.update(mode="error_reflection")
        happen(run)
        send_due(webhook.pk)
    assert not receiver.heard


@pytest.mark.django_db(transaction=True)
def test_deleting_a_webhook_waits_for_the_change_that_is_just_writing_to_it(run: Run) -> None:
    """Else the change's own commit would fail for a webhook that is gone."""
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
    wrote, done = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def change() -> None:
        try:
            with transaction.atomic():
                happen(run)
                wrote.set()
                done.wait(1)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)
        finally:
            connection.close()

    changing = threading.Thread(target=change)
    changing.start()
    assert wrote.wait(PATIENCE_S)
    delete_webhook(webhook, actor=Actor())
    done.set()
    changing.join()
    assert failures == []
    assert Event.objects.filter(type=EventType.RUN_FINISHED).count() == 1
    assert not Webhook.objects.exists()
    assert not Delivery.objects.exists()
