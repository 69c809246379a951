"""Secrets of tools: their names and origins; values go in and never come out."""

from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.errors import NotFound
from reflection_app.core.permissions import Permission
from reflection_app.teams.answers.tool_answers import SecretAnswer, SecretPage, secret_answer
from reflection_app.teams.models.tool import Secret
from reflection_app.teams.secrets import SecretInput, delete_secret, save_secret


class SecretList(DeskView):
    permissions = needs(get=Permission.CHANGE_TOOLS, post=Permission.CHANGE_TOOLS)

    @described_get("list_secrets", summary="Secrets without their values", query=PageQuery, answer=SecretPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, PageQuery)
        secrets = Secret.objects.filter(project=self.project).defer("ciphertext")
        page = get_page(secrets, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([secret_answer(secret) for secret in page.rows]))

    @described_post(
        "save_secret",
        summary="Keep a secret; one of the same name is replaced",
        body=SecretInput,
        answers={201: SecretAnswer},
        examples={
            "A token": {"name": "WEATHER_TOKEN", "origin": "https://api.example.com", "value": "the token itself"}
        },
    )
    @idempotent
    def post(self, request: Request) -> Response:
        secret = save_secret(self.project, read_input(request, SecretInput, what="secret"), actor=self.actor)
        return Response(secret_answer(secret).model_dump(mode="json"), 201)


class SecretDetail(DeskView):
    http_method_names: ClassVar[list[str]] = ["delete"]  # type: ignore[misc]
    permissions = needs(delete=Permission.CHANGE_TOOLS)

    @described_post(
        "delete_secret",
        summary="Delete a secret; tools that name it fail from then on",
        answers={204: None},
        problems=(404,),
    )
    @idempotent
    def delete(self, request: Request, name: str) -> Response:
        secret = Secret.objects.filter(project=self.project, name=name).first()
        if secret is None:
            raise NotFound("There is no such secret.")
        delete_secret(secret, actor=self.actor)
        return Response(status=204)
