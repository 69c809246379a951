"""Sending what webhooks are told, to each receiver several at once, all held by leases.

A message may arrive twice (a worker that dies after sending has noted nothing) and in any order; it is the same message
by its id. Nothing is locked while a receiver is waited for.
"""

import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.adapters.outgoing import Message, OutgoingError, Receiver, origin_of, signed_headers
from reflection_app.adapters.tools.http import retry_after_s
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import OF_THE_DESK
from reflection_app.runs.batch import Batch
from reflection_app.runs.events import Event
from reflection_app.runs.seen import mark_events_seen
from reflection_app.teams.models import (
    ABOUT_WEBHOOK,
    OF_STEPS,
    TEST,
    Delivery,
    DeliveryState,
    DeliveryTry,
    NotificationKind,
    Webhook,
)
from reflection_app.teams.notifications import tell_admins
from reflection_app.teams.webhooks import (
    SecretUnreadable,
    body_of,
    event_message,
    give_up_waiting,
    lock,
    signing_secrets,
    test_message,
)

# What an answer to a webhook means, and when it is tried again. Pure functions; the clock and chance are handed in.

# After the first try, the second, …: a day and a bit in all. Then it is given up.
DELAYS_S = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 36_000.0)
MOST_TRIES = len(DELAYS_S) + 1
# So many receivers that failed at once are not all tried again at once.
JITTER = 0.2
PAUSED_AFTER = timedelta(days=1)
LONGEST_RETRY_AFTER_S = 86_400.0
# While nothing arrives, the next try of anything waits for this share of the time that it has been so.
HELD_SHARE = 0.1
SHORTEST_HOLD_S, LONGEST_HOLD_S = 5.0, 600.0


class Meaning(Enum):
    ARRIVED = "arrived"
    FAILED = "failed"
    GONE = "gone"


def meaning_of(status: int | None) -> Meaning:
    """What the answer's status says; None where no answer came. A redirect is a failure: it is not followed."""
    if status == 410:
        return Meaning.GONE
    return Meaning.ARRIVED if status is not None and 200 <= status < 300 else Meaning.FAILED


def next_delay_s(tries: int, *, chance: float, retry_after_s: float | None = None) -> float | None:
    """The wait before the next try after `tries` that failed, `chance` from 0 to 1; None where it is given up.

    A receiver that says when to come again is believed, but not before the usual time.
    """
    if not 1 <= tries < MOST_TRIES:
        return None
    usual_s = DELAYS_S[tries - 1] * (1 + JITTER * chance)
    return max(usual_s, min(retry_after_s or 0.0, LONGEST_RETRY_AFTER_S))


def hold_s(failing_for: timedelta) -> float:
    """How long a receiver is left alone after it failed: the longer it has been failing, the longer."""
    return min(max(failing_for.total_seconds() * HELD_SHARE, SHORTEST_HOLD_S), LONGEST_HOLD_S)


def is_to_pause(failing_for: timedelta) -> bool:
    """Whether nothing has arrived for so long that trying on makes no sense."""
    return failing_for >= PAUSED_AFTER


# What comes of a try: the delivery has arrived, waits for its next try, or is given up, and the webhook with it.

log = logging.getLogger(__name__)

# Shown in the reader's language; kept in English.
GONE = gettext_noop("The receiver returned 410 Gone.")
NOTHING_ARRIVED = gettext_noop("Nothing was delivered for a day.")
FORGOTTEN = gettext_noop("It was paused for 30 days.")
# What waits for a webhook that nobody resumes would else grow for ever.
LONGEST_PAUSE = timedelta(days=30)
NOT_FOLLOWED = "The receiver redirects; redirects are not followed."


@dataclass(frozen=True)
class Tried:
    """One request: a status with the beginning of the answer, or the error that kept it from one."""

    status: int | None = None
    answer: str = ""
    error: str = ""
    retry_after: str = ""
    duration_s: float = 0.0


