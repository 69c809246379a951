"""The reader's queues in the navigation of every page."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.http import QueryDict
from django.utils import timezone

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


def nav_counts(request: DeskRequest) -> dict[str, CountUpTo]:
    """Return the columns that `nav_links` needs, for the one query that counts all that the navigation shows."""
    project, now = request.place.project, timezone.now()
    counts = {}
    for queue in working_from(request)[:MOST_QUEUES]:
        waiting = Review.objects.filter(queue=queue.pk, state__in=OPEN)
        late = waiting.filter(due_before(goal_within(queue, project=project), now=now))
        counts[f"waiting_{queue.pk.hex}"] = CountUpTo(waiting, most=MOST)
        counts[f"late_{queue.pk.hex}"] = CountUpTo(late, most=MOST)
    return counts


def nav_links(request: DeskRequest, counts: Mapping[str, int]) -> list[NavLink]:
    """The queues that the reader works from, with the counts of `nav_counts`."""
    shown = _open_queue(request)
    return [
        NavLink(
            queue,
            waiting=counts[f"waiting_{queue.pk.hex}"],
            overdue=counts[f"late_{queue.pk.hex}"],
            is_current=str(queue.pk) == shown,
        )
        for queue in working_from(request)[:MOST_QUEUES]
    ]


def _open_queue(request: DeskRequest) -> str:
    """The queue that the open page asks for; where a part of it asks by htmx for itself, the page around it."""
    around = request.headers.get("HX-Current-URL") if request.headers.get("HX-Request") else None
    data = QueryDict(urlsplit(around).query) if around else request.GET
    return "" if data.get("saved") else data.get("queue", "")
