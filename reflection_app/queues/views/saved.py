"""The saved views of a list as its page shows them: which there are, which one is open, and whether it was changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import storable
from reflection_app.notebook.views.filter import query_of as notebook_query_of
from reflection_app.notebook.views.filter import read_notebook
from reflection_app.queues.models import LONGEST_QUERY, ListName, SavedView
from reflection_app.queues.saving import may_change, views_for
from reflection_app.reviews.views.queue import read_queue
from reflection_app.runs.views.list import read_run_filters
from reflection_app.sessions.views import read_session_filters
from reflection_app.web.access import DeskRequest
from reflection_app.web.list_pages import Filters

# The page of all views has the rest.
MOST_SHOWN = 20


def _without_saved(filters: Filters) -> str:
    return urlencode({name: value for name, value in filters.given.items() if name != "saved"})


def _read_entries(data: Mapping[str, str]) -> str:
    return notebook_query_of(read_notebook(data).filter.model_copy(update={"saved": None}))


@dataclass(frozen=True)
class SavedList:
    """`page` is the list's name in the address book; `read` makes of an address what is kept of it."""

    page: str
    label: Promise
    icon: str
    read: Callable[[Mapping[str, str]], str]


LISTS: dict[ListName, SavedList] = {
    ListName.REVIEWS: SavedList("reviews", gettext_lazy("Reviews"), "inbox", lambda data: read_queue(data).own_query),
    ListName.RUNS: SavedList("runs", gettext_lazy("Runs"), "runs", lambda data: _without_saved(read_run_filters(data))),
    ListName.ENTRIES: SavedList("notebook", gettext_lazy("Notebook"), "pen", _read_entries),
    ListName.SESSIONS: SavedList(
        "sessions", gettext_lazy("Sessions"), "chat", lambda data: _without_saved(read_session_filters(data))
    ),
}


def as_data(query: str) -> QueryDict:
    """The query of an address as a page reads it."""
    return QueryDict(storable(query)[:LONGEST_QUERY])


def understood(name: ListName, query: str) -> str:
    """What the list understands of a query, as a view keeps it."""
    return LISTS[name].read(as_data(query))


def address_of(view: SavedView, *, slug: str) -> str:
    """The list with the view's filters, which knows whose they are."""
    query = "&".join(part for part in (view.query, urlencode({"saved": view.pk})) if part)
    return f"{reverse(LISTS[ListName(view.list)].page, args=(slug,))}?{query}"


@dataclass(frozen=True)
class SavedViews:
    """`query` is what is shown now, as a view would keep it; `current` the view that it came from."""

    of: ListName
    query: str
    # With their addresses.
    tabs: list[tuple[SavedView, str]]
    current: SavedView | None
    may_change: bool
    # The view that the address names was deleted, or is no longer shared.
    is_gone: bool

    @property
    def save_query(self) -> str:
        """The query of the page that saves it."""
        return urlencode({"list": self.of.value, "query": self.query})

    @property
    def is_changed(self) -> bool:
        return self.current is not None and self.current.query != self.query

    @property
    def may_save(self) -> bool:
        """Whether there is something to be saved under a name: more than a queue, which has one, or than a view has."""
        is_queue_alone = self.query.startswith("queue=") and "&" not in self.query
        return bool(self.query) and not is_queue_alone and (self.current is None or self.is_changed)


def saved_views(request: DeskRequest, name: ListName, query: str) -> SavedViews:
    """The views of the list for the reader, whose page shows what `query` asks for."""
    place, named = request.place, request.GET.get("saved", "")
    rows = list(views_for(place.project.pk, place.actor).filter(list=name))
    current = next((view for view in rows if str(view.pk) == named), None)
    # One's own first.
    rows.sort(key=lambda view: (view is not current, view.is_shared))
    return SavedViews(
        of=name,
        query=query,
        tabs=[(view, address_of(view, slug=place.project.slug)) for view in rows[:MOST_SHOWN]],
        current=current,
        may_change=current is not None
        and may_change(current, actor=place.actor, is_admin=place.may(Permission.CHANGE_SETTINGS)),
        is_gone=bool(named) and current is None,
    )
