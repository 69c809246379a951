"""The saved views of a list as its page shows them: which there are, which one is open, and whether it was changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notebook_app.public import EntryFilter, EntryOrder, Listing, count_entries
from reflection_app.core.audit import Actor
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import storable
from reflection_app.notebook.views.filter import MINE, NOBODY, listing_of, read_notebook
from reflection_app.notebook.views.filter import query_of as notebook_query_of
from reflection_app.queues.models import LONGEST_QUERY, ListName, SavedView, ViewPin
from reflection_app.queues.saving import may_change, views_for
from reflection_app.reviews.models import Review
from reflection_app.reviews.views.queue import read_queue
from reflection_app.runs.models import Run
from reflection_app.runs.views.list import filtered, read_run_filters, runs_for_list
from reflection_app.sessions.models import Transcript
from reflection_app.sessions.views import read_session_filters, sessions_found
from reflection_app.web.access import DeskRequest
from reflection_app.web.list_pages import Filters

# Beside one's own and those that one has pinned: the page of all views has the rest.
MOST_SHOWN = 20


def _without_saved(filters: Filters) -> str:
    return urlencode({name: value for name, value in filters.given.items() if name != "saved"})


def _read_entries(data: Mapping[str, str]) -> str:
    return notebook_query_of(read_notebook(data).filter.model_copy(update={"saved": None}))


def _reviews(project: Project, actor: Actor, data: Mapping[str, str]) -> QuerySet[Review]:
    return Review.objects.filter(read_queue(data).filter.where(actor, project=project), project=project)


def _runs(project: Project, _actor: Actor, data: Mapping[str, str]) -> QuerySet[Run]:
    return filtered(project, runs_for_list(project), read_run_filters(data))


def _sessions(project: Project, _actor: Actor, data: Mapping[str, str]) -> QuerySet[Transcript]:
    return sessions_found(project, read_session_filters(data))


@dataclass(frozen=True)
class SavedList:
    """`page` is the list's name in the address book; `read` makes of an address what is kept of it.

    `rows` are what a view of it shows, None where that is no query of the desk's own tables.
    """

    page: str
    label: Promise
    icon: str
    read: Callable[[Mapping[str, str]], str]
    rows: Callable[[Project, Actor, Mapping[str, str]], QuerySet[Review] | QuerySet[Run] | QuerySet[Transcript]] | None


LISTS: dict[ListName, SavedList] = {
    ListName.REVIEWS: SavedList(
        "reviews", gettext_lazy("Reviews"), "inbox", lambda data: read_queue(data).own_query, _reviews
    ),
    ListName.RUNS: SavedList(
        "runs", gettext_lazy("Runs"), "runs", lambda data: _without_saved(read_run_filters(data)), _runs
    ),
    ListName.ENTRIES: SavedList("notebook", gettext_lazy("Notebook"), "pen", _read_entries, None),
    ListName.SESSIONS: SavedList(
        "sessions", gettext_lazy("Sessions"), "chat", lambda data: _without_saved(read_session_filters(data)), _sessions
    ),
}


def as_data(query: str) -> QueryDict:
    """The query of an address as a page reads it."""
    return QueryDict(storable(query)[:LONGEST_QUERY])


def understood(name: ListName, query: str) -> str:
    """What the list understands of a query, as a view keeps it."""
    return LISTS[name].read(as_data(query))


def count_entries_of(project: Project, actor: Actor, query: str) -> int:
    """How many entries of the notebook a view of it shows; of none of a person's own where nobody asks."""
    if actor.user is None:
        return 0
    asked = read_notebook(as_data(query))
    listing = listing_of(asked, project, user=actor.user, states=(), order=EntryOrder.NEWEST)
    return count_entries(project.pk, listing)


def address_of(view: SavedView, *, slug: str) -> str:
    """The list with the view's filters, which knows whose they are."""
    query = "&".join(part for part in (view.query, urlencode({"saved": view.pk})) if part)
    return f"{reverse(LISTS[ListName(view.list)].page, args=(slug,))}?{query}"


@dataclass(frozen=True)
class ViewTab:
    """A saved view among the others of its list."""

    view: SavedView
    address: str
    is_current: bool


@dataclass(frozen=True)
class SavedViews:
    """`query` is what is shown now, as a view would keep it; `current` the view that it came from.

    `notes` say what of the filters is no more.
    """

    of: ListName
    query: str
    tabs: list[ViewTab]
    current: SavedView | None
    may_change: bool
    is_pinned: bool
    notes: list[str]

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
    place = request.place
    pinned = Exists(ViewPin.objects.filter(view=OuterRef("pk"), user=request.user))
    rows = list(views_for(place.project.pk, place.actor).filter(list=name).annotate(is_pinned=pinned))
    named = request.GET.get("saved", "")
    wanted = id_from(named)
    current = next((view for view in rows if view.pk == wanted), None)
    shown = [view for view in rows if view.owner_id is not None or view.is_pinned or view is current]
    notes = stale_filters(place.project, name, query)
    if named and current is None:
        notes = [_("This saved view was deleted, or is no longer shared. Its filters are still here."), *notes]
    return SavedViews(
        of=name,
        query=query,
        tabs=[
            ViewTab(view, address_of(view, slug=place.project.slug), is_current=view is current)
            for view in shown[:MOST_SHOWN]
        ],
        current=current,
        may_change=current is not None
        and may_change(current, actor=place.actor, is_admin=place.may(Permission.CHANGE_SETTINGS)),
        is_pinned=current is not None and bool(current.is_pinned),
        notes=notes,
    )


def stale_filters(project: Project, name: ListName, query: str) -> list[str]:
    """A sentence for each filter that names a person or a tag that is not there any more."""
    data, found = as_data(query), []
    if name is ListName.REVIEWS and (holder := data.get("holder", "").strip()):
        is_known = _is_member(project, holder) or project.reviews.filter(holder_label=holder).exists()
        found += [] if is_known else [_("Nobody called “%(name)s” is here any more.") % {"name": holder}]
    if name is ListName.ENTRIES:
        owner, tag = data.get("owner", "").strip(), data.get("tag", "").strip()
        if owner and owner not in {MINE, NOBODY} and not _is_member(project, owner):
            found.append(_("Nobody called “%(name)s” is here any more.") % {"name": owner})
        if tag and not count_entries(project.pk, Listing(among=EntryFilter(tags=(tag,)))):
            found.append(_("No entry has the tag “%(tag)s” any more.") % {"tag": tag})
    return found


def _is_member(project: Project, name: str) -> bool:
    return project.memberships.filter(user__username=name).exists()
