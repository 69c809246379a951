"""What somebody wants to see of the queue: a view of it and filters, as an address or a caller names them.

Only the fields below are ever read, each by its own type; nothing that is sent becomes the name of a column.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db.models import Exists, Q
from django.utils import timezone
from pydantic import Field

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.queues.eligibility import closed_to, outside
from reflection_app.reviews.claiming import free, skipped_by
from reflection_app.reviews.filters import Name, ReviewFilter
from reflection_app.reviews.models import OPEN, ReviewState
from reflection_app.reviews.own_work import work_of_others
from reflection_app.search.finding import ids_with_words
from reflection_app.search.models import Indexed


class QueueView(StrEnum):
    """Part of the queue to show."""

    ALL = "all"
    MINE = "mine"
    UNCLAIMED = "unclaimed"
    SKIPPED = "skipped"
    DECIDED = "decided"
    MY_DECISIONS = "my_decisions"

    @property
    def is_decided(self) -> bool:
        return self in {QueueView.DECIDED, QueueView.MY_DECISIONS}


class QueueSort(StrEnum):
    """In which order it is shown."""

    QUEUE = "queue"
    OLDEST = "oldest"
    NEWEST = "newest"
    SCORE = "score"
    CONFIDENCE = "confidence"
    AGENT = "agent"


class QueueFilter(ReviewFilter):
    """A view of the queue with conditions on its reviews. An empty string sets no condition."""

    view: QueueView | None = Field(
        default=None,
        description="part of the queue; `mine` (claimed by or assigned to the caller), `skipped` and "
        "`my_decisions` are the caller's",
    )
    queue: UUID | None = Field(default=None, description="the id of a named queue")
    holder: Name = Field(default="", description="current holder of the review")
    q: Name = Field(default="", description="words of the task; all must occur, and the last may be incomplete")

    @property
    def is_narrowed(self) -> bool:
        """Whether it asks for more than a view."""
        return bool(self.model_dump(exclude={"view", "sort", "saved"}, exclude_defaults=True))

    def where(self, actor: Actor, *, project: Project) -> Q:
        """What a review of the project has to be for `actor` to see it in this view."""
        return in_view(self.view, actor=actor, now=timezone.now()) & self.narrowing(project)

    def narrowing(self, project: Project) -> Q:
        """What a review of the project has to be in whichever view."""
        asked = self.conditions()
        if self.queue is not None:
            asked &= Q(queue=self.queue)
        if self.q:
            asked &= Q(run__task__in=ids_with_words(project.pk, self.q, kind=Indexed.TASK))
        if self.holder:
            asked &= held(timezone.now()) & Q(holder_label=self.holder)
        return asked


class SortedFilter(QueueFilter):
    """What a page of the queue shows, and in which order; it always shows one of the views."""

    view: QueueView = QueueView.ALL
    sort: QueueSort | None = None
    # The saved view that all this came from, or was made of: nothing is looked for by it.
    saved: UUID | None = None


def in_view(view: QueueView | None, *, actor: Actor, now: datetime) -> Q:
    """What a review has to be to stand in the view; without one, nothing."""
    if view is None:
        return Q()
    if view.is_decided:
        is_decided = Q(state=ReviewState.DECIDED)
        return is_decided & _by(actor, "decided_by") if view is QueueView.MY_DECISIONS else is_decided
    parts = {
        QueueView.MINE: mine(actor, now=now),
        QueueView.UNCLAIMED: free(now) & Q(assignee=None),
        QueueView.SKIPPED: Q(Exists(skipped_by(actor))),
    }
    return Q(state__in=OPEN) & parts.get(view, Q())


def mine(actor: Actor, *, now: datetime) -> Q:
    """Held by `actor`, or kept for them and held by nobody else."""
    is_held = held(now) & _by(actor, "holder")
    return is_held | (Q(assignee=actor.user) & free(now)) if actor.user else is_held


def for_person(actor: Actor, *, project: Project, now: datetime) -> Q:
    """What waits for `actor`: what they hold, what is kept for them, and what is for everybody and held by nobody.

    Not what they handed in themselves, where they may not decide on it, nor what they have skipped, nor what is in a
    queue for others.
    """
    for_all = free(now) & Q(assignee=None) & work_of_others(project, actor=actor) & ~Q(Exists(skipped_by(actor)))
    for_all &= outside(closed_to(project.pk, actor=actor))
    return mine(actor, now=now) | for_all


def held(now: datetime) -> Q:
    """Reviews with somebody who holds them now."""
    return Q(state=ReviewState.CLAIMED, lease_until__gt=now)


def _by(actor: Actor, field: str) -> Q:
    return Q(**{field: actor.user}) if actor.user else Q(**{field: None, f"{field}_label": actor.label})
