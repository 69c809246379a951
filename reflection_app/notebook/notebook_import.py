"""Importing entries into the notebook: shown first, then carried out by a worker; and what an export holds."""

import json
from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db import transaction

from notebook_app.public import HandedIn, Import, begin_import, import_of, import_some, preview, project_of_import
from reflection_app.adapters.doorbell import ring_reviews
from reflection_app.core.audit import Actor, Target, audit
from reflection_app.core.models import Project
from reflection_app.loops.protocol.report_documents import document_of
from reflection_app.notebook.notebook_refusals import refusals_told
from reflection_app.notebook.notebook_trail import by_of
from reflection_app.repairs.models import Report
from reflection_app.runs.jobs import enqueue_import

MOST_REPORTS = 2_000


def preview_import(project: Project, files: Sequence[HandedIn], *, actor: Actor) -> Import:
    """The import as it would be; nothing of the notebook is changed. Raises InvalidInput where there is no file."""
    with refusals_told(), transaction.atomic():
        found = preview(project.pk, files, by=by_of(actor))
        after = {"files": list(found.file_names), "entries": found.total, "unreadable": len(found.problems)}
        audit(project.pk, actor, "import.previewed", target=Target("import", found.id), after=after)
        return found


def get_import(project: Project, import_id: UUID) -> Import:
    """The project's import as it is now. Raises NotFound."""
    with refusals_told():
        return import_of(project.pk, import_id)


def apply_import(project: Project, import_id: UUID, *, actor: Actor) -> Import:
    """The import, begun; a worker carries it out. Begun twice, it is carried out once. Raises NotFound."""
    with refusals_told(), transaction.atomic():
        if begin_import(project.pk, import_id):
            audit(project.pk, actor, "import.begun", target=Target("import", import_id))
            transaction.on_commit(lambda: enqueue_import(import_id))
        return import_of(project.pk, import_id)


def carry_out_import(import_id: UUID) -> None:
    """Carries an import out piece by piece; a second worker at the same one waits for each piece and goes on after."""
    project_id = project_of_import(import_id)
    if project_id is None:
        return
    while import_some(import_id):
        ring_reviews(project_id)
    ring_reviews(project_id)


def report_files(project: Project) -> Iterator[tuple[str, str]]:
    """The newest reports as files of an export, in the seed's form."""
    for report in Report.objects.filter(project=project).order_by("-created_at", "-id")[:MOST_REPORTS]:
        document = document_of(report.get_holding(), timestamp=report.created_at)
        yield f"reports/reflection_{report.reflection_id}.json", json.dumps(document, ensure_ascii=False, indent=2)
