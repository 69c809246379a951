"""What a webhook was sent and is to be sent: the log, a test, and sending again."""

from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView, NoParameters, Nothing
from reflection_app.api.idempotency import idempotent, replayed
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.errors import NotFound
from reflection_app.core.permissions import Permission
from reflection_app.teams.answers.webhook_answers import (
    DeliveryAnswer,
    DeliveryDetailAnswer,
    DeliveryPage,
    delivery_answer,
    delivery_detail,
)
from reflection_app.teams.api.webhooks import get_webhook_for
from reflection_app.teams.models.webhook import Delivery, DeliveryState, Webhook
from reflection_app.teams.webhook_messages import TEST_DEADLINE_S, begin_test, redeliver
from reflection_app.teams.webhook_sending import send_one


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
