"""Webhooks over REST, with a real receiver."""

from typing import Any

import pytest
from pytest_django import Settings

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import IdempotentAnswer, Scope
from reflection_app.reviews.models import Review
from reflection_app.runs.events import EventType
from reflection_app.runs.models import Run
from reflection_app.teams.models import Delivery, DeliveryState, Webhook
from reflection_app.teams.webhook_sending import send_due
from reflection_app.teams.webhooks import MOST_WEBHOOKS
from tests import given, then
from tests.adapters.outgoing.conftest import loopback
from tests.api.caller import Answer, Caller
from tests.reviews.panels import SECRET_REASON, open_panel, panel_project, people, say
from tests.teams.webhooks import Clock, Receiver, happen, make_webhook

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback", "committing")]
NEVER = {"review.claimed", "review.released", "checks.suggested"}


def made(admin: Caller, url: str, **more: Any) -> Answer:
    answer = admin.post("webhooks", {"url": url, "events": ["run.finished"], **more})
    assert answer.status == 201, answer.body
    return answer


def test_the_secret_is_told_once_and_kept_nowhere_in_plain(admin: Caller) -> None:
    with Receiver() as receiver:
        body = {"url": receiver.url + "/a-secret-path", "events": ["run.finished"]}
        first = admin.post("webhooks", body, idempotency_key="once")
        again = admin.post("webhooks", body, idempotency_key="once")
        assert first.body["webhook"] == again.body["webhook"]
        assert (again.status, again.body["secret"]) == (201, None)
        path = f"webhooks/{first.body['webhook']['id']}"
        rotated = admin.post(f"{path}/rotate", idempotency_key="r").body
        assert admin.post(f"{path}/rotate", idempotency_key="r").body["secret"] is None
    secrets = {first.body["secret"], rotated["secret"]}
    assert len(secrets) == 2
    webhook = Webhook.objects.get()
    kept = [*IdempotentAnswer.objects.values_list("body", flat=True), webhook.ciphertext, webhook.former_ciphertext]
    trail = str(list(AuditEntry.objects.values_list("before", "after")))
    assert not any(secret[6:] in str([*kept, trail]) for secret in secrets)
    assert "a-secret-path" not in trail
    assert rotated["webhook"]["former_secret_until"] is not None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "http://169.254.169.254/latest", "events": ["run.finished"]}, "url"),
        ({"url": "https://a.example/", "events": []}, "events"),
        ({"url": "https://a.example/", "events": ["review.claimed"]}, "events"),
        ({"url": "https://a.example/", "events": ["run.finished"], "description": "x" * 201}, "description"),
    ],
)
def test_what_cannot_be_used_is_refused_by_field(
    admin: Caller, settings: Settings, body: dict[str, Any], field: str
) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ()
    answer = admin.post("webhooks", body)
    then.refused(answer, 400)
    assert then.named_fields(answer) == [field]
    assert not Webhook.objects.exists()


def test_there_are_only_so_many(admin: Caller) -> None:
    with Receiver() as receiver:
        for _ in range(MOST_WEBHOOKS):
            make_webhook(admin.project, receiver.url)
        then.refused(admin.post("webhooks", {"url": receiver.url, "events": ["run.finished"]}), 409)


def test_a_test_is_sent_at_once_and_its_answer_told(admin: Caller) -> None:
    with Receiver("200 OK", body=b"heard you") as receiver:
        told = made(admin, receiver.url).body
        answer = admin.post(f"webhooks/{told['webhook']['id']}/test", idempotency_key="t")
        again = admin.post(f"webhooks/{told['webhook']['id']}/test", idempotency_key="t")
        (believed,) = receiver.believed(told["secret"])
    assert answer.status == 200
    assert (answer.body["type"], answer.body["state"], answer.body["run_id"]) == ("webhook.test", "delivered", None)
    assert [(one["status"], one["answer"], one["error"]) for one in answer.body["log"]] == [(200, "heard you", None)]
    assert believed.body == answer.body["payload"]
    assert believed.body["data"]["project"] == admin.project.slug
    assert (again.body, again.headers["idempotency-replayed"]) == (answer.body, "true")


def test_a_test_that_fails_is_tried_once_and_says_nothing_of_the_webhook(admin: Caller) -> None:
    with Receiver("410 Gone") as receiver:
        webhook, _ = make_webhook(admin.project, receiver.url)
        answer = admin.post(f"webhooks/{webhook.pk}/test")
    assert (answer.body["state"], answer.body["log"][0]["status"]) == ("given_up", 410)
    assert admin.get(f"webhooks/{webhook.pk}").body["state"] == "on"


def test_what_was_sent_is_listed_and_can_be_sent_again(admin: Caller) -> None:
    run = given.submitted_run(admin.project)
    with Receiver() as receiver:
        webhook, secret = make_webhook(admin.project, receiver.url, [EventType.RUN_FINISHED, EventType.RUN_WAITING])
        happen(run, EventType.RUN_WAITING, waiting_for="review")
        happen(run, EventType.RUN_FINISHED, outcome="succeeded")
        assert send_due(webhook.pk) == 2
        base = f"webhooks/{webhook.pk}/deliveries"
        listed = admin.get(base, state="delivered", type="run.finished").body["results"]
        assert [(one["type"], one["run_id"], one["tries"]) for one in listed] == [("run.finished", str(run.pk), 1)]
        assert admin.get(base, state="waiting").body["results"] == []
        then.refused(admin.get(base, state="lost"), 400)
        again = admin.post(f"{base}/{listed[0]['id']}/redeliver")
        assert again.status == 202
        assert again.body["again"] == listed[0]["id"]
        assert send_due(webhook.pk) == 1
        told = receiver.believed(secret)
    first = next(one for one in told if one.id == listed[0]["message_id"])
    assert told[-1].id == again.body["message_id"] != first.id
    assert told[-1].heard.body == first.heard.body
    detail = admin.get(f"{base}/{again.body['id']}").body
    assert (detail["state"], detail["payload"]) == ("delivered", first.body)


