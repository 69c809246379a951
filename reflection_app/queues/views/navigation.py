"""What stands in the navigation of every page: one's queues and pinned views, counted in one query."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.queues.models import ListName, ReviewQueue, SavedView
from reflection_app.queues.saving import views_for
from reflection_app.queues.views.named import query_for, working_from
from reflection_app.queues.views.saved import LISTS, address_of, as_data, count_entries_of
from reflection_app.reviews.goals import due_before
from reflection_app.reviews.models import OPEN, Review
from reflection_app.reviews.views.counting import CountUpTo
from reflection_app.web.access import DeskRequest

# Nobody needs more than "99+" here, and to count further on every page takes time.
MOST = 99
MOST_QUEUES = 12


@dataclass(frozen=True)
class NavLink:
    """A queue or a pinned view. `overdue` are those of a queue that have waited longer than its goal."""

    name: str
    address: str
    icon: str
    count: int
    overdue: int = 0
    is_current: bool = False

    @property
    def count_words(self) -> str:
        return words_for(self.count)

    @property
    def overdue_words(self) -> str:
        return words_for(self.overdue)


def words_for(count: int) -> str:
    return f"{MOST}+" if count > MOST else str(count)


@dataclass(frozen=True)
class Open:
    """The page that is open, by its name and what its address asks for."""

    page: str
    data: Mapping[str, str]

    def is_queue(self, queue: ReviewQueue) -> bool:
        is_asked = self.page == "reviews" and self.data.get("queue") == str(queue.pk)
        return is_asked and not self.data.get("saved")

    def is_view(self, view: SavedView) -> bool:
        return self.page == LISTS[ListName(view.list)].page and self.data.get("saved") == str(view.pk)


def open_page(request: HttpRequest) -> Open:
    """The page that the request is for or, where a part of it asks by htmx for itself, the page around it."""
    around = urlsplit(request.headers.get("HX-Current-URL", "")) if request.headers.get("HX-Request") else None
    if around is None or not around.path:
        return Open(request.resolver_match.url_name or "" if request.resolver_match else "", request.GET)
    try:
        page = resolve(around.path).url_name or ""
    except Resolver404:
        page = ""
    return Open(page, as_data(around.query))


def nav_links(request: DeskRequest) -> list[NavLink]:
    """The queues that the reader works from, then what they have pinned, as `MOST` and one more counts it."""
    shown = open_page(request)
    project, actor = request.place.project, request.place.actor
    queues = working_from(request)[:MOST_QUEUES]
    pinned = views_for(project.pk, actor).filter(pins__user=request.user).order_by("pins__created_at", "pins__pk")
    views = list(pinned)
    if not queues and not views:
        return []
    wanted: dict[str, QuerySet[Any]] = {f"queue_{queue.pk.hex}": _waiting(queue) for queue in queues}
    wanted |= {f"late_{queue.pk.hex}": _waiting(queue).filter(_late(queue, project)) for queue in queues}
    for view in views:
        rows = LISTS[ListName(view.list)].rows
        if rows is not None:
            wanted[f"view_{view.pk.hex}"] = rows(project, actor, as_data(view.query))
    counted: dict[str, Any] = {name: CountUpTo(rows, most=MOST) for name, rows in wanted.items()}
    counts = Project.objects.filter(pk=project.pk).annotate(**counted).values(*counted).get() if counted else {}
    return [
        *(_queue_link(request, queue, counts, shown=shown) for queue in queues),
        *(_view_link(request, view, counts, shown=shown) for view in views),
    ]


def _waiting(queue: ReviewQueue) -> QuerySet[Review]:
    return Review.objects.filter(queue=queue.pk, state__in=OPEN)


def _late(queue: ReviewQueue, project: Project) -> Q:
    goal = queue.goal_minutes
    return due_before(project.get_waiting().review_goal_minutes if goal is None else goal, now=timezone.now())


def _queue_link(request: DeskRequest, queue: ReviewQueue, counts: dict[str, int], *, shown: Open) -> NavLink:
    address = reverse("reviews", args=(request.place.project.slug,))
    return NavLink(
        name=queue.name,
        address=f"{address}?{query_for(queue)}",
        icon="stack",
        count=counts[f"queue_{queue.pk.hex}"],
        overdue=counts[f"late_{queue.pk.hex}"],
        is_current=shown.is_queue(queue),
    )


def _view_link(request: DeskRequest, view: SavedView, counts: dict[str, int], *, shown: Open) -> NavLink:
    project = request.place.project
    name = f"view_{view.pk.hex}"
    count = counts[name] if name in counts else count_entries_of(project, request.place.actor, view.query)
    return NavLink(
        name=view.name,
        address=address_of(view, slug=project.slug),
        icon=LISTS[ListName(view.list)].icon,
        count=min(count, MOST + 1),
        is_current=shown.is_view(view),
    )
