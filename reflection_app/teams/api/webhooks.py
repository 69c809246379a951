"""Webhooks: addresses that are told of the project's events."""

from uuid import UUID

from django.db.models import QuerySet
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import ShownOnce, idempotent, replayed
from reflection_app.api.pages import PageQuery
from reflection_app.api.reading import read_input
from reflection_app.api.schema import described_post
from reflection_app.api.view import Nothing
from reflection_app.api.viewset import (
    DeskViewSet,
    answer_body,
    answers_get,
    answers_list,
    answers_post,
    get_row,
    needing,
)
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value
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
    LONGEST_OVERLAP_H,
    USUAL_OVERLAP_H,
    WebhookChange,
    WebhookInput,
    change_webhook,
    create_webhook,
    delete_webhook,
    pause_webhook,
    resume_webhook,
    rotate_secret,
)

EXAMPLES = {"Whatever ends or waits": {"url": "https://ci.example.com/desk", "events": ["run.finished", "run.waiting"]}}


class Rotation(Value):
    """How long the former secret goes on signing beside the new one."""

    overlap_h: float = Field(default=USUAL_OVERLAP_H, ge=0, le=LONGEST_OVERLAP_H, description="in hours")


class DeskWebhooks(DeskViewSet):
    def get_webhook(self, webhook_id: UUID) -> Webhook:
        """The webhook. Raises NotFound."""
        rows = Webhook.objects.select_related("project").filter(project=self.project)
        return get_row(rows, "webhook", pk=webhook_id)

    def get_delivery(self, webhook_id: UUID, delivery_id: UUID) -> Delivery:
        """The webhook's delivery, with its event and webhook. Raises NotFound."""
        rows = Delivery.objects.select_related("event", "webhook__project")
        return get_row(rows.filter(webhook=self.get_webhook(webhook_id)), "delivery", pk=delivery_id)


class WebhookSecrets(DeskWebhooks):
    """Views whose answers hold a secret, which is not kept for those who ask again with the same idempotency key."""

    @answers_list("list_webhooks", Permission.MANAGE_WEBHOOKS, summary="Webhooks, newest first", answer=WebhookPage)
    def list(self, _query: PageQuery) -> QuerySet[Webhook]:
        return Webhook.objects.filter(project=self.project)

    @answers_post(
        "create_webhook",
        Permission.MANAGE_WEBHOOKS,
        summary="Have an address told of events; answers its secret, once",
        body=WebhookInput,
        what="webhook",
        answer=NewSecretAnswer,
        status=201,
        problems=(409,),
        examples=EXAMPLES,
    )
    def create(self, given: WebhookInput) -> Response:
        return _with_secret(*create_webhook(self.project, given, actor=self.actor), status=201)

    @answers_post(
        "rotate_webhook_secret",
        Permission.MANAGE_WEBHOOKS,
        summary="A new secret, told once; the former signs beside it for a while",
        body=Rotation,
        what="rotation",
        answer=NewSecretAnswer,
        problems=(404,),
    )
    def rotate(self, given: Rotation, webhook_id: UUID) -> Response:
        webhook = self.get_webhook(webhook_id)
        return _with_secret(*rotate_secret(webhook, actor=self.actor, overlap_h=given.overlap_h), status=200)


def _with_secret(webhook: Webhook, secret: str, *, status: int) -> Response:
    kept = answer_body(NewSecretAnswer, {"webhook": webhook, "secret": None})
    return ShownOnce(kept | {"secret": secret}, kept=kept, status=status)


