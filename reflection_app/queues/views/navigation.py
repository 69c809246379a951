"""What stands in the navigation of every page: one's queues, counted in one query."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.queues.models import ReviewQueue
from reflection_app.queues.views.named import working_from
from reflection_app.reviews.goals import due_before, goal_within
from reflection_app.reviews.models import OPEN, Review
from reflection_app.reviews.views.counting import CountUpTo
from reflection_app.web.access import DeskRequest

# Nobody needs more than "99+" here, and to count further on every page takes time.
MOST = 99
MOST_QUEUES = 12


@dataclass(frozen=True)
class NavLink:
    """A queue with how many reviews wait, as `MOST` and one more counts them, and how many of them are overdue."""

    queue: ReviewQueue
    waiting: int
    overdue: int
    is_current: bool

    @property
    def count_words(self) -> str:
        return _words_for(self.waiting)

    @property
    def overdue_words(self) -> str:
        return _words_for(self.overdue)


def _words_for(count: int) -> str:
    return f"{MOST}+" if count > MOST else str(count)


def nav_links(request: DeskRequest) -> list[NavLink]:
    """The queues that the reader works from."""
    project, queues = request.place.project, working_from(request)[:MOST_QUEUES]
    if not queues:
        return []
    now = timezone.now()
    rows: dict[str, QuerySet[Review]] = {}
    for queue in queues:
        waiting = Review.objects.filter(queue=queue.pk, state__in=OPEN)
        rows[f"waiting_{queue.pk.hex}"] = waiting
        rows[f"late_{queue.pk.hex}"] = waiting.filter(due_before(goal_within(queue, project=project), now=now))
    counted: dict[str, Any] = {name: CountUpTo(found, most=MOST) for name, found in rows.items()}
    counts = Project.objects.filter(pk=project.pk).annotate(**counted).values(*counted).get()
    shown = _open_queue(request)
    return [
        NavLink(
            queue,
            waiting=counts[f"waiting_{queue.pk.hex}"],
            overdue=counts[f"late_{queue.pk.hex}"],
            is_current=str(queue.pk) == shown,
        )
        for queue in queues
    ]


def _open_queue(request: DeskRequest) -> str:
    """The queue that the open page asks for; where a part of it asks by htmx for itself, the page around it."""
    around = request.headers.get("HX-Current-URL") if request.headers.get("HX-Request") else None
    data = QueryDict(urlsplit(around).query) if around else request.GET
    return "" if data.get("saved") else data.get("queue", "")
