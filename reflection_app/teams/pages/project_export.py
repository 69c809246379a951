"""The whole project as a file, for an admin to keep or to take to another desk."""

from typing import cast

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from reflection_app.core.permissions import Permission
from reflection_app.teams.archive.sending import Pieces, PiecesOffTheLoop, headers_of, whole_file
from reflection_app.web.access import DeskRequest, project_page


@project_page(Permission.EXPORT_PROJECT)
@require_safe
def project_export(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    file = whole_file(project, actor=request.place.actor)
    body = PiecesOffTheLoop(file) if isinstance(request, ASGIRequest) else Pieces(file)
    answer = StreamingHttpResponse(body, content_type="application/zip", headers=headers_of(project))
    # Django's types make no one class of both kinds of answers, but serves either.
    return cast("HttpResponse", answer)
