"""Messages that people ask for: a test, and one that was sent before, again."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict
from reflection_app.teams.models.webhook import TEST, Delivery, DeliveryState, Webhook
from reflection_app.teams.webhook_payload import test_message
from reflection_app.teams.webhook_sending import LEASE
from reflection_app.teams.webhooks import lock

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
        raise Conflict(_("The webhook is switched off. Switch it on, and ask again."))
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
