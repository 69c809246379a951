"""The bytes of an attachment, and a page as a model was shown it, for whoever reads the project's runs."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reflection_app.attachments.serving import respond_with, respond_with_seen_page
from reflection_app.web.access import DeskRequest, get_attachment_for, get_rendered_page_for, project_page


@project_page()
@require_safe
def attachment_file(request: DeskRequest, attachment_id: UUID) -> HttpResponse:
    """The bytes of one of the project's attachments. Raises Http404."""
    return respond_with(request, get_attachment_for(request.place, attachment_id))


@project_page()
@require_safe
def attachment_page(request: DeskRequest, attachment_id: UUID, number: int) -> HttpResponse:
    """Redirect to the file: single pages are not drawn any more."""
    return redirect("attachment", request.place.project.slug, attachment_id)


@project_page()
@require_safe
def seen_page(request: DeskRequest, attachment_id: UUID, page: int) -> HttpResponse:
    """A page of a file as it was shown to a model, a PNG. Raises Http404, also where it never was."""
    return respond_with_seen_page(request, get_rendered_page_for(request.place, attachment_id, page=page))
