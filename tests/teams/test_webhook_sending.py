"""Messages to receivers: signed, tried again, held by one worker at a time."""

import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from reflection_app.adapters.outgoing import addresses
from reflection_app.config.jobs import receivers, send_to_webhook
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Role
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from reflection_app.teams import webhook_sending
from reflection_app.teams.models import Delivery, DeliveryState, Notification, NotificationKind, Webhook
from reflection_app.teams.webhook_sending import (
    GONE,
    MOST_TRIES,
    NOTHING_ARRIVED,
    claim,
    due_webhooks,
    send_due,
    send_one,
)
from reflection_app.teams.webhooks import WebhookChange, change_webhook, resume_webhook
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.adapters.outgoing.server import Heard, RawServer, reply
from tests.pace import PATIENCE_S
from tests.teams.webhooks import Clock, Receiver, happen, make_webhook, only_delivery

__all__ = ["loopback"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback", "committing")]


@pytest.fixture
def run() -> Run:
    return given.submitted_run(given.project("desk"), external_id="ticket-7", agent="writer")


def test_what_happened_arrives_signed_and_says_of_which_run(run: Run) -> None:
    with Receiver() as receiver:
        webhook, secret = make_webhook(run.project, receiver.url + "/hook?of=desk")
        happen(run, outcome="succeeded", best_attempt=1)
        assert send_due(webhook.pk) == 1
        (told,) = receiver.believed(secret)

    event = Event.objects.get(type=EventType.RUN_FINISHED)
    assert told.heard.method == "POST"
    assert told.heard.path == "/hook?of=desk"
    assert told.heard.headers["content-type"] == "application/json"
    assert told.body["type"] == "run.finished"
    assert datetime.fromisoformat(told.body["timestamp"]) == event.created_at
    data = told.body["data"]
    assert data["run_id"] == str(run.pk)
    assert data["task_id"] == str(run.task_id)
    assert data["seq"] == event.seq
    assert (data["project"], data["external_id"], data["agent"]) == ("desk", "ticket-7", "writer")
    assert data["payload"] == {"outcome": "succeeded", "best_attempt": 1}
    assert data["page"].endswith(f"/p/desk/runs/{run.pk}/")
    delivery = only_delivery()
    assert told.id == delivery.message_id
    assert (delivery.state, delivery.tries, delivery.next_at) == (DeliveryState.DELIVERED, 1, None)
    assert delivery.log.get().status == 204


def test_only_what_was_asked_for_of_its_own_project_is_sent(run: Run) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url, [EventType.RUN_WAITING])
        other, _ = make_webhook(given.project(), receiver.url)
        happen(run, EventType.RUN_FINISHED)
        happen(run, EventType.RUN_WAITING)
        assert [send_due(webhook.pk), send_due(other.pk)] == [1, 0]
    assert [delivery.type for delivery in Delivery.objects.all()] == ["run.waiting"]


def test_of_what_was_taken_back_nothing_is_sent(run: Run) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        with transaction.atomic():
            happen(run)
            assert Delivery.objects.count() == 1
            transaction.set_rollback(True)
        assert send_due(webhook.pk) == 0
    assert not receiver.heard
    assert not Delivery.objects.exists()


def test_a_failed_try_comes_again_the_same_and_then_arrives(run: Run) -> None:
    clock = Clock()
    with Receiver("500 Oops", "204 No Content", body=b"<b>no</b>\x00") as receiver:
        webhook, secret = make_webhook(run.project, receiver.url)
        happen(run, outcome="failed")
        assert send_due(webhook.pk, clock=clock) == 0
        delivery = only_delivery()
        assert (delivery.state, delivery.tries) == (DeliveryState.WAITING, 1)
        assert delivery.log.get().answer == "<b>no</b>\N{REPLACEMENT CHARACTER}"
        assert delivery.next_at is not None
        assert 5 <= (delivery.next_at - clock.now).total_seconds() <= 6
        assert Webhook.objects.get().failing_since == clock.now

        clock.forward(seconds=2)
        assert due_webhooks(clock.now) == []
        assert send_due(webhook.pk, clock=clock) == 0
        assert len(receiver.heard) == 1

        # What its run becomes meanwhile changes no message.
        Task.objects.update(agent="another", external_id="another")
        clock.forward(seconds=10)
        assert due_webhooks(clock.now) == [webhook.pk]
        assert send_due(webhook.pk, clock=clock) == 1
        first, second = receiver.believed(secret)
    assert first.id == second.id
    assert first.heard.body == second.heard.body
    assert Webhook.objects.get().failing_since is None
    assert only_delivery().tries == 2


