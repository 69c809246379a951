"""Sending what webhooks are told, to each receiver several at once, all held by leases.

A message may arrive twice (a worker that dies after sending has noted nothing) and in any order; it is the same message
by its id. Nothing is locked while a receiver is waited for.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from reflection_app.adapters.outgoing import Message, OutgoingError, Posted, Receiver, signed_headers
from reflection_app.core.events import Event
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import OF_THE_DESK
from reflection_app.runs.batch import Batch
from reflection_app.runs.told import mark_events_told
from reflection_app.teams.models.webhook import OF_STEPS, Delivery, DeliveryState, DeliveryTry, Webhook
from reflection_app.teams.webhook_outcome import Tried, record
from reflection_app.teams.webhook_payload import body_of, event_message
from reflection_app.teams.webhook_retries import hold_s
from reflection_app.teams.webhook_secrets import SecretUnreadable, signing_secrets

DEADLINE_S = 15.0
LEASE = timedelta(seconds=60)
# To one receiver, by all workers together; while nothing arrives there, one.
MOST_AT_ONCE = 32
# A receiver that takes this long has one sender, so that slow ones take few threads. Who holds for longer than a slice
# and a request has died.
SLOW_S = 2.0
# In one go, once a first one has arrived.
TOGETHER = 16
# Then other receivers have their turn.
SLICE_S = 10.0
MOST_ASKED = 500
LONGEST_ANSWER = 2_000
DESKS_OWN = {mode.value for mode in OF_THE_DESK}

Clock = Callable[[], datetime]


def due_webhooks(now: datetime) -> list[UUID]:
    """The webhooks that are to be sent something now, who has waited longest first."""
    webhooks = Webhook.objects.filter(is_enabled=True, paused_at=None, project__deleted_at=None)
    of_webhook = Delivery.objects.filter(webhook=OuterRef("pk"), state=DeliveryState.WAITING)
    held_since = now + LEASE - timedelta(seconds=SLOW_S)
    held_until = now + LEASE - timedelta(seconds=SLICE_S + DEADLINE_S + 1)
    webhooks = webhooks.exclude(Exists(of_webhook.filter(lease_until__range=(held_until, held_since))))
    # Asked webhook by webhook: one of them may have very many waiting.
    first = _due(now).filter(webhook=OuterRef("pk")).order_by("next_at", "id").values("next_at")[:1]
    waited = webhooks.annotate(longest=Subquery(first)).filter(longest__isnull=False).order_by("longest", "pk")
    return list(waited.values_list("pk", flat=True)[:MOST_ASKED])


def send_due(webhook_id: UUID, *, clock: Clock = timezone.now) -> int:
    """Sends what is due to one webhook, for a while or until something fails; how much arrived."""
    webhook = Webhook.objects.filter(pk=webhook_id).first()
    if webhook is None:
        return 0
    ends, arrived, most = time.monotonic() + SLICE_S, 0, 1
    with Receiver(webhook.url, deadline_s=DEADLINE_S) as receiver:
        while time.monotonic() < ends and (held := claim(webhook_id, now=clock(), most=most, url=webhook.url)):
            done = _send(held, receiver, clock=clock)
            arrived += len(done)
            if len(done) < len(held):
                break
            most = TOGETHER
    return arrived


@transaction.atomic
def claim(webhook_id: UUID, *, now: datetime, most: int = 1, url: str | None = None) -> list[Delivery]:
    """The next deliveries that are due to the webhook, held from now on: ends and reviews before steps.

    Empty where nothing is due, enough are held, or the webhook has another address by now than `url`.
    """
    webhooks = Webhook.objects.select_for_update(of=("self",), no_key=True)
    webhook = webhooks.filter(pk=webhook_id, is_enabled=True, paused_at=None, project__deleted_at=None).first()
    if webhook is None or (url is not None and webhook.url != url):
        return []
    held = Delivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING, lease_until__gt=now).count()
    room = min(most, (1 if webhook.failing_since else MOST_AT_ONCE) - held)
    if room <= 0:
        return []
    if webhook.failing_since is not None and _rests(webhook.pk, webhook.failing_since, now=now):
        return []
    found: list[Delivery] = []
    for which in (~OF_STEPS, OF_STEPS):
        due = _due(now).filter(which, webhook=webhook).order_by("next_at", "id")
        found += due.select_for_update(skip_locked=True)[: room - len(found)] if len(found) < room else []
    for delivery in found:
        delivery.lease_until = now + LEASE
    Delivery.objects.filter(pk__in=[delivery.pk for delivery in found]).update(lease_until=now + LEASE)
    return found


def _rests(webhook_id: UUID, failing_since: datetime, *, now: datetime) -> bool:
    """Whether a receiver that fails is left alone for now: it must not keep workers busy that others need."""
    tries = DeliveryTry.objects.filter(delivery__webhook=webhook_id, delivery__state=DeliveryState.WAITING)
    last = tries.order_by("-created_at").values_list("created_at", flat=True).first()
    return last is not None and now < last + timedelta(seconds=hold_s(last - failing_since))


def send_one(delivery: Delivery, *, clock: Clock = timezone.now, deadline_s: float = DEADLINE_S) -> bool:
    """Sends a delivery that the caller holds, and notes what came of it; whether it arrived, or was nobody's news."""
    with Receiver(delivery.webhook.url, deadline_s=deadline_s) as receiver:
        return bool(_send([delivery], receiver, clock=clock))


