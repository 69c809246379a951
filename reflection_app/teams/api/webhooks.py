"""Webhooks: addresses that are told of the project's events."""

from typing import ClassVar
from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent, replayed
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters, Nothing
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value
from reflection_app.teams.answers import (
    DeliveryAnswer,
    DeliveryDetailAnswer,
    DeliveryPage,
    NewSecretAnswer,
    WebhookAnswer,
    WebhookPage,
    delivery_answer,
    delivery_detail,
    webhook_answer,
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


def get_webhook_for(project: Project, webhook_id: UUID) -> Webhook:
    """The webhook. Raises NotFound."""
    webhook = Webhook.objects.select_related("project").filter(project=project, pk=webhook_id).first()
    if webhook is None:
        raise NotFound("There is no such webhook.")
    return webhook


class TellingSecret(DeskView):
    """Views whose answers hold a secret, which is not kept for those who ask again with the same idempotency key."""

    new_secret: str | None = None

    def kept(self, webhook: Webhook, secret: str, status: int) -> Response:
        """The answer as it is kept, without the secret."""
        self.new_secret = secret
        return Response(NewSecretAnswer(webhook=webhook_answer(webhook), secret=None).model_dump(mode="json"), status)

    def with_secret(self, response: Response) -> Response:
        response.data = {**response.data, "secret": self.new_secret}
        return response


class WebhookList(TellingSecret):
    permissions = needs(get=Permission.MANAGE_WEBHOOKS, post=Permission.MANAGE_WEBHOOKS)

    @described_get("list_webhooks", summary="Webhooks, newest first", query=PageQuery, answer=WebhookPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, PageQuery)
        rows = Webhook.objects.filter(project=self.project)
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([webhook_answer(webhook) for webhook in page.rows]))

    @described_post(
        "create_webhook",
        summary="Have an address told of events; answers its secret, once",
        body=WebhookInput,
        answers={201: NewSecretAnswer},
        problems=(409,),
        examples=EXAMPLES,
    )
    def post(self, request: Request) -> Response:
        return self.with_secret(self.create(request))

    @idempotent
    def create(self, request: Request) -> Response:
        given = read_input(request, WebhookInput, what="webhook")
        return self.kept(*create_webhook(self.project, given, actor=self.actor), 201)


class WebhookDetail(DeskView):
    http_method_names: ClassVar[list[str]] = ["get", "patch", "delete", "head"]  # type: ignore[misc]
    permissions = needs(
        get=Permission.MANAGE_WEBHOOKS, patch=Permission.MANAGE_WEBHOOKS, delete=Permission.MANAGE_WEBHOOKS
    )

    @described_get("get_webhook", summary="One webhook", answer=WebhookAnswer, problems=(404,))
    def get(self, request: Request, webhook_id: UUID) -> Response:
        read_query(request, NoParameters)
        return Response(webhook_answer(get_webhook_for(self.project, webhook_id)).model_dump(mode="json"))

    @described_post(
        "change_webhook",
        summary="Change a webhook; what is left out stays, and so does the secret",
        body=WebhookChange,
        answers={200: WebhookAnswer},
        problems=(404,),
        examples={"Switch it off": {"is_enabled": False}},
    )
    @idempotent
    def patch(self, request: Request, webhook_id: UUID) -> Response:
        change = read_input(request, WebhookChange, what="change")
        webhook = change_webhook(get_webhook_for(self.project, webhook_id), change, actor=self.actor)
        return Response(webhook_answer(webhook).model_dump(mode="json"))

    @described_post("delete_webhook", summary="Delete a webhook and its log", answers={204: None}, problems=(404,))
    @idempotent
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        delete_webhook(get_webhook_for(self.project, webhook_id), actor=self.actor)
        return Response(status=204)


class RotateSecret(TellingSecret):
    permissions = needs(post=Permission.MANAGE_WEBHOOKS)

    @described_post(
        "rotate_webhook_secret",
        summary="A new secret, told once; the former signs beside it for a while",
        body=Rotation,
        answers={200: NewSecretAnswer},
        problems=(404,),
    )
    def post(self, request: Request, webhook_id: UUID) -> Response:
        return self.with_secret(self.rotate(request, webhook_id=webhook_id))

    @idempotent
    def rotate(self, request: Request, webhook_id: UUID) -> Response:
        given = read_input(request, Rotation, what="rotation")
        webhook = get_webhook_for(self.project, webhook_id)
        return self.kept(*rotate_secret(webhook, actor=self.actor, overlap_h=given.overlap_h), 200)