def test_it_is_given_up_after_the_last_try(run: Run) -> None:
    clock = Clock()
    with Receiver("500 Oops") as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        for _ in range(MOST_TRIES):
            assert send_due(webhook.pk, clock=clock) == 0
            # As where something else has arrived meanwhile, so that the receiver is not paused.
            Webhook.objects.update(failing_since=None)
            clock.forward(hours=13)
        assert send_due(webhook.pk, clock=clock) == 0
        assert len(receiver.heard) == MOST_TRIES
    delivery = only_delivery()
    assert (delivery.state, delivery.tries, delivery.next_at) == (DeliveryState.GIVEN_UP, MOST_TRIES, None)
    assert delivery.log.count() == MOST_TRIES


def test_after_a_day_without_any_success_it_is_paused_and_admins_are_told(run: Run) -> None:
    admin, _ = given.member(run.project, Role.ADMIN), given.member(run.project, Role.CURATOR)
    clock = Clock()
    with Receiver("500 Oops") as receiver:
        webhook, _ = make_webhook(run.project, receiver.url + "/a-secret-path")
        happen(run)
        for _ in range(MOST_TRIES):
            send_due(webhook.pk, clock=clock)
            clock.forward(hours=12.1)
        paused = Webhook.objects.get()
        assert paused.paused_at is not None
        assert paused.pause_reason == NOTHING_ARRIVED
        heard = len(receiver.heard)
        assert heard == 3
        # What happens meanwhile waits, and is sent once somebody resumes.
        happen(run)
        assert send_due(webhook.pk, clock=clock) == 0
        assert due_webhooks(clock.now) == []
        receiver.statuses[:] = ["200 OK"]
        resume_webhook(webhook, actor=Actor())
        assert send_due(webhook.pk, clock=clock) == 2
    notice = Notification.objects.get()
    assert (notice.user, notice.kind, notice.about_id) == (admin, NotificationKind.WEBHOOK_PAUSED, webhook.pk)
    assert AuditEntry.objects.filter(action="webhook.paused").count() == 1
    assert "a-secret-path" not in str(notice.facts)
    assert "a-secret-path" not in str(list(AuditEntry.objects.values_list("before", "after")))


def test_410_switches_it_off_and_what_waits_is_given_up(run: Run) -> None:
    given.member(run.project, Role.ADMIN)
    with Receiver("200 OK", "410 Gone") as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        for _ in range(10):
            happen(run)
        assert send_due(webhook.pk) == 1
        happen(run)
    off = Webhook.objects.get()
    assert (off.is_enabled, off.pause_reason) == (False, GONE)
    assert Delivery.objects.filter(state=DeliveryState.GIVEN_UP).count() == 9
    assert Delivery.objects.count() == 10
    assert Notification.objects.get().kind == NotificationKind.WEBHOOK_GONE
    assert AuditEntry.objects.filter(action="webhook.switched_off").count() == 1


def test_a_redirect_is_not_followed(run: Run) -> None:
    with Receiver() as other, Receiver("308 Permanent", location=other.url + "/elsewhere") as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        assert send_due(webhook.pk) == 0
    assert not other.heard
    entry = only_delivery().log.get()
    assert entry.status == 308
    assert "not followed" in entry.error


def test_a_name_that_turns_to_a_private_address_after_the_check_is_refused_when_sent(
    run: Run, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ()
    answers = [["93.184.216.34"]]
    monkeypatch.setattr(addresses, "look_up", lambda host, port: answers[-1])
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, f"http://rebinding.example:{receiver.port}/")
        happen(run)
        for address in (["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"]):
            answers.append(address)
            Delivery.objects.update(next_at=datetime.now(UTC) - timedelta(seconds=1))
            Webhook.objects.update(failing_since=None)
            assert send_due(webhook.pk) == 0
    assert not receiver.heard
    errors = list(only_delivery().log.values_list("error", flat=True))
    assert len(errors) == 4
    assert all("not on the public internet" in error for error in errors)