class Webhooks(DeskWebhooks):
    @answers_get(
        "get_webhook", Permission.MANAGE_WEBHOOKS, summary="One webhook", answer=WebhookAnswer, problems=(404,)
    )
    def detail(self, webhook_id: UUID) -> Webhook:
        return self.get_webhook(webhook_id)

    @answers_post(
        "change_webhook",
        Permission.MANAGE_WEBHOOKS,
        summary="Change a webhook; what is left out stays, and so does the secret",
        body=WebhookChange,
        what="change",
        answer=WebhookAnswer,
        problems=(404,),
        examples={"Switch it off": {"is_enabled": False}},
    )
    def change(self, change: WebhookChange, webhook_id: UUID) -> Webhook:
        return change_webhook(self.get_webhook(webhook_id), change, actor=self.actor)

    @answers_post("delete_webhook", Permission.MANAGE_WEBHOOKS, summary="Delete a webhook and its log", problems=(404,))
    def delete_one(self, webhook_id: UUID) -> None:
        delete_webhook(self.get_webhook(webhook_id), actor=self.actor)

    @answers_post(
        "pause_webhook",
        Permission.MANAGE_WEBHOOKS,
        summary="Send nothing there for now; what happens meanwhile waits",
        body=Nothing,
        answer=WebhookAnswer,
        problems=(404,),
    )
    def pause(self, webhook_id: UUID) -> Webhook:
        return pause_webhook(self.get_webhook(webhook_id), actor=self.actor)

    @answers_post(
        "resume_webhook",
        Permission.MANAGE_WEBHOOKS,
        summary="Send there again, beginning with what has waited",
        body=Nothing,
        answer=WebhookAnswer,
        problems=(404,),
    )
    def resume(self, webhook_id: UUID) -> Webhook:
        return resume_webhook(self.get_webhook(webhook_id), actor=self.actor)


class DeliveryFilters(PageQuery):
    state: DeliveryState | None = None
    type: str | None = Field(default=None, max_length=30, description="such as run.finished")


class Deliveries(DeskWebhooks):
    @answers_list(
        "list_deliveries",
        Permission.MANAGE_WEBHOOKS,
        summary="What a webhook was sent, and is to be sent, newest first",
        query=DeliveryFilters,
        answer=DeliveryPage,
        problems=(404,),
    )
    def list(self, query: DeliveryFilters, webhook_id: UUID) -> QuerySet[Delivery]:
        rows = Delivery.objects.select_related("event").defer("payload")
        return rows.filter(webhook=self.get_webhook(webhook_id), **query.get_filters())

    @answers_get(
        "get_delivery",
        Permission.MANAGE_WEBHOOKS,
        summary="One message with every try",
        answer=DeliveryDetailAnswer,
        problems=(404,),
    )
    def detail(self, webhook_id: UUID, delivery_id: UUID) -> Delivery:
        return self.get_delivery(webhook_id, delivery_id)

    @answers_post(
        "redeliver",
        Permission.MANAGE_WEBHOOKS,
        summary="Send a message again, with the same content and an id of its own",
        body=Nothing,
        answer=DeliveryAnswer,
        status=202,
        problems=(404, 409),
    )
    def redeliver(self, webhook_id: UUID, delivery_id: UUID) -> Delivery:
        """Of a message that still waits, the next try is due at once; its id stays."""
        return redeliver(self.get_delivery(webhook_id, delivery_id), actor=self.actor)

    @needing(Permission.MANAGE_WEBHOOKS)
    @described_post(
        "test_webhook",
        summary="Send a message of the type webhook.test at once, and see what comes back",
        body=Nothing,
        answers={200: DeliveryDetailAnswer},
        problems=(404,),
    )
    def test(self, request: Request, webhook_id: UUID) -> Response:
        """It is tried once, within 10 s, also where the webhook is paused or off."""
        self.get_webhook(webhook_id)
        begun = self._begin_test(request, webhook_id=webhook_id)
        delivery = self.get_delivery(webhook_id, UUID(begun.data["id"]))
        # Not within the transaction of the idempotency key: nothing is held while a receiver is waited for.
        if not replayed(begun):
            send_one(delivery, deadline_s=TEST_DEADLINE_S)
            delivery = self.get_delivery(webhook_id, delivery.pk)
        return Response(answer_body(DeliveryDetailAnswer, delivery), headers=replayed(begun))

    @idempotent
    def _begin_test(self, request: Request, webhook_id: UUID) -> Response:
        read_input(request, Nothing, what="body")
        delivery = begin_test(self.get_webhook(webhook_id), actor=self.actor)
        return Response({"id": str(delivery.pk)})