class PauseWebhook(DeskView):
    permissions = needs(post=Permission.MANAGE_WEBHOOKS)

    @described_post(
        "pause_webhook",
        summary="Send nothing there for now; what happens meanwhile waits",
        body=Nothing,
        answers={200: WebhookAnswer},
        problems=(404,),
    )
    @idempotent
    def post(self, request: Request, webhook_id: UUID) -> Response:
        read_input(request, Nothing, what="body")
        webhook = pause_webhook(get_webhook_for(self.project, webhook_id), actor=self.actor)
        return Response(webhook_answer(webhook).model_dump(mode="json"))


class ResumeWebhook(DeskView):
    permissions = needs(post=Permission.MANAGE_WEBHOOKS)

    @described_post(
        "resume_webhook",
        summary="Send there again, beginning with what has waited",
        body=Nothing,
        answers={200: WebhookAnswer},
        problems=(404,),
    )
    @idempotent
    def post(self, request: Request, webhook_id: UUID) -> Response:
        read_input(request, Nothing, what="body")
        webhook = resume_webhook(get_webhook_for(self.project, webhook_id), actor=self.actor)
        return Response(webhook_answer(webhook).model_dump(mode="json"))


# What a webhook was sent and is to be sent: the log, a test, and sending again.


class DeliveryFilters(PageQuery):
    state: DeliveryState | None = None
    type: str | None = Field(default=None, max_length=30, description="such as run.finished")


def get_delivery_for(webhook: Webhook, delivery_id: UUID) -> Delivery:
    """The webhook's delivery, with its event and webhook. Raises NotFound."""
    rows = Delivery.objects.select_related("event", "webhook__project").filter(webhook=webhook, pk=delivery_id)
    delivery = rows.first()
    if delivery is None:
        raise NotFound("There is no such delivery.")
    return delivery


class DeliveryList(DeskView):
    permissions = needs(get=Permission.MANAGE_WEBHOOKS)

    @described_get(
        "list_deliveries",
        summary="What a webhook was sent, and is to be sent, newest first",
        query=DeliveryFilters,
        answer=DeliveryPage,
        problems=(404,),
    )
    def get(self, request: Request, webhook_id: UUID) -> Response:
        query = read_query(request, DeliveryFilters)
        webhook = get_webhook_for(self.project, webhook_id)
        wanted = query.model_dump(exclude_none=True, include={"state", "type"})
        rows = Delivery.objects.select_related("event").filter(webhook=webhook, **wanted).defer("payload")
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([delivery_answer(delivery) for delivery in page.rows]))


class DeliveryDetail(DeskView):
    permissions = needs(get=Permission.MANAGE_WEBHOOKS)

    @described_get("get_delivery", summary="One message with every try", answer=DeliveryDetailAnswer, problems=(404,))
    def get(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> Response:
        read_query(request, NoParameters)
        delivery = get_delivery_for(get_webhook_for(self.project, webhook_id), delivery_id)
        return Response(delivery_detail(delivery).model_dump(mode="json"))


class Redeliver(DeskView):
    permissions = needs(post=Permission.MANAGE_WEBHOOKS)

    @described_post(
        "redeliver",
        summary="Send a message again, with the same content and an id of its own",
        body=Nothing,
        answers={202: DeliveryAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> Response:
        """Of a message that still waits, the next try is due at once; its id stays."""
        read_input(request, Nothing, what="body")
        delivery = get_delivery_for(get_webhook_for(self.project, webhook_id), delivery_id)
        return Response(delivery_answer(redeliver(delivery, actor=self.actor)).model_dump(mode="json"), 202)


class TestWebhook(DeskView):
    permissions = needs(post=Permission.MANAGE_WEBHOOKS)

    @described_post(
        "test_webhook",
        summary="Send a message of the type webhook.test at once, and see what comes back",
        body=Nothing,
        answers={200: DeliveryDetailAnswer},
        problems=(404,),
    )
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """It is tried once, within 10 s, also where the webhook is paused or off."""
        webhook = get_webhook_for(self.project, webhook_id)
        begun = self.begin(request, webhook_id=webhook_id)
        delivery = get_delivery_for(webhook, UUID(begun.data["id"]))
        # Not within the transaction of the idempotency key: nothing is held while a receiver is waited for.
        if not replayed(begun):
            send_one(delivery, deadline_s=TEST_DEADLINE_S)
            delivery = get_delivery_for(webhook, delivery.pk)
        return Response(delivery_detail(delivery).model_dump(mode="json"), headers=replayed(begun))

    @idempotent
    def begin(self, request: Request, webhook_id: UUID) -> Response:
        read_input(request, Nothing, what="body")
        delivery = begin_test(get_webhook_for(self.project, webhook_id), actor=self.actor)
        return Response({"id": str(delivery.pk)})