def test_a_worker_that_died_after_sending_sends_the_same_message_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    def die(*_: Any, **__: Any) -> bool:
        raise SystemExit

    with Receiver() as receiver:
        webhook, secret = make_webhook(run.project, receiver.url)
        happen(run)
        with monkeypatch.context() as killed:
            killed.setattr(webhook_sending, "record", die)
            with pytest.raises(SystemExit):
                send_due(webhook.pk, clock=clock)
        assert only_delivery().tries == 0
        # It is still held by the one that died.
        assert send_due(webhook.pk, clock=clock) == 0
        clock.forward(seconds=61)
        assert send_due(webhook.pk, clock=clock) == 1
        first, second = receiver.believed(secret)
    assert first.id == second.id
    assert first.heard.body == second.heard.body
    assert only_delivery().tries == 1


def test_whoever_lost_the_hold_notes_nothing(run: Run) -> None:
    clock = Clock()
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        (slow,) = claim(webhook.pk, now=clock.now)
        clock.forward(seconds=61)
        assert send_due(webhook.pk, clock=clock) == 1
        assert send_one(slow, clock=clock) is False
    assert only_delivery().tries == 1


def test_two_workers_do_not_take_the_same_delivery(run: Run) -> None:
    now = datetime.now(UTC)
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        for _ in range(webhook_sending.MOST_AT_ONCE + 2):
            happen(run)
        now = datetime.now(UTC)
        taken = [claim(webhook.pk, now=now, most=5) for _ in range(8)]
    held = [delivery.pk for some in taken for delivery in some]
    assert len(set(held)) == len(held) == webhook_sending.MOST_AT_ONCE


def test_nothing_more_goes_to_an_address_that_was_changed_meanwhile(run: Run) -> None:
    with Receiver() as old, Receiver() as new:
        webhook, secret = make_webhook(run.project, old.url)
        happen(run)
        change_webhook(webhook, WebhookChange(url=new.url), actor=Actor())
        assert claim(webhook.pk, now=datetime.now(UTC), url=old.url) == []
        assert send_due(webhook.pk) == 1
        assert len(new.believed(secret)) == 1
    assert not old.heard


def test_ends_are_told_before_steps_however_many_wait(run: Run) -> None:
    with Receiver() as receiver:
        webhook, secret = make_webhook(run.project, receiver.url, [EventType.STEP_FINISHED, EventType.RUN_FINISHED])
        for _ in range(40):
            happen(run, EventType.STEP_FINISHED)
        happen(run, EventType.RUN_FINISHED)
        assert send_due(webhook.pk) == 41
        kinds = [told.body["type"] for told in receiver.believed(secret)]
    assert kinds == ["run.finished", *["step.finished"] * 40]


def test_what_fails_among_many_is_sent_again_and_nothing_else(run: Run) -> None:
    clock = Clock()
    with Receiver("200 OK", "200 OK", "500 Oops", "200 OK") as receiver:
        webhook, secret = make_webhook(run.project, receiver.url)
        for _ in range(6):
            happen(run)
        assert send_due(webhook.pk, clock=clock) == 5
        clock.forward(seconds=20)
        assert send_due(webhook.pk, clock=clock) == 1
        ids = [told.id for told in receiver.believed(secret)]
    assert len(ids) == 7
    assert len(set(ids)) == 6
    assert set(Delivery.objects.values_list("state", "tries")) == {("delivered", 1), ("delivered", 2)}
    assert Webhook.objects.get().failing_since is None


