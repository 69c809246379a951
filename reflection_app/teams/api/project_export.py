"""The whole project as a file."""

from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request

from reflection_app.api.desk_view import DeskView, NoParameters
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.permissions import Permission
from reflection_app.teams.archive.sending import Pieces, PiecesOffTheLoop, headers_of, whole_file


class ProjectExport(DeskView):
    permissions = needs(get=Permission.EXPORT_PROJECT)

    @described_get(
        "export_project",
        summary="The whole project as a zip of JSON lines, without secrets; manage.py import_project takes it in",
        answer=OpenApiTypes.BINARY,
        media_type="application/zip",
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        read_query(request, NoParameters)
        file = whole_file(self.project, actor=self.actor)
        asked = request._request  # noqa: SLF001 - the documented way to Django's own request
        body = PiecesOffTheLoop(file) if isinstance(asked, ASGIRequest) else Pieces(file)
        return StreamingHttpResponse(body, content_type="application/zip", headers=headers_of(self.project))