@transaction.atomic
def record(tried: Sequence[tuple[Delivery, Tried]], *, now: datetime) -> set[UUID]:
    """Notes the tries of deliveries of one webhook that the caller holds; which of them arrived.

    Where the hold was lost, whoever took it over notes theirs.
    """
    webhook = (
        Webhook.objects.select_for_update(no_key=True).filter(pk=tried[0][0].webhook_id).first() if tried else None
    )
    held = Delivery.objects.select_for_update().filter(
        pk__in=[delivery.pk for delivery, _ in tried], state=DeliveryState.WAITING
    )
    locked = {delivery.pk: delivery for delivery in held.order_by("pk")}
    batch, arrived = Batch(), set()
    for delivery, outcome in tried:
        mine = locked.get(delivery.pk)
        if webhook is None or mine is None or mine.lease_until != delivery.lease_until:
            log.info("delivery %s was taken over or deleted while it was sent", delivery.pk)
            continue
        meaning = meaning_of(outcome.status)
        # The row of the try, with the delivery counted and let go of.
        mine.tries += 1
        mine.lease_until = None
        is_redirect = outcome.status is not None and 300 <= outcome.status < 400
        try_of = DeliveryTry(
            delivery=mine,
            number=mine.tries,
            status=outcome.status,
            answer=outcome.answer,
            error=outcome.error or (NOT_FOLLOWED if is_redirect else ""),
            duration_s=outcome.duration_s,
        )
        batch.insert(try_of)
        if meaning is Meaning.ARRIVED:
            mine.state, mine.delivered_at, mine.next_at = DeliveryState.DELIVERED, now, None
            arrived.add(mine.pk)
        else:
            # It waits for its next try, or is given up. A test is tried once.
            asked_s = retry_after_s(outcome.retry_after, now=now.timestamp()) if outcome.retry_after else None
            delay_s = next_delay_s(mine.tries, chance=random.random(), retry_after_s=asked_s)  # noqa: S311 - no secret
            if meaning is Meaning.GONE or mine.type == TEST or delay_s is None:
                mine.state, mine.next_at = DeliveryState.GIVEN_UP, None
            else:
                mine.next_at = now + timedelta(seconds=delay_s)
        batch.update(mine, fields=("tries", "state", "delivered_at", "next_at", "lease_until"))
        if meaning is not Meaning.ARRIVED or webhook.failing_since is not None:
            # What is given up together is looked for in the table.
            batch.write()
            _note_of_webhook(webhook, mine, meaning, now=now)
    batch.write()
    return arrived


def switch_off_forgotten(now: datetime) -> int:
    """Switches off what has been paused for very long; how many webhooks it was."""
    forgotten = Webhook.objects.filter(is_enabled=True, paused_at__lt=now - LONGEST_PAUSE)
    switched_off = 0
    for webhook_id in forgotten.values_list("pk", flat=True):
        with transaction.atomic():
            webhook = forgotten.select_for_update(no_key=True).filter(pk=webhook_id).first()
            if webhook is not None:
                _switch_off(webhook, reason=FORGOTTEN)
                switched_off += 1
    return switched_off


def _note_of_webhook(webhook: Webhook, delivery: Delivery, meaning: Meaning, *, now: datetime) -> None:
    """What the try says of the receiver as a whole. A test that fails says nothing that its sender does not see."""
    if meaning is Meaning.ARRIVED:
        if webhook.failing_since is not None:
            webhook.keep(failing_since=None)
    elif delivery.type == TEST:
        return
    elif meaning is Meaning.GONE:
        # Several at once may be answered so.
        if webhook.is_enabled:
            _switch_off(webhook, reason=GONE)
    elif webhook.failing_since is None:
        webhook.keep(failing_since=now)
    elif is_to_pause(now - webhook.failing_since):
        webhook.keep(paused_at=now, pause_reason=NOTHING_ARRIVED)
        audit(webhook.project_id, Actor(), "webhook.paused", target=webhook, after={"reason": NOTHING_ARRIVED})
        _tell_admins(NotificationKind.WEBHOOK_PAUSED, webhook)


def _switch_off(webhook: Webhook, *, reason: str) -> None:
    webhook.keep(is_enabled=False, pause_reason=reason)
    give_up_waiting(webhook)
    audit(webhook.project_id, Actor(), "webhook.switched_off", target=webhook, after={"reason": reason})
    _tell_admins(NotificationKind.WEBHOOK_GONE, webhook)