def test_of_a_message_that_waits_the_next_try_is_now(admin: Caller) -> None:
    run, clock = given.submitted_run(admin.project), Clock()
    with Receiver("500 Oops", "500 Oops", "200 OK") as receiver:
        webhook, _ = make_webhook(admin.project, receiver.url)
        happen(run)
        send_due(webhook.pk, clock=clock)
        clock.forward(seconds=10)
        send_due(webhook.pk, clock=clock)
        delivery = Delivery.objects.get()
        answer = admin.post(f"webhooks/{webhook.pk}/deliveries/{delivery.pk}/redeliver")
        assert (answer.status, answer.body["id"]) == (202, str(delivery.pk))
        clock.forward(seconds=10)
        assert send_due(webhook.pk, clock=clock) == 1
    assert Delivery.objects.get().tries == 3


def test_nothing_is_sent_again_to_a_webhook_that_is_off(admin: Caller) -> None:
    run = given.submitted_run(admin.project)
    with Receiver("410 Gone") as receiver:
        webhook, _ = make_webhook(admin.project, receiver.url)
        happen(run)
        send_due(webhook.pk)
    delivery = Delivery.objects.get()
    assert delivery.state == DeliveryState.GIVEN_UP
    then.refused(admin.post(f"webhooks/{webhook.pk}/deliveries/{delivery.pk}/redeliver"), 409)


def test_another_webhooks_delivery_is_not_found_under_this_one(admin: Caller) -> None:
    run = given.submitted_run(admin.project)
    with Receiver() as receiver:
        webhook, _ = make_webhook(admin.project, receiver.url)
        other, _ = make_webhook(admin.project, receiver.url, [EventType.RUN_WAITING])
        happen(run)
    delivery = Delivery.objects.get(webhook=webhook)
    then.refused(admin.get(f"webhooks/{other.pk}/deliveries/{delivery.pk}"), 404)


def test_a_decision_that_a_receiver_was_told_of_is_not_taken_back() -> None:
    project = given.project()
    reviewer = given.caller(project, [Scope.REVIEWS_WRITE])
    with Receiver() as receiver:
        webhook, _ = make_webhook(project, receiver.url, [EventType.REVIEW_DECIDED])
        review = given.waiting_review(project)
        held = reviewer.post("reviews/claim").body
        assert held["review"]["id"] == str(review.pk)
        body = {"lease_token": held["lease_token"], "decision": "overrule", "verdict": "PASS", "reason": "It is fine."}
        assert reviewer.post(f"reviews/{review.pk}/decision", body).status == 200
        told_before = Run.objects.get(pk=review.run_id).told_seq
        decided = Review.objects.get(pk=review.pk).decided_seq
        assert decided is not None
        assert told_before < decided
        assert send_due(webhook.pk) == 1
    assert Run.objects.get(pk=review.run_id).told_seq == decided
    then.refused(reviewer.post(f"reviews/{review.pk}/undo"), 409)


def test_a_message_about_what_came_before_a_decision_does_not_tell_of_it() -> None:
    project = given.project()
    reviewer = given.caller(project, [Scope.REVIEWS_WRITE])
    with Receiver() as receiver:
        webhook, secret = make_webhook(project, receiver.url, [EventType.REVIEW_OPENED])
        review = given.waiting_review(project)
        held = reviewer.post("reviews/claim").body
        body = {"lease_token": held["lease_token"], "decision": "overrule", "verdict": "PASS", "reason": "It is fine."}
        assert reviewer.post(f"reviews/{review.pk}/decision", body).status == 200
        assert send_due(webhook.pk) == 1
        (told,) = receiver.believed(secret)
    assert told.body["data"]["payload"]["review"] == str(review.pk)
    assert Run.objects.get(pk=review.run_id).told_seq == 0
    assert reviewer.post(f"reviews/{review.pk}/undo").status == 200


def test_what_is_said_blindly_is_not_told_before_the_last_has_spoken() -> None:
    project = panel_project(reviewers=2)
    with Receiver() as receiver:
        webhook, secret = make_webhook(project, receiver.url, [kind for kind in EventType if kind.value not in NEVER])
        panel = open_panel(project, reviewers=2)
        actor = people(project, 1)[0]
        seat = say(panel, actor)
        assert send_due(webhook.pk) > 0
        told = receiver.believed(secret)
    opinions = [one.body for one in told if one.body["type"] == "review.opinion"]
    assert [one["data"]["payload"] for one in opinions] == [{"review": str(seat.pk), "given": 1, "wanted": 2}]
    after = told[[one.body["type"] for one in told].index("review.opinion") :]
    assert not any(word in str(one.body) for one in after for word in (SECRET_REASON, "approve", actor.label))