def _due(now: datetime) -> QuerySet[Delivery]:
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    return Delivery.objects.filter(free, state=DeliveryState.WAITING, next_at__lte=now)


def _send(held: Sequence[Delivery], receiver: Receiver, *, clock: Clock) -> set[UUID]:
    """Sends deliveries of one webhook, all at once, and notes what came of it; which arrived or were nobody's news."""
    to_send = _with_payloads(held)
    nobodys_news = {delivery.pk for delivery in held} - {delivery.pk for delivery in to_send}
    if not to_send:
        return nobodys_news
    tried = _try(to_send, receiver, now=clock())
    return nobodys_news | record(tried, now=clock())


@transaction.atomic
def _with_payloads(held: Sequence[Delivery]) -> list[Delivery]:
    """Those of the deliveries that tell somebody something, each with what is sent, kept for every further try.

    From here on the receiver may know of it, so this is noted first. What the desk does by itself about other work is
    in no list of runs either, and a run that was deleted before anybody was told of it is nobody's news.
    """
    rows = Event.objects.select_related("run__task", "project").defer("run__spec")
    events = rows.in_bulk([delivery.event_id for delivery in held if delivery.event_id])
    batch, to_send, gone = Batch(), [], []
    for delivery in held:
        event = events.get(delivery.event_id) if delivery.event_id else None
        if event is not None and event.run.mode in DESKS_OWN:
            gone.append(delivery.pk)
            continue
        if delivery.payload is None:
            if event is None:
                gone.append(delivery.pk)
                continue
            delivery.payload = event_message(event)
            batch.update(delivery, fields=("payload",))
        to_send.append(delivery)
    told = {delivery.event_id for delivery in to_send}
    mark_events_told([event for event in events.values() if event.pk in told])
    batch.write()
    if gone:
        Delivery.objects.filter(pk__in=gone).delete()
    return to_send


def _try(to_send: Sequence[Delivery], receiver: Receiver, *, now: datetime) -> list[tuple[Delivery, Tried]]:
    """One request for each, and what came back."""
    began = time.monotonic()
    try:
        secrets = signing_secrets(Webhook.objects.get(pk=to_send[0].webhook_id), now=now)
    except SecretUnreadable as error:
        return [(delivery, Tried(error=storable(str(error)))) for delivery in to_send]
    messages = [_message(delivery, now=now, secrets=secrets) for delivery in to_send]
    outcomes = receiver.post(messages)
    took_s = time.monotonic() - began
    return [(delivery, _tried(outcome, duration_s=took_s)) for delivery, outcome in zip(to_send, outcomes, strict=True)]


def _message(delivery: Delivery, *, now: datetime, secrets: Sequence[str]) -> Message:
    assert delivery.payload is not None
    body = body_of(delivery.payload)
    signed = signed_headers(body, message_id=delivery.message_id, timestamp_s=int(now.timestamp()), secrets=secrets)
    return Message(body, signed | {"Content-Type": "application/json"})


def _tried(outcome: Posted | OutgoingError, *, duration_s: float) -> Tried:
    if isinstance(outcome, OutgoingError):
        return Tried(error=storable(str(outcome)), duration_s=duration_s)
    text = storable(outcome.text)[:LONGEST_ANSWER]
    return Tried(status=outcome.status, answer=text, retry_after=outcome.retry_after, duration_s=duration_s)
