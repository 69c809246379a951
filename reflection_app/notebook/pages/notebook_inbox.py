"""The inbox of the notebook: proposals that wait for a curator, beside the one that is being looked at."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from notebook_app.public import (
    WAITING,
    EntryKind,
    EntryOrder,
    EntryPage,
    KeptEntry,
    Listing,
    count_entries,
    entry_of,
    labels_in_use,
    page_of_entries,
)
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.notebook.pages.entry_page import entry_context
from reflection_app.notebook.views.entry_view import views_of
from reflection_app.notebook.views.last_curation import last_curation
from reflection_app.notebook.views.notebook_counts import waiting_entries
from reflection_app.notebook.views.notebook_filter import AskedNotebook, listing_of, read_notebook
from reflection_app.notebook.views.notebook_words import KINDS, ORDERS, category_words
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import PAGE

# Of the orders, those that make sense for what nobody has been given yet.
INBOX_ORDERS = (EntryOrder.FREQUENT, EntryOrder.NEWEST, EntryOrder.OLDEST, EntryOrder.SEEN, EntryOrder.NAME)
LIST, ITEM = "inbox-list", "inbox-item"


@dataclass(frozen=True)
class Inbox:
    """The inbox as one address asks for it."""

    asked: AskedNotebook
    wanted: Listing
    after: UUID | None
    page: EntryPage


def inbox_of(request: DeskRequest, asked: AskedNotebook, *, after: UUID | None) -> Inbox:
    """The page of the inbox after the entry `after`. A state that does not wait is left out of the filter."""
    project = request.place.project
    if asked.filter.state not in {None, *WAITING}:
        asked = AskedNotebook(asked.filter.model_copy(update={"state": None}), asked.errors)
    wanted = listing_of(asked, project, user=request.user, states=WAITING, order=EntryOrder.FREQUENT)
    return Inbox(asked, wanted, after, page_of_entries(project.pk, wanted, limit=PAGE, after=after))


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def inbox(request: DeskRequest) -> HttpResponse:
    """The whole page; asked by htmx, the list alone or the entry alone, whichever is its target."""
    found = inbox_of(request, read_notebook(request.GET), after=id_from(request.GET.get("after", "")))
    named = id_from(request.GET.get("entry", ""))
    chosen = entry_of(request.place.project.pk, named) if named else None
    is_part = request.headers.get("HX-Request") and not request.headers.get("HX-History-Restore-Request")
    part = {LIST: "#list", ITEM: "#item"}.get(request.headers.get("HX-Target", ""), "") if is_part else ""
    context = inbox_context(request, found, chosen, with_filters=not part, with_item=part != "#list")
    context |= {"is_open": chosen is not None, "last": last_curation(request)}
    response = render(request, f"notebook/inbox.html{part}", context)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request", "HX-Target"])
    return response


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def count(request: DeskRequest) -> HttpResponse:
    """The number in the navigation, for its own refresh."""
    return render(request, "_review_count.html", {"count": waiting_entries(request.place.project)})


def inbox_context(
    request: DeskRequest,
    found: Inbox,
    chosen: KeptEntry | None,
    *,
    with_filters: bool = False,
    with_item: bool = True,
) -> dict[str, Any]:
    """What the inbox shows, with the first entry of the list where none is chosen."""
    project = request.place.project
    rows = views_of(found.page.entries)
    chosen = chosen or (found.page.entries[0] if found.page.entries else None)
    waiting = waiting_entries(project)
    context: dict[str, Any] = {
        "asked": found.asked,
        "filter": found.asked.filter,
        "rows": rows,
        "after": found.after,
        "next_page": found.page.last,
        "waiting": waiting,
        "matches": count_entries(project.pk, found.wanted) if found.asked.filter.is_narrowed else None,
        "chosen_id": chosen.id if chosen else None,
        "place": "inbox",
    }
    if with_item and chosen is not None:
        context |= entry_context(request, chosen)
    return context | (filters_offered(project, orders=INBOX_ORDERS) if with_filters else {})


def filters_offered(project: Project, *, orders: tuple[EntryOrder, ...] = tuple(EntryOrder)) -> dict[str, Any]:
    """What a form of filters offers."""
    offered = labels_in_use(project.pk)
    return {
        "kinds": [(kind, KINDS[kind]) for kind in EntryKind],
        "orders": [(order, ORDERS[order]) for order in orders],
        "agents": offered.agents,
        "categories": [(category, category_words(category)) for category in offered.categories],
        "tags_in_use": offered.tags,
    }
