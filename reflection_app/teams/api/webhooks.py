"""Webhooks: addresses that are told of the project's events."""

from uuid import UUID

from pydantic import Field
from rest_framework.response import Response

from reflection_app.api.actions import change, read, response_of
from reflection_app.api.idempotency import ShownOnce, answer_once, replayed
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, Nothing, get_row
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.teams.answers import (
    DeliveryAnswer,
    DeliveryDetailAnswer,
    DeliveryPage,
    NewSecretAnswer,
    WebhookAnswer,
    WebhookPage,
)
from reflection_app.teams.models import Delivery, DeliveryState, Webhook
from reflection_app.teams.webhook_sending import TEST_DEADLINE_S, begin_test, redeliver, send_one
from reflection_app.teams.webhooks import (
    WebhookChange,
    WebhookInput,
    change_webhook,
    create_webhook,
    delete_webhook,
    resume_webhook,
    rotate_secret,
)

EXAMPLES = {
    "Finished and waiting runs": {"url": "https://ci.example.com/desk", "events": ["run.finished", "run.waiting"]}
}


def get_webhook_for(project: Project, webhook_id: UUID) -> Webhook:
    return get_row(Webhook.objects.select_related("project").filter(project=project, pk=webhook_id), "webhook")


def get_delivery_for(webhook: Webhook, delivery_id: UUID) -> Delivery:
    deliveries = Delivery.objects.select_related("event", "webhook__project")
    return get_row(deliveries.filter(webhook=webhook, pk=delivery_id), "delivery")


class Webhooks(DeskView):
    def get_object(self, webhook_id: UUID) -> Webhook:
        return get_webhook_for(self.project, webhook_id)

    def get_edited(self, webhook: Webhook) -> dict[str, object]:
        return {name: getattr(webhook, name) for name in WebhookChange.model_fields}

    @read(
        "get_webhook",
        "Get a webhook",
        may=Permission.MANAGE_WEBHOOKS,
        tagged=True,
    )
    def retrieve(self, webhook: Webhook) -> WebhookAnswer:
        return WebhookAnswer.from_row(webhook)

    @change(
        "change_webhook",
        "Change a webhook; its secret stays the same",
        may=Permission.MANAGE_WEBHOOKS,
        what="change",
        examples={"Disable": {"is_enabled": False}},
        guarded=True,
    )
    def partial_update(self, webhook: Webhook, body: WebhookChange) -> WebhookAnswer:
        return WebhookAnswer.from_row(change_webhook(webhook, body, actor=self.actor))

    @change(
        "delete_webhook",
        "Delete a webhook and its delivery log",
        may=Permission.MANAGE_WEBHOOKS,
        guarded=True,
    )
    def destroy(self, webhook: Webhook) -> None:
        delete_webhook(webhook, actor=self.actor)

    @change("resume_webhook", "Resume a webhook, starting with waiting messages", may=Permission.MANAGE_WEBHOOKS)
    def resume(self, webhook: Webhook, body: Nothing) -> WebhookAnswer:
        return WebhookAnswer.from_row(resume_webhook(webhook, actor=self.actor))


class WebhookSecrets(Webhooks):
    """Views that return a secret, which is not stored for repeated requests with the same idempotency key."""

    @read("list_webhooks", "List webhooks, newest first", may=Permission.MANAGE_WEBHOOKS)
    def list(self, query: PageQuery) -> WebhookPage:
        return self.page(WebhookPage, Webhook.objects.filter(project=self.project), query)

    @change(
        "create_webhook",
        "Create a webhook and return its secret once",
        may=Permission.MANAGE_WEBHOOKS,
        what="webhook",
        answers={201: NewSecretAnswer},
        problems=(409,),
        examples=EXAMPLES,
        location="webhooks/{webhook[id]}",
    )
    def create(self, body: WebhookInput) -> ShownOnce:
        return with_secret(*create_webhook(self.project, body, actor=self.actor), status=201)

    @change(
        "rotate_webhook_secret",
        "Rotate the secret; both sign for a day",
        may=Permission.MANAGE_WEBHOOKS,
        answers={200: NewSecretAnswer},
    )
    def rotate(self, webhook: Webhook, body: Nothing) -> ShownOnce:
        return with_secret(*rotate_secret(webhook, actor=self.actor), status=200)


def with_secret(webhook: Webhook, secret: str, *, status: int) -> ShownOnce:
    kept = NewSecretAnswer(webhook=WebhookAnswer.from_row(webhook), secret=None).model_dump(mode="json")
    return ShownOnce(kept | {"secret": secret}, kept=kept, status=status)


class DeliveryFilters(PageQuery):
    state: DeliveryState | None = None
    type: str | None = Field(default=None, max_length=30, description="type of event, such as run.finished")


class WebhookDeliveries(Webhooks):
    @read("list_deliveries", "List deliveries of a webhook, newest first", may=Permission.MANAGE_WEBHOOKS)
    def list_deliveries(self, webhook: Webhook, query: DeliveryFilters) -> DeliveryPage:
        rows = Delivery.objects.select_related("event").defer("payload")
        return self.page(DeliveryPage, rows.filter(webhook=webhook, **query.get_filters()), query)

    @change(
        "test_webhook",
        "Send a webhook.test message and return the response",
        may=Permission.MANAGE_WEBHOOKS,
        answers={200: DeliveryDetailAnswer},
        once=False,
    )
    def test(self, webhook: Webhook, body: Nothing) -> Response:
        """Makes one try, within 10 s, even if the webhook is paused or off."""

        def begin() -> Response:
            return Response({"id": str(begin_test(webhook, actor=self.actor).pk)})

        begun = answer_once(self, begin)
        delivery = get_delivery_for(webhook, UUID(begun.data["id"]))
        # Not within the transaction of the idempotency key: nothing is held while a receiver is waited for.
        if not replayed(begun):
            send_one(delivery, deadline_s=TEST_DEADLINE_S)
            delivery = get_delivery_for(webhook, delivery.pk)
        return response_of(DeliveryDetailAnswer.from_row(delivery), headers=replayed(begun))


class Deliveries(DeskView):
    def get_object(self, webhook_id: UUID, delivery_id: UUID) -> Delivery:
        return get_delivery_for(get_webhook_for(self.project, webhook_id), delivery_id)

    @read("get_delivery", "Get a message with all tries", may=Permission.MANAGE_WEBHOOKS)
    def retrieve(self, delivery: Delivery) -> DeliveryDetailAnswer:
        return DeliveryDetailAnswer.from_row(delivery)

    @change(
        "redeliver",
        "Resend the same content with a new id",
        may=Permission.MANAGE_WEBHOOKS,
        status=202,
        problems=(409,),
    )
    def redeliver(self, delivery: Delivery, body: Nothing) -> DeliveryAnswer:
        """If the message still waits, its next try is due at once and its id stays the same."""
        return DeliveryAnswer.from_row(redeliver(delivery, actor=self.actor))
