"""The rows of the queue, page by page in the order that was asked for, with what each of them shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, Prefetch, Value
from django.db.models.functions import Coalesce
from django.http import QueryDict
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.storable import storable
from reflection_app.loops.verdicts import Referee
from reflection_app.queues.models import ReviewQueue
from reflection_app.reviews.claiming import IN_ORDER, skipped_by
from reflection_app.reviews.goals import Due, review_due
from reflection_app.reviews.models import Panel, Review, ReviewState, is_hidden
from reflection_app.reviews.own_work import is_own, may_decide_own
from reflection_app.reviews.queue import QueueSort, QueueView, SortedFilter
from reflection_app.runs.models import Verdict as VerdictRow
from reflection_app.tasks.models import title_of
from reflection_app.web.access import DeskRequest
from reflection_app.web.list_pages import beyond, position_of

ORDERS = {
    QueueSort.QUEUE: IN_ORDER,
    QueueSort.OLDEST: ("created_at", "id"),
    QueueSort.NEWEST: ("-created_at", "-id"),
    QueueSort.SCORE: ("verdict__score", "created_at", "id"),
    QueueSort.CONFIDENCE: ("sure", "created_at", "id"),
    QueueSort.AGENT: ("run__task__agent", "created_at", "id"),
}
# A screen and a half of them: each costs a person's wait, and whoever reads on asks for the next page.
ROWS = 30
BY_DECISION = ("-decided_at", "-id")
# A verdict that says nothing of its confidence comes after all that do.
UNSAID = 2.0
# What a row shows of what every review has: joined, and read as values, since thirty rows of five tables as objects
# take as long as all else. What few have is asked for beside them, where any of the page does: PostgreSQL takes ten
# milliseconds to plan a query that joins it all, and one for this one.
OF_REVIEW = (
    *("project", "state", "reason", "holds_run", "handed_in_by", "created_at", "holder_label", "lease_until"),
    *("panel", "queue", "assignee", "decision", "decided_verdict", "edited_answer", "decided_by_label", "decided_at"),
)
BESIDE = {
    "of_objective": F("run__task__objective"),
    "of_agent": F("run__task__agent"),
    "of_number": F("attempt__number"),
    "of_verdict": F("verdict__verdict"),
    "of_score": F("verdict__score"),
    "of_confidence": F("verdict__confidence"),
    "of_referee": F("verdict__referee"),
}
OF_FEW = (
    Prefetch("panel", Panel.objects.only("wanted", "state")),
    Prefetch("assignee", User.objects.only("username")),
    Prefetch("decided_verdict", VerdictRow.objects.only("verdict")),
    Prefetch("queue", ReviewQueue.objects.only("name", "goal_minutes")),
)
SPOKE = (ReviewState.CLAIMED, ReviewState.DECIDED)


@dataclass(frozen=True)
class QueueRow:
    """One review as the queue shows it to one person, at one moment. `due` is None where it has no goal."""

    # With what `BESIDE` adds.
    review: Any
    title: str
    referee: str
    due: Due | None
    is_mine: bool
    is_kept_for_me: bool
    # The person has judged, or judges, the same verdict at another seat of its panel.
    sits_elsewhere: bool
    # The person, or a key of theirs, handed the work in, and may not decide on it.
    is_own: bool
    # What was decided may be told: never what others said of a panel that is still open.
    tells_decision: bool
    # How many blind opinions its panel has.
    given: int


@dataclass(frozen=True)
class QueuePage:
    """`last` is the review after which there are more, None where there are none."""

    rows: list[QueueRow]
    last: UUID | None


def order_of(asked: SortedFilter) -> tuple[str, ...]:
    """The order that was asked for, else the one that the view has by itself."""
    if asked.sort is not None:
        return ORDERS[asked.sort]
    if asked.view.is_decided:
        return BY_DECISION
    return ORDERS[QueueSort.QUEUE]


def queue_page(project: Project, asked: SortedFilter, *, actor: Actor, after: UUID | None) -> QueuePage:
    """The page that begins after the review `after`, in the filter's order; the first one without it."""
    order = order_of(asked)
    everything = Review.objects.filter(project=project).annotate(sure=Coalesce("verdict__confidence", Value(UNSAID)))
    rows = everything.filter(asked.where(actor, project=project))
    if after is not None:
        rows = rows.filter(beyond(order, position_of(everything, after, order=order)))
    if order != IN_ORDER or asked.is_narrowed:
        # Found by their ids first: to sort a hundred thousand reviews with all that is shown of them takes seconds.
        # Not in one query: PostgreSQL would join everything before it looks at the ids.
        rows = everything.filter(pk__in=list(rows.order_by(*order).values_list("pk", flat=True)[: ROWS + 1]))
    shown = rows.only(*OF_REVIEW).annotate(is_skipped=Exists(skipped_by(actor)), **BESIDE)
    found = list(shown.prefetch_related(*OF_FEW).order_by(*order)[: ROWS + 1])
    page = found[:ROWS]
    return QueuePage(_rows(page, project=project, actor=actor), page[-1].pk if len(found) > ROWS else None)


