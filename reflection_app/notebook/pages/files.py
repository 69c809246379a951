"""Bringing entries in from files, shown before they are added; and taking the notebook along as files."""

from collections import defaultdict
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from notebook_app.interchange.exporting import archive, every_entry, json_lines, sessions_of
from notebook_app.interchange.importing import ImportStep, Planned, planned
from notebook_app.interchange.reading import HandedIn
from reflection_app.core.errors import InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.notebook.proposing import apply_import, get_import, preview_import, report_files
from reflection_app.notebook.views.words import FIELDS, Words
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.list_pages import wants_part
from reflection_app.web.middleware import post_only

LARGEST_UPLOAD = 20_000_000
MOST_FILES = 200
MOST_SHOWN = 200
DONE = {
    ImportStep.ADD.value: gettext_lazy("added"),
    ImportStep.CHANGE.value: gettext_lazy("changed"),
    ImportStep.SAME.value: gettext_lazy("already present"),
    ImportStep.TWICE.value: gettext_lazy("duplicates in the files"),
    ImportStep.DECIDED.value: gettext_lazy("unchanged: already decided"),
    "refused": gettext_lazy("refused: changed in the meantime or invalid"),
}


@project_page(Permission.READ_NOTEBOOK, post=Permission.IMPORT_ENTRIES)
@require_http_methods(["GET", "HEAD", "POST"])
def import_start(request: DeskRequest) -> HttpResponse:
    """Both ways of the notebook's files: a form to hand some in, and links that write them out."""
    if request.method != "POST":
        return render(request, "notebook/import.html")
    try:
        # The files that were chosen. Raises InvalidInput where they are too many or too large.
        files: list[UploadedFile[bytes]] = request.FILES.getlist("files")
        if len(files) > MOST_FILES or sum(file.size or 0 for file in files) > LARGEST_UPLOAD:
            why = _("At most %(most)s files with %(size)s MB in total. Split them into several imports.")
            message = why % {"most": MOST_FILES, "size": LARGEST_UPLOAD // 1_000_000}
            raise InvalidInput(message, errors=[{"field": "files", "message": message}])
        handed_in = [HandedIn(file.name or "", file.read()) for file in files]
        found = preview_import(request.place.project, handed_in, actor=request.place.actor)
    except InvalidInput as error:
        told = error.errors[0]["message"] if error.errors else str(error)
        return render(request, "notebook/import.html", {"error": told}, status=400)
    return back_to(request, "notebook_import_shown", found.id)


@project_page(Permission.IMPORT_ENTRIES)
@require_safe
def import_shown(request: DeskRequest, import_id: UUID) -> HttpResponse:
    """What the import would do, or how far it is; asked by htmx, the progress alone."""
    found = get_import(request.place.project, import_id)
    template = "notebook/_import_progress.html" if wants_part(request) else "notebook/import_shown.html"
    would: dict[ImportStep, list[Planned]] = defaultdict(list)
    for one in planned(found):
        would[one.step].append(one)
    groups = [
        (step.label, len(would[step]), [_line(one) for one in would[step][:MOST_SHOWN]])
        for step in ImportStep
        if would[step]
    ]
    context = {
        "found": found,
        "groups": groups,
        "came_of_it": [(words, found.counts[name]) for name, words in DONE.items() if found.counts.get(name)],
        "would_do": len(would[ImportStep.ADD]) + len(would[ImportStep.CHANGE]),
        "most_shown": MOST_SHOWN,
    }
    return render(request, template, context)


@project_page(Permission.IMPORT_ENTRIES)
@post_only(page="notebook_import_shown")
def import_apply(request: DeskRequest, import_id: UUID) -> HttpResponse:
    apply_import(request.place.project, import_id, actor=request.place.actor)
    return back_to(request, "notebook_import_shown", import_id, message=_("Import started."))


def _line(one: Planned) -> tuple[Planned, Words, str]:
    """The item with the words for its kind, and for the fields in which it differs from the entry that is there."""
    changes = ", ".join(str(FIELDS.get(name, name)) for name in one.changes)
    return one, one.item.kind.label, changes


# The notebook as files: JSON lines, or an archive in the forms of the design seeds.

MEDIA_TYPES = {"jsonl": "application/jsonl; charset=utf-8", "zip": "application/zip"}


@project_page(Permission.RECALL)
@require_safe
def notebook_export(request: DeskRequest, form: str) -> HttpResponse:
    """All entries of the notebook, or with `state=approved` those that hold, as a file to be kept."""
    if form not in MEDIA_TYPES:
        raise Http404("no such form")
    project = request.place.project
    entries = every_entry(project.pk, state=request.GET.get("state", ""))
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
