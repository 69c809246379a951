"""The bytes of an attachment, and a drawn page of it, for whoever reads the project's runs on the pages."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from reflection_app.attachments.serving import (
    DrawingBusy,
    respond_with,
    respond_with_page,
    respond_with_seen_page,
)
from reflection_app.web.access import DeskRequest, get_attachment_for, get_rendered_page_for, project_page

# A drawn page takes seconds of a processor; whoever wants more has the file.
MOST_PAGES = 20


@project_page()
@require_safe
def attachment_file(request: DeskRequest, attachment_id: UUID) -> HttpResponse:
    """The bytes of one of the project's attachments. Raises Http404."""
    return respond_with(request, get_attachment_for(request.place, attachment_id))


@project_page()
@require_safe
def attachment_page(request: DeskRequest, attachment_id: UUID, number: int) -> HttpResponse:
    """A page of a PDF of the project as a picture. Raises Http404 where there is none, or nobody can draw it here."""
    attachment = get_attachment_for(request.place, attachment_id)
    if not attachment.is_pdf or not 1 <= number <= MOST_PAGES:
        raise Http404
    try:
        response = respond_with_page(request, attachment, number=number)
    except DrawingBusy:
        return HttpResponse(status=503, headers={"Retry-After": "5"})
    if response is None:
        raise Http404
    return response


@project_page()
@require_safe
def seen_page(request: DeskRequest, attachment_id: UUID, page: int) -> HttpResponse:
    """A page of a file as it was shown to a model, a PNG. Raises Http404, also where it never was."""
    return respond_with_seen_page(request, get_rendered_page_for(request.place, attachment_id, page=page))
