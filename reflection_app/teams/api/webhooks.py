"""Webhooks: addresses that are told of the project's events."""

from typing import ClassVar
from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView, NoParameters, Nothing
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value
from reflection_app.teams.answers.webhook_answers import NewSecretAnswer, WebhookAnswer, WebhookPage, webhook_answer
from reflection_app.teams.models.webhook import Webhook
from reflection_app.teams.webhook_input import WebhookChange, WebhookInput
from reflection_app.teams.webhooks import (
    LONGEST_OVERLAP_H,
    USUAL_OVERLAP_H,
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
