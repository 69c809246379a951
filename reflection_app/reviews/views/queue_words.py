"""The views and orders of the queue in the words of the page."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from reflection_app.reviews.review_views import QueueSort, QueueView
from reflection_app.reviews.views.queue_filter import AskedQueue

VIEWS: dict[QueueView, str | Promise] = {
    QueueView.ALL: _("All"),
    QueueView.MINE: _("Mine"),
    QueueView.UNCLAIMED: _("Unclaimed"),
    QueueView.LONGEST: _("Waiting longest"),
    QueueView.SKIPPED: _("Skipped by me"),
    QueueView.MY_DECISIONS: _("Decided by me"),
    QueueView.DECIDED: _("Recently decided"),
}
SORTS: list[tuple[QueueSort, str | Promise]] = [
    (QueueSort.QUEUE, _("Queue order: runs that wait first")),
    (QueueSort.OLDEST, _("Oldest first")),
    (QueueSort.NEWEST, _("Newest first")),
    (QueueSort.SCORE, _("Lowest score first")),
    (QueueSort.CONFIDENCE, _("Lowest confidence first")),
    (QueueSort.AGENT, _("By agent")),
]


@dataclass(frozen=True)
class Tab:
    """A link to a part of the queue. `count` is None where nobody needs the number."""

    name: str
    label: str | Promise
    query: str
    count: int | None
    is_current: bool


def tab(view: QueueView, asked: AskedQueue, counts: dict[str, int]) -> Tab:
    return Tab(
        name=view.value,
        label=VIEWS[view],
        query=asked.with_view(view),
        count=counts.get(view.value),
        is_current=view is asked.filter.view,
    )