def beside(project: Project, asked: SortedFilter, review: Review, *, actor: Actor, is_back: bool) -> UUID | None:
    """The review that comes after this one in the filter's order, or before it; None at the end."""
    order = order_of(asked)
    if is_back:
        order = tuple(field[1:] if field.startswith("-") else f"-{field}" for field in order)
    everything = Review.objects.filter(project=project).annotate(sure=Coalesce("verdict__confidence", Value(UNSAID)))
    # Looked for in all of the project, since it may have been decided.
    position = position_of(everything, review.pk, order=order)
    rows = everything.filter(asked.where(actor, project=project)).exclude(pk=review.pk)
    return rows.filter(beyond(order, position)).order_by(*order).values_list("pk", flat=True).first()


def _rows(reviews: Sequence[Any], *, project: Project, actor: Actor) -> list[QueueRow]:
    panels = {review.panel_id for review in reviews if review.is_seat}
    sat = Review.objects.filter(panel__in=panels, holder_person=actor.person_id, state__in=SPOKE) if panels else []
    own_seats = {(seat.panel_id, seat.pk) for seat in sat}
    may_decide = may_decide_own(project, actor=actor)
    given: dict[UUID | None, int] = {}
    if panels:
        spoken = Review.objects.filter(panel__in=panels, state=ReviewState.DECIDED, opinion__isnull=False)
        given = dict(spoken.values_list("panel").annotate(Count("pk")).order_by())
    now = timezone.now()
    return [
        QueueRow(
            review=review,
            title=title_of(review.of_objective),
            referee=Referee(review.of_referee).label,
            due=review_due(review, project=project, now=now),
            is_mine=review.is_held and review.holder_label == actor.label,
            is_kept_for_me=actor.user is not None and review.assignee_id == actor.user.pk,
            sits_elsewhere=any(panel == review.panel_id and seat != review.pk for panel, seat in own_seats),
            is_own=not may_decide and is_own(review.handed_in_by, actor=actor),
            tells_decision=review.decision is not None and not is_hidden(review, reader=actor),
            given=given.get(review.panel_id, 0),
        )
        for review in reviews
    ]


# The queue's filter in addresses: read by its own fields alone, and written again so that an address can be shared.

# Of what an item's page carries along for the way back.
LONGEST_QUERY = 2_000
# What is left out of an address where fields do not fit together.
TOGETHER = ("min_score", "max_score", "metadata_value")


@dataclass(frozen=True)
class AskedQueue:
    """What was understood of an address, and a sentence for each field that was not."""

    filter: SortedFilter
    errors: list[dict[str, str]] = field(default_factory=list)

    # Asked for by each row of the queue.
    @cached_property
    def query(self) -> str:
        return query_of(self.filter)

    @property
    def own_query(self) -> str:
        """The query as a saved view keeps it: without the view that it came from."""
        return query_of(self.filter.model_copy(update={"saved": None}))

    @cached_property
    def within(self) -> str:
        """The query of an item's page that remembers this queue."""
        return urlencode({"queue": self.query}) if self.query else ""

    def with_view(self, view: QueueView) -> str:
        """The query of another view with the same filters; it leaves a saved view and a named queue."""
        return query_of(self.filter.model_copy(update={"view": view, "saved": None, "queue": None}))


def read_queue(data: Mapping[str, str]) -> AskedQueue:
    """The filter of an address; what cannot be understood is left aside and told of."""
    given = {name: text for name in SortedFilter.model_fields if (text := data.get(name, "").strip())}
    errors: list[dict[str, str]] = []
    while True:
        try:
            return AskedQueue(SortedFilter.model_validate(given), errors)
        except ValidationError as problem:
            for name in {str(error["loc"][0]) for error in problem.errors() if error["loc"]} or TOGETHER:
                if given.pop(name, None) is not None:
                    message = _("Unknown filter “%(name)s”.") % {"name": name}
                    errors.append({"field": name, "message": message})


def query_of(asked: SortedFilter) -> str:
    """The filter as an address writes it, without what every address means anyway."""
    given = asked.model_dump(mode="json", exclude_defaults=True)
    return urlencode({name: f"{value:g}" if isinstance(value, float) else value for name, value in given.items()})


def carried(request: DeskRequest) -> AskedQueue:
    """The queue that the reader came from, whose query pages of items and their forms carry along as one field."""
    text = request.POST.get("queue") or request.GET.get("queue") or ""
    return read_queue(QueryDict(storable(text)[:LONGEST_QUERY]))


# The views and orders of the queue in the words of the page.

VIEWS: dict[QueueView, str | Promise] = {
    QueueView.ALL: gettext_lazy("All"),
    QueueView.MINE: gettext_lazy("Mine"),
    QueueView.UNCLAIMED: gettext_lazy("Unclaimed"),
    QueueView.SKIPPED: gettext_lazy("Skipped by me"),
    QueueView.MY_DECISIONS: gettext_lazy("Decided by me"),
    QueueView.DECIDED: gettext_lazy("Recently decided"),
}
SORTS: list[tuple[QueueSort, str | Promise]] = [
    (QueueSort.QUEUE, gettext_lazy("Default: blocking first, then oldest")),
    (QueueSort.OLDEST, gettext_lazy("Oldest first")),
    (QueueSort.NEWEST, gettext_lazy("Newest first")),
    (QueueSort.SCORE, gettext_lazy("Lowest score first")),
    (QueueSort.CONFIDENCE, gettext_lazy("Lowest confidence first")),
    (QueueSort.AGENT, gettext_lazy("By agent")),
]
