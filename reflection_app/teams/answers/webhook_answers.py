"""Webhooks and what they are sent, as REST tells them; a secret once, where it was made."""

from typing import Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer, PageAnswer
from reflection_app.teams.models.webhook import Delivery, DeliveryState, DeliveryTry, Webhook

type State = Literal["on", "failing", "paused", "off"]


class WebhookAnswer(Answer):
    """An address that is told of the project's events."""

    id: UUID
    url: str
    description: str
    events: list[str] = Field(examples=[["run.finished"]])
    state: State = Field(description="failing: nothing arrives; after a day of that it is paused by itself")
    is_enabled: bool
    paused_at: AwareDatetime | None
    pause_reason: str | None = Field(description="why, where the desk paused it or switched it off by itself")
    failing_since: AwareDatetime | None
    former_secret_until: AwareDatetime | None = Field(description="until when the secret before this one signs, too")
    created_at: AwareDatetime
    updated_at: AwareDatetime


class WebhookPage(PageAnswer):
    results: list[WebhookAnswer]


class NewSecretAnswer(Answer):
    """The webhook, and the secret that receivers check signatures with."""

    webhook: WebhookAnswer
    secret: str | None = Field(
        description="told this once: null where an idempotency key brings the same answer again. Rotate it then",
        examples=["whsec_…"],
    )


class TryAnswer(Answer):
    """One request, and what came back."""

    number: int
    status: int | None = Field(description="null where no answer came")
    answer: str = Field(description="the beginning of the body")
    error: str | None
    duration_s: float
    created_at: AwareDatetime


class DeliveryAnswer(Answer):
    """One message to a webhook."""

    id: UUID
    message_id: str = Field(description="the header `webhook-id`, the same for every try")
    type: str = Field(examples=["run.finished"])
    state: DeliveryState
    tries: int
    next_at: AwareDatetime | None = Field(description="when it is tried next")
    run_id: UUID | None = Field(description="of whose event it tells; null of a test, or where the run was deleted")
    again: UUID | None = Field(description="the delivery that it repeats")
    created_at: AwareDatetime
    delivered_at: AwareDatetime | None


class DeliveryPage(PageAnswer):
    results: list[DeliveryAnswer]


class DeliveryDetailAnswer(DeliveryAnswer):
    """One message with its content and every try."""

    payload: dict[str, Any] | None = Field(description="null before it was first sent")
    log: list[TryAnswer]


def state_of(webhook: Webhook) -> State:
    if not webhook.is_enabled:
        return "off"
    if webhook.paused_at is not None:
        return "paused"
    return "failing" if webhook.failing_since is not None else "on"


def webhook_answer(webhook: Webhook) -> WebhookAnswer:
    return WebhookAnswer(
        id=webhook.pk,
        url=webhook.url,
        description=webhook.description,
        events=webhook.events,
        state=state_of(webhook),
        is_enabled=webhook.is_enabled,
        paused_at=webhook.paused_at,
        pause_reason=webhook.pause_reason or None,
        failing_since=webhook.failing_since,
        former_secret_until=webhook.former_until,
        created_at=webhook.created_at,
        updated_at=webhook.updated_at,
    )


def delivery_answer(delivery: Delivery) -> DeliveryAnswer:
    """Ask for the delivery with its event."""
    return DeliveryAnswer(**_facts(delivery))


def delivery_detail(delivery: Delivery) -> DeliveryDetailAnswer:
    log = [_try(one) for one in delivery.log.all()]
    return DeliveryDetailAnswer(**_facts(delivery), payload=delivery.payload, log=log)


def _facts(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.pk,
        "message_id": delivery.message_id,
        "type": delivery.type,
        "state": DeliveryState(delivery.state),
        "tries": delivery.tries,
        "next_at": delivery.next_at,
        "run_id": delivery.event.run_id if delivery.event else None,
        "again": delivery.again_id,
        "created_at": delivery.created_at,
        "delivered_at": delivery.delivered_at,
    }


def _try(one: DeliveryTry) -> TryAnswer:
    return TryAnswer(
        number=one.number,
        status=one.status,
        answer=one.answer,
        error=one.error or None,
        duration_s=one.duration_s,
        created_at=one.created_at,
    )