@pytest.mark.django_db(transaction=True)
def test_connections_are_kept_and_one_that_was_given_up_loses_nothing(run: Run) -> None:
    class Keeping(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        opened: ClassVar[list[int]] = []
        heard: ClassVar[list[str]] = []

        def setup(self) -> None:
            super().setup()
            self.opened.append(1)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.heard.append(self.headers["webhook-id"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            # Without a word, as servers do whose patience with a connection is over.
            self.close_connection = len(self.heard) % 10 == 0

        def log_message(self, *_: object) -> None:
            """Nothing."""

    class Patient(ThreadingHTTPServer):
        # The library's own 5 are fewer than connect at once here: the kernel then resets some of them.
        request_queue_size = 128

    server = Patient(("127.0.0.1", 0), Keeping)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        webhook, _ = make_webhook(run.project, f"http://127.0.0.1:{server.server_port}/")
        for _ in range(100):
            happen(run)
        arrived = 0
        while arrived < 100:
            # As much as a slice of time has room for.
            arrived += (sent := send_due(webhook.pk))
            assert sent
    finally:
        server.shutdown()
        server.server_close()
    assert set(Keeping.heard) == {delivery.message_id for delivery in Delivery.objects.all()}
    assert len(Keeping.opened) < 60


def test_a_receiver_that_fails_is_asked_by_one_at_a_time_and_left_alone_in_between(run: Run) -> None:
    clock = Clock()
    with Receiver("500 Oops") as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        happen(run)
        send_due(webhook.pk, clock=clock)
        assert send_due(webhook.pk, clock=clock) == 0
        assert len(receiver.heard) == 1
        clock.forward(seconds=10)
        assert len(claim(webhook.pk, now=clock.now, most=5)) == 1
        assert claim(webhook.pk, now=clock.now) == []


@pytest.mark.django_db(transaction=True)
def test_a_slow_receiver_does_not_hold_up_another(run: Run) -> None:
    release = threading.Event()

    def wait(heard: Heard, sock: Any) -> None:
        release.wait(PATIENCE_S)
        reply(status="200 OK")(heard, sock)

    def in_thread(webhook: Webhook) -> None:
        try:
            send_due(webhook.pk)
        finally:
            connection.close()

    with RawServer(wait) as slow, Receiver() as quick:
        first, _ = make_webhook(run.project, slow.url)
        second, _ = make_webhook(run.project, quick.url)
        happen(run)
        waiting = threading.Thread(target=in_thread, args=(first,))
        waiting.start()
        while not slow.heard:
            time.sleep(0.01)
        assert send_due(second.pk) == 1
        assert waiting.is_alive()
        release.set()
        waiting.join()
    assert Delivery.objects.filter(state=DeliveryState.DELIVERED).count() == 2


def test_where_too_many_receivers_are_waited_for_the_others_are_asked_later(run: Run) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        taken = 0
        while receivers.acquire(blocking=False):
            taken += 1
        try:
            send_to_webhook(str(webhook.pk))
            assert not receiver.heard
        finally:
            receivers.release(taken)
        send_to_webhook(str(webhook.pk))
        assert len(receiver.heard) == 1


def test_an_answer_that_never_ends_counts_by_its_status(run: Run) -> None:
    def endless(_heard: Heard, sock: Any) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
        for _piece in range(2_000):
            sock.sendall(b"x" * 4_096)

    with RawServer(endless) as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        happen(run)
        assert send_due(webhook.pk) == 1
    assert only_delivery().log.get().answer == "x" * 2_000


def test_a_time_to_wait_that_makes_no_sense_costs_nobody_their_outcome(run: Run) -> None:
    with Receiver("200 OK", "503 Busy", "200 OK", retry_after="1 Jan 2020 00:00:00 +999999999999999") as receiver:
        webhook, _ = make_webhook(run.project, receiver.url)
        for _ in range(6):
            happen(run)
        assert send_due(webhook.pk) == 5
    assert Delivery.objects.get(state=DeliveryState.WAITING).tries == 1


def test_a_receiver_that_somebody_waits_for_has_one_sender(run: Run) -> None:
    now = Clock()()
    webhook, _ = make_webhook(run.project, "http://127.0.0.1:1/")
    for _ in range(3):
        happen(run)
    assert due_webhooks(now) == [webhook.pk]
    assert len(claim(webhook.pk, now=now)) == 1
    assert due_webhooks(now + timedelta(seconds=1)) == [webhook.pk]
    assert due_webhooks(now + timedelta(seconds=5)) == []
    # By then the sender has died.
    assert due_webhooks(now + timedelta(seconds=30)) == [webhook.pk]


def test_a_receiver_that_breaks_a_new_connection_off_is_asked_once_a_try(run: Run) -> None:
    said = [reply()]

    def once(heard: Heard, connection: socket.socket) -> None:
        if said:
            said.pop()(heard, connection)

    with RawServer(once) as server:
        webhook, _ = make_webhook(run.project, server.url)
        for _ in range(4):
            happen(run)
        assert send_due(webhook.pk) == 1
        assert len(server.heard) == 4
    assert list(Delivery.objects.filter(state=DeliveryState.WAITING).values_list("tries", flat=True)) == [1, 1, 1]
