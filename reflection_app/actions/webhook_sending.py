"""Sending what webhooks are told, one delivery after the other, each held by a lease.

A message may arrive twice (a worker that dies after sending has noted nothing) and in any order; it is the same message
by its id. Nothing is locked while a receiver is waited for.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from reflection_app.actions.told import mark_event_told
from reflection_app.actions.webhook_outcome import Tried, record
from reflection_app.actions.webhook_payload import body_of, event_message
from reflection_app.actions.webhook_retries import hold_s
from reflection_app.actions.webhook_secrets import SecretUnreadable, signing_secrets
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import OF_THE_DESK
from reflection_app.models import Delivery, DeliveryState, DeliveryTry, Event, Webhook
from reflection_app.outgoing import OutgoingError, Posted, post, signed_headers

DEADLINE_S = 15.0
LEASE = timedelta(seconds=60)
# To one receiver at once; while nothing arrives there, one.
MOST_AT_ONCE = 4
# Then other receivers have their turn.
SLICE_S = 10.0
MOST_ASKED = 500
LONGEST_ANSWER = 2_000
DESKS_OWN = {mode.value for mode in OF_THE_DESK}

Clock = Callable[[], datetime]


def due_webhooks(now: datetime) -> list[UUID]:
    """The webhooks that are to be sent something now, who has waited longest first."""
    webhooks = Webhook.objects.filter(is_enabled=True, paused_at=None, project__deleted_at=None)
    # Asked webhook by webhook: one of them may have very many waiting.
    first = _due(now).filter(webhook=OuterRef("pk")).order_by("next_at", "id").values("next_at")[:1]
    waited = webhooks.annotate(longest=Subquery(first)).filter(longest__isnull=False).order_by("longest", "pk")
    return list(waited.values_list("pk", flat=True)[:MOST_ASKED])


def send_due(webhook_id: UUID, *, clock: Clock = timezone.now) -> int:
    """Sends what is due to one webhook, for a while or until it fails; how much arrived."""
    ends, arrived = time.monotonic() + SLICE_S, 0
    while time.monotonic() < ends and (delivery := claim(webhook_id, now=clock())):
        if not send_one(delivery, clock=clock):
            break
        arrived += 1
    return arrived


@transaction.atomic
def claim(webhook_id: UUID, *, now: datetime) -> Delivery | None:
    """The next delivery that is due to the webhook, held from now on; None where there is none, or enough are held."""
    webhooks = Webhook.objects.select_for_update(of=("self",), no_key=True)
    webhook = webhooks.filter(pk=webhook_id, is_enabled=True, paused_at=None, project__deleted_at=None).first()
    if webhook is None:
        return None
    waiting = Delivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING)
    if waiting.filter(lease_until__gt=now).count() >= (1 if webhook.failing_since else MOST_AT_ONCE):
        return None
    if webhook.failing_since is not None and _rests(webhook.pk, webhook.failing_since, now=now):
        return None
    delivery = _due(now).filter(webhook=webhook).order_by("next_at", "id").select_for_update(skip_locked=True).first()
    if delivery is not None:
        delivery.lease_until = now + LEASE
        delivery.save(update_fields=["lease_until"])
    return delivery


def _rests(webhook_id: UUID, failing_since: datetime, *, now: datetime) -> bool:
    """Whether a receiver that fails is left alone for now: it must not keep workers busy that others need."""
    tries = DeliveryTry.objects.filter(delivery__webhook=webhook_id, delivery__state=DeliveryState.WAITING)
    last = tries.order_by("-created_at").values_list("created_at", flat=True).first()
    return last is not None and now < last + timedelta(seconds=hold_s(last - failing_since))


def send_one(delivery: Delivery, *, clock: Clock = timezone.now, deadline_s: float = DEADLINE_S) -> bool:
    """Sends a delivery that the caller holds, and notes what came of it; whether it arrived, or was nobody's news."""
    message = _message_of(delivery)
    if message is None:
        return True
    return record(delivery, _try(delivery, body_of(message), deadline_s=deadline_s, now=clock()), now=clock())


def _due(now: datetime) -> QuerySet[Delivery]:
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    return Delivery.objects.filter(free, state=DeliveryState.WAITING, next_at__lte=now)


@transaction.atomic
def _message_of(delivery: Delivery) -> dict[str, object] | None:
    """What is sent, kept for every further try; None where the delivery is gone, for there is nothing to tell.

    From here on the receiver may know of it, so this is noted first. What the desk does by itself about other work is
    in no list of runs either.
    """
    events = Event.objects.select_related("run__task", "project").defer("run__spec")
    event = events.filter(pk=delivery.event_id).first() if delivery.event_id else None
    if event is not None:
        if event.run.mode in DESKS_OWN:
            delivery.delete()
            return None
        mark_event_told(event)
    if delivery.payload is None:
        if event is None:
            # The run was deleted before anybody was told of it.
            delivery.delete()
            return None
        delivery.payload = event_message(event)
        Delivery.objects.filter(pk=delivery.pk).update(payload=delivery.payload)
    payload: dict[str, object] = delivery.payload
    return payload


def _try(delivery: Delivery, body: bytes, *, deadline_s: float, now: datetime) -> Tried:
    """One request, and what came back."""
    webhook = Webhook.objects.get(pk=delivery.webhook_id)
    began = time.monotonic()
    try:
        secrets = signing_secrets(webhook, now=now)
        signed = signed_headers(body, message_id=delivery.message_id, timestamp_s=int(now.timestamp()), secrets=secrets)
        answer = post(webhook.url, body, headers=signed | {"Content-Type": "application/json"}, deadline_s=deadline_s)
    except (OutgoingError, SecretUnreadable) as error:
        return Tried(error=storable(str(error)), duration_s=time.monotonic() - began)
    return _answered(answer, duration_s=time.monotonic() - began)


def _answered(answer: Posted, *, duration_s: float) -> Tried:
    text = storable(answer.text)[:LONGEST_ANSWER]
    return Tried(status=answer.status, answer=text, retry_after=answer.retry_after, duration_s=duration_s)
