"""Webhooks and what they are sent, as REST tells them; a secret once, where it was made."""

from typing import Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.reading import Answer, PageAnswer
from reflection_app.teams.import_tools import Imported
from reflection_app.teams.models import Delivery, DeliveryState, DeliveryTry, Secret, Tool, ToolKind, Webhook

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


# Tools and secrets as REST tells them; of a secret everything but its value.


class ToolAnswer(Answer):
    """A tool, and how it is called."""

    id: UUID
    name: str
    kind: ToolKind
    description: str
    parameters: dict[str, Any] = Field(description="JSON Schema of the arguments")
    config: dict[str, Any] = Field(description="by kind; headers name secrets as {secret:NAME}")
    timeout_s: float
    is_enabled: bool
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ToolPage(PageAnswer):
    results: list[ToolAnswer]


class SkippedTool(Answer):
    name: str
    why: str


class ToolImportAnswer(Answer):
    """What became of the server's tools, by the names that they have here."""

    added: list[str]
    updated: list[str]
    unchanged: list[str]
    skipped: list[SkippedTool]


class SecretAnswer(Answer):
    """A secret without its value, which is never told."""

    id: UUID
    name: str
    origin: str = Field(description="the one origin that it is sent to")
    created_at: AwareDatetime


class SecretPage(PageAnswer):
    results: list[SecretAnswer]


def tool_answer(tool: Tool) -> ToolAnswer:
    return ToolAnswer(
        id=tool.pk,
        name=tool.name,
        kind=ToolKind(tool.kind),
        description=tool.description,
        parameters=tool.parameters,
        config=tool.config,
        timeout_s=tool.timeout_s,
        is_enabled=tool.is_enabled,
        created_at=tool.created_at,
        updated_at=tool.updated_at,
    )


def import_answer(imported: Imported) -> ToolImportAnswer:
    return ToolImportAnswer(
        added=imported.added,
        updated=imported.updated,
        unchanged=imported.unchanged,
        skipped=[SkippedTool(name=name, why=why) for name, why in imported.skipped],
    )


def secret_answer(secret: Secret) -> SecretAnswer:
    return SecretAnswer(id=secret.pk, name=secret.name, origin=secret.origin, created_at=secret.created_at)
