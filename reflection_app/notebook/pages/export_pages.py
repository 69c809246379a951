"""The notebook as files: JSON lines, or an archive in the forms of the design seeds."""

from collections.abc import Iterator

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from notebook_app.public import KeptEntry, archive, every_entry, json_lines, sessions_of
from reflection_app.core.permissions import Permission
from reflection_app.notebook.notebook_import import report_files
from reflection_app.web.access import DeskRequest, project_page

MEDIA_TYPES = {"jsonl": "application/jsonl; charset=utf-8", "zip": "application/zip"}


@project_page(Permission.RECALL)
@require_safe
def notebook_export(request: DeskRequest, form: str) -> HttpResponse:
    """All entries of the notebook, or with `state=approved` those that hold, as a file to be kept."""
    if form not in MEDIA_TYPES:
        raise Http404("no such form")
    project = request.place.project
    entries: Iterator[KeptEntry] = every_entry(project.pk, state=request.GET.get("state", ""))
    if form == "jsonl":
        body: str | bytes = "".join(json_lines(entries))
    else:
        kept = list(entries)
        body = archive(kept, sessions=sessions_of([one.id for one in kept]), documents=report_files(project))
    name = f"notebook-{project.slug}.{form}"
    return HttpResponse(
        body,
        content_type=MEDIA_TYPES[form],
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )
