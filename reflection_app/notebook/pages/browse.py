"""Browsing the notebook: all entries by search, filters and order; and those that nobody has use for."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from notebook_app.kinds import EntryState
from notebook_app.listing import EntryOrder, Listing, count_by_state, count_entries, page_of_entries
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.notebook.pages.entry import Refusal, filters_offered
from reflection_app.notebook.views.entry import views_of
from reflection_app.notebook.views.filter import (
    MINE,
    NOBODY,
    STALE_AFTER,
    AskedNotebook,
    last_curation,
    listing_of,
    read_notebook,
    stale_listing,
)
from reflection_app.notebook.views.words import category_words, field_words
from reflection_app.queues.models import ListName
from reflection_app.queues.views.saved import saved_views, understood
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import PAGE, list_response, wants_part


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def browse(request: DeskRequest) -> HttpResponse:
    """The whole page; asked by htmx, the rows alone."""
    project = request.place.project
    asked = read_notebook(request.GET)
    wanted = listing_of(asked, project, user=request.user, states=(), order=EntryOrder.NEWEST)
    states, chosen = count_by_state(project.pk), asked.filter.state
    context = _rows(request, wanted, after=id_from(request.GET.get("after", ""))) | {
        "asked": asked,
        "filter": asked.filter,
        "chips": chips_of(asked),
        "states": [
            (state, state.label, states[state], asked.query_with(state=state if state is not chosen else None))
            for state in EntryState
            if states[state] or state is chosen
        ],
        "saved": saved_views(request, ListName.ENTRIES, understood(ListName.ENTRIES, asked.query)),
        "total": sum(states.values()),
        "matches": count_entries(project.pk, wanted) if asked.filter.is_narrowed else None,
    }
    if not wants_part(request):
        context |= filters_offered(project)
        context["has_more_filters"] = bool(
            asked.filter.model_dump(exclude={"q", "state", "sort", "saved"}, exclude_defaults=True)
        )
        context["owners"] = list(
            project.memberships.order_by("user__username").values_list("user__username", flat=True)
        )
    return list_response(request, "notebook/browse.html", context)


@project_page(Permission.READ_NOTEBOOK)
@require_safe
def stale(request: DeskRequest) -> HttpResponse:
    """Approved entries that nobody was given for a month."""
    return render_stale(request)


def render_stale(request: DeskRequest, *, refusal: Refusal | None = None) -> HttpResponse:
    """The stale entries; with a refusal, why those that were selected were not retired."""
    wanted = stale_listing(request.place.project)
    context = _rows(request, wanted, after=id_from(request.GET.get("after", ""))) | {
        "days": STALE_AFTER.days,
        "asked": read_notebook({}),
        "last": last_curation(request),
        "place": "stale",
        "refusal": refusal,
    }
    response = list_response(request, "notebook/stale.html", context)
    response.status_code = refusal.status if refusal else 200
    return response


def _rows(request: DeskRequest, wanted: Listing, *, after: UUID | None) -> dict[str, Any]:
    page = page_of_entries(request.place.project.pk, wanted, limit=PAGE, after=after)
    return {
        "rows": views_of(page.entries),
        "next_page": page.last,
        "after": after,
        "may_curate": request.place.may(Permission.CURATE),
    }


def chips_of(asked: AskedNotebook) -> list[dict[str, str]]:
    """The filters in force, each with the query that leaves it out."""
    wanted, empty = asked.filter, type(asked.filter)()
    owner = {MINE: _("me"), NOBODY: _("unassigned")}.get(wanted.owner, wanted.owner)
    words: dict[str, str] = {
        "q": f"“{wanted.q}”" if wanted.q else "",
        "kind": str(wanted.kind.label) if wanted.kind else "",
        "category": f"{field_words('category')}: {category_words(wanted.category)}" if wanted.category else "",
        "agent": f"{field_words('agent')}: {wanted.agent}" if wanted.agent else "",
        "tag": f"#{wanted.tag}" if wanted.tag else "",
        "owner": _("Owner: %(name)s") % {"name": owner} if owner else "",
        "flagged": _("Flagged") if wanted.flagged else "",
        "conflict": _("In a conflict") if wanted.conflict else "",
    }
    return [
        {"words": said, "query": asked.query_with(**{name: getattr(empty, name)})}
        for name, said in words.items()
        if said
    ]
