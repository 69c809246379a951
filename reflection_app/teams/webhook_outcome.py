"""What comes of a try: the delivery has arrived, waits for its next try, or is given up, and the webhook with it."""

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_noop

from reflection_app.adapters.outgoing import origin_of
from reflection_app.adapters.tools.http import retry_after_s
from reflection_app.core.audit import Actor, audit
from reflection_app.runs.batch import Batch
from reflection_app.teams.models.notification import NotificationKind
from reflection_app.teams.models.webhook import TEST, Delivery, DeliveryState, DeliveryTry, Webhook
from reflection_app.teams.notifications import tell_admins
from reflection_app.teams.webhook_retries import Meaning, is_to_pause, meaning_of, next_delay_s
from reflection_app.teams.webhooks import give_up_waiting

log = logging.getLogger(__name__)

# Shown in the reader's language; kept in English.
GONE = gettext_noop("The receiver answered 410 Gone.")
NOTHING_ARRIVED = gettext_noop("For a day nothing has arrived.")
FORGOTTEN = gettext_noop("For 30 days it was paused.")
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
        batch.insert(_try_of(mine, outcome))
        if meaning is Meaning.ARRIVED:
            mine.state, mine.delivered_at, mine.next_at = DeliveryState.DELIVERED, now, None
            arrived.add(mine.pk)
        else:
            _put_off(mine, outcome, meaning=meaning, now=now)
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
    return sum(_forget(webhook_id, now=now) for webhook_id in forgotten.values_list("pk", flat=True))


@transaction.atomic
def _forget(webhook_id: UUID, *, now: datetime) -> bool:
    still = Webhook.objects.select_for_update(no_key=True).filter(is_enabled=True, paused_at__lt=now - LONGEST_PAUSE)
    webhook = still.filter(pk=webhook_id).first()
    if webhook is not None:
        _switch_off(webhook, reason=FORGOTTEN)
    return webhook is not None


def _try_of(delivery: Delivery, tried: Tried) -> DeliveryTry:
    """The row of the try, with the delivery counted and let go of."""
    delivery.tries += 1
    delivery.lease_until = None
    is_redirect = tried.status is not None and 300 <= tried.status < 400
    return DeliveryTry(
        delivery=delivery,
        number=delivery.tries,
        status=tried.status,
        answer=tried.answer,
        error=tried.error or (NOT_FOLLOWED if is_redirect else ""),
        duration_s=tried.duration_s,
    )


def _put_off(delivery: Delivery, tried: Tried, *, meaning: Meaning, now: datetime) -> None:
    """The delivery that did not arrive waits for its next try, or is given up. A test is tried once."""
    asked_s = retry_after_s(tried.retry_after, now=now.timestamp()) if tried.retry_after else None
    delay_s = next_delay_s(delivery.tries, chance=random.random(), retry_after_s=asked_s)  # noqa: S311 - no secret
    if meaning is Meaning.GONE or delivery.type == TEST or delay_s is None:
        delivery.state, delivery.next_at = DeliveryState.GIVEN_UP, None
    else:
        delivery.next_at = now + timedelta(seconds=delay_s)


def _note_of_webhook(webhook: Webhook, delivery: Delivery, meaning: Meaning, *, now: datetime) -> None:
    """What the try says of the receiver as a whole. A test that fails says nothing that its sender does not see."""
    if meaning is Meaning.ARRIVED:
        if webhook.failing_since is not None:
            _keep(webhook, failing_since=None)
    elif delivery.type == TEST:
        return
    elif meaning is Meaning.GONE:
        # Several at once may be answered so.
        if webhook.is_enabled:
            _switch_off(webhook, reason=GONE)
    elif webhook.failing_since is None:
        _keep(webhook, failing_since=now)
    elif is_to_pause(now - webhook.failing_since):
        _pause(webhook, now=now)


def _switch_off(webhook: Webhook, *, reason: str) -> None:
    _keep(webhook, is_enabled=False, pause_reason=reason)
    give_up_waiting(webhook)
    audit(webhook.project_id, Actor(), "webhook.switched_off", target=webhook, after={"reason": reason})
    tell_admins(NotificationKind.WEBHOOK_GONE, webhook, title=origin_of(webhook.url))


def _pause(webhook: Webhook, *, now: datetime) -> None:
    _keep(webhook, paused_at=now, pause_reason=NOTHING_ARRIVED)
    audit(webhook.project_id, Actor(), "webhook.paused", target=webhook, after={"reason": NOTHING_ARRIVED})
    tell_admins(NotificationKind.WEBHOOK_PAUSED, webhook, title=origin_of(webhook.url))


def _keep(webhook: Webhook, **fields: object) -> None:
    for name, value in fields.items():
        setattr(webhook, name, value)
    webhook.save(update_fields=[*fields, "updated_at"])
