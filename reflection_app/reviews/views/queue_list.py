"""The rows of the queue, page by page in the order that was asked for, with what each of them shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.core.own_work import is_own, may_decide_own
from reflection_app.reviews.claim_review import IN_ORDER, skipped_by
from reflection_app.reviews.models.blindness import is_hidden
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.reviews.review_views import QueueSort, QueueView, SortedFilter
from reflection_app.web.list_pages import PAGE

ORDERS = {
    QueueSort.QUEUE: IN_ORDER,
    QueueSort.OLDEST: ("created_at", "id"),
    QueueSort.NEWEST: ("-created_at", "-id"),
    QueueSort.SCORE: ("verdict__score", "created_at", "id"),
    QueueSort.CONFIDENCE: ("sure", "created_at", "id"),
    QueueSort.AGENT: ("run__task__agent", "created_at", "id"),
}
BY_DECISION = ("-decided_at", "-id")
# A verdict that says nothing of its confidence comes after all that do.
UNSAID = 2.0
RELATED = ("run__task", "attempt", "verdict", "panel", "assignee", "decided_verdict")
HEAVY = ("run__spec", "run__edited_prompts", "run__task__tests", "run__task__metadata", "attempt__content")
HEAVY_OF_VERDICTS = ("issues", "feedback", "tests", "requirements")
SPOKE = (ReviewState.CLAIMED, ReviewState.DECIDED)


@dataclass(frozen=True)
class QueueRow:
    """One review as the queue shows it to one person, at one moment."""

    review: Review
    is_held: bool
    is_mine: bool
    is_kept_for_me: bool
    is_skipped: bool
    # The person has judged, or judges, the same verdict at another seat of its panel.
    sits_elsewhere: bool
    # The person, or a key of theirs, handed the work in, and may not decide on it.
    is_own: bool
    # What was decided may be told: never what others said of a panel that is still open.
    tells_decision: bool
    # How many more people have to judge it, where several do.
    missing: int


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
    return ORDERS[QueueSort.OLDEST if asked.view is QueueView.LONGEST else QueueSort.QUEUE]


def queue_page(project: Project, asked: SortedFilter, *, actor: Actor, after: UUID | None) -> QueuePage:
    """The page that begins after the review `after`, in the filter's order; the first one without it."""
    order = order_of(asked)
    everything = Review.objects.filter(project=project).annotate(sure=Coalesce("verdict__confidence", Value(UNSAID)))
    rows = everything.filter(asked.where(actor))
    if after is not None:
        rows = rows.filter(_beyond(order, _position(everything, after, order=order)))
    heavy = [*HEAVY, *(f"{which}__{name}" for which in ("verdict", "decided_verdict") for name in HEAVY_OF_VERDICTS)]
    if order != IN_ORDER or asked.is_narrowed:
        # Found by their ids first: to sort a hundred thousand reviews with all that is shown of them takes seconds.
        # Not in one query: PostgreSQL would join everything before it looks at the ids.
        rows = everything.filter(pk__in=list(rows.order_by(*order).values_list("pk", flat=True)[: PAGE + 1]))
    shown = rows.select_related(*RELATED).defer(*heavy).annotate(is_skipped=Exists(skipped_by(actor)))
    found = list(shown.order_by(*order)[: PAGE + 1])
    page = found[:PAGE]
    return QueuePage(_as_shown(page, project=project, actor=actor), page[-1].pk if len(found) > PAGE else None)


def beside(project: Project, asked: SortedFilter, review: Review, *, actor: Actor, is_back: bool) -> UUID | None:
    """The review that comes after this one in the filter's order, or before it; None at the end."""
    order = tuple(_turned(field) for field in order_of(asked)) if is_back else order_of(asked)
    everything = Review.objects.filter(project=project).annotate(sure=Coalesce("verdict__confidence", Value(UNSAID)))
    position = _position(everything, review.pk, order=order)
    rows = everything.filter(asked.where(actor)).exclude(pk=review.pk)
    return rows.filter(_beyond(order, position)).order_by(*order).values_list("pk", flat=True).first()


def _turned(field: str) -> str:
    return field[1:] if field.startswith("-") else f"-{field}"


def _position(everything: QuerySet[Review], after: UUID, *, order: Sequence[str]) -> tuple[Any, ...] | None:
    """Where the review stands in the order; it is looked for in all of the project, since it may have been decided."""
    position = everything.filter(pk=after).values_list(*(field.lstrip("-") for field in order)).first()
    return position if position and None not in position else None


def _beyond(order: Sequence[str], position: tuple[Any, ...] | None) -> Q:
    """What comes after `position`; everything where there is none."""
    if position is None:
        return Q()
    beyond, same = Q(pk__in=[]), Q()
    for field, value in zip(order, position, strict=True):
        name, side = field.lstrip("-"), "lt" if field.startswith("-") else "gt"
        beyond |= same & Q(**{f"{name}__{side}": value})
        same &= Q(**{name: value})
    return beyond


def _as_shown(reviews: Sequence[Review], *, project: Project, actor: Actor) -> list[QueueRow]:
    panels = {review.panel_id for review in reviews if review.is_seat}
    sat = Review.objects.filter(panel__in=panels, holder_person=actor.person_id, state__in=SPOKE) if panels else []
    is_allowed = may_decide_own(project, actor=actor)
    own = {(seat.panel_id, seat.pk) for seat in sat}
    missing = _missing(reviews)
    return [
        _row(
            review,
            actor=actor,
            own=own,
            missing=missing.get(review.panel_id, 0),
            is_own=not is_allowed and is_own(review.handed_in_by, actor=actor),
            now=timezone.now(),
        )
        for review in reviews
    ]


def _missing(reviews: Sequence[Review]) -> dict[UUID | None, int]:
    """By panel, how many opinions it waits for; with one query, where there are panels at all."""
    wanted = {review.panel_id: review.panel.wanted for review in reviews if review.panel and review.is_seat}
    if not wanted:
        return {}
    spoken = Review.objects.filter(panel__in=wanted, state=ReviewState.DECIDED, opinion__isnull=False)
    given = dict(spoken.values_list("panel").annotate(Count("pk")).order_by())
    return {panel: number - given.get(panel, 0) for panel, number in wanted.items()}


def _row(
    review: Review, *, actor: Actor, own: set[tuple[UUID | None, UUID]], missing: int, is_own: bool, now: datetime
) -> QueueRow:
    is_held = review.state == ReviewState.CLAIMED and review.lease_until is not None and review.lease_until > now
    return QueueRow(
        review=review,
        is_held=is_held,
        is_mine=is_held and review.holder_label == actor.label,
        is_kept_for_me=actor.user is not None and review.assignee_id == actor.user.pk,
        is_skipped=review.is_open and bool(review.is_skipped),  # type: ignore[attr-defined]  # annotated above
        sits_elsewhere=any(panel == review.panel_id and seat != review.pk for panel, seat in own),
        is_own=is_own,
        tells_decision=review.decision is not None and not is_hidden(review, reader=actor),
        missing=missing,
    )
