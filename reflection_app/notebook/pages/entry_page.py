"""The page of one entry of the notebook: what it says, why it is in its state, where it was learned, what changed."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from notebook_app.public import (
    KeptEntry,
    conflicts_of,
    entry_of,
    last_version_of,
    merged_into,
    occurrences_of,
)
from reflection_app.core.permissions import Permission
from reflection_app.notebook.views.entry_evidence import lines_of
from reflection_app.notebook.views.entry_versions import version_lines
from reflection_app.notebook.views.entry_view import EntryView, views_of
from reflection_app.notebook.views.last_curation import last_curation
from reflection_app.notebook.views.lift_view import lift_context
from reflection_app.reviews.models import About
from reflection_app.reviews.views.comments import opened_thread
from reflection_app.web.access import DeskRequest, Place, project_page

# The evidence shown beside the decision; the entry's page shows more.
SHOWN_BESIDE = 5
MOST_EVIDENCE = 100


def get_entry_for(place: Place, entry_id: UUID) -> KeptEntry:
    """The project's entry. Raises Http404."""
    entry = entry_of(place.project.pk, entry_id)
    if entry is None:
        raise Http404("no such entry")
    return entry


def entry_context(request: DeskRequest, entry: KeptEntry) -> dict[str, Any]:
    """What the inbox shows of the entry that is chosen."""
    return about_entry(request, entry, most=SHOWN_BESIDE)


def about_entry(request: DeskRequest, entry: KeptEntry, *, most: int) -> dict[str, Any]:
    """The entry with what is needed to decide on it; of its evidence the newest `most`."""
    project = request.place.project
    view = views_of([entry])[0]
    evidence = lines_of(project, occurrences_of(entry, most=most + 1))
    return {
        "view": view,
        "entry": entry,
        "evidence": evidence[:most],
        "has_more_evidence": len(evidence) > most,
        "conflicts": [(conflict, EntryView(conflict.other)) for conflict in conflicts_of(entry)],
        "last_change": last_version_of(entry),
        "may_curate": request.place.may(Permission.CURATE),
        "thread": opened_thread(request, About.ENTRY, entry.id),
        "members": list(project.memberships.order_by("user__username").values_list("user_id", "user__username")),
        "target": entry_of(project.pk, entry.merged_into_id) if entry.merged_into_id else None,
    }


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def entry_page(request: DeskRequest, entry_id: UUID) -> HttpResponse:
    return render_entry(request, get_entry_for(request.place, entry_id))


def render_entry(request: DeskRequest, entry: KeptEntry, *, refusal: Any = None, status: int = 200) -> HttpResponse:
    """The whole page of the entry; with a refusal, why a change of it was not made."""
    context = about_entry(request, entry, most=MOST_EVIDENCE)
    context |= {
        "place": "entry",
        "versions": version_lines(entry),
        "merged": views_of(merged_into(entry)),
        "last": last_curation(request),
        "refusal": refusal,
        **lift_context(request.place.project, entry.id),
    }
    return render(request, "notebook/entry.html", context, status=status)