def _tell_admins(kind: NotificationKind, webhook: Webhook) -> None:
    title = origin_of(webhook.url)
    tell_admins(kind, webhook, project_id=webhook.project_id, about=ABOUT_WEBHOOK, title=title)


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
    if webhook.failing_since is not None:
        # A receiver that fails is left alone for a while: it must not keep workers busy that others need.
        tries = DeliveryTry.objects.filter(delivery__webhook=webhook, delivery__state=DeliveryState.WAITING)
        last = tries.order_by("-created_at").values_list("created_at", flat=True).first()
        if last is not None and now < last + timedelta(seconds=hold_s(last - webhook.failing_since)):
            return []
    found: list[Delivery] = []
    for which in (~OF_STEPS, OF_STEPS):
        due = _due(now).filter(which, webhook=webhook).order_by("next_at", "id")
        found += due.select_for_update(skip_locked=True)[: room - len(found)] if len(found) < room else []
    for delivery in found:
        delivery.lease_until = now + LEASE
    Delivery.objects.filter(pk__in=[delivery.pk for delivery in found]).update(lease_until=now + LEASE)
    return found


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
    now, began = clock(), time.monotonic()
    try:
        secrets = signing_secrets(Webhook.objects.get(pk=to_send[0].webhook_id), now=now)
    except SecretUnreadable as error:
        tried = [(delivery, Tried(error=storable(str(error)))) for delivery in to_send]
    else:
        messages = []
        for delivery in to_send:
            assert delivery.payload is not None
            body, at_s = body_of(delivery.payload), int(now.timestamp())
            signed = signed_headers(body, message_id=delivery.message_id, timestamp_s=at_s, secrets=secrets)
            messages.append(Message(body, signed | {"Content-Type": "application/json"}))
        outcomes = receiver.post(messages)
        took_s = time.monotonic() - began
        tried = []
        for delivery, outcome in zip(to_send, outcomes, strict=True):
            if isinstance(outcome, OutgoingError):
                result = Tried(error=storable(str(outcome)), duration_s=took_s)
            else:
                text = storable(outcome.text)[:LONGEST_ANSWER]
                result = Tried(status=outcome.status, answer=text, retry_after=outcome.retry_after, duration_s=took_s)
            tried.append((delivery, result))
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
    mark_events_seen([event for event in events.values() if event.pk in told])
    batch.write()
    if gone:
        Delivery.objects.filter(pk__in=gone).delete()
    return to_send


# Messages that people ask for: a test, and one that was sent before, again.

# Somebody waits for the answer.
TEST_DEADLINE_S = 10.0


@transaction.atomic
def begin_test(webhook: Webhook, *, actor: Actor) -> Delivery:
    """A test message that the caller is to send at once (`send_one`), also to a webhook that is paused or off."""
    locked, now = lock(webhook), timezone.now()
    delivery = Delivery.objects.create(
        webhook=locked,
        project_id=locked.project_id,
        type=TEST,
        payload=test_message(locked),
        next_at=now,
        lease_until=now + LEASE,
    )
    audit(locked.project_id, actor, "webhook.tested", target=locked)
    return delivery


@transaction.atomic
def redeliver(delivery: Delivery, *, actor: Actor) -> Delivery:
    """A new message with the same content, due now; of one that still waits, its next try. Raises Conflict."""
    webhook, now = lock(delivery.webhook), timezone.now()
    if not webhook.is_enabled:
        raise Conflict(_("The webhook is disabled. Enable it and try again."))
    locked = Delivery.objects.select_for_update().get(pk=delivery.pk)
    if locked.state == DeliveryState.WAITING:
        locked.next_at = now
        locked.save(update_fields=["next_at"])
        again = locked
    else:
        again = Delivery.objects.create(
            webhook=webhook,
            project_id=locked.project_id,
            event_id=locked.event_id,
            type=locked.type,
            payload=locked.payload,
            next_at=now,
            again=locked,
        )
    audit(webhook.project_id, actor, "webhook.redelivered", target=webhook, after={"message": locked.message_id})
    return again
