"""What a digest says: what waits, what is overdue, what was decided and proposed since the last one."""

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Exists, Q, QuerySet

from notebook_app.public import WAITING, EntryFilter, Listing, entry_rows
from reflection_app.core.audit import Actor
from reflection_app.core.models import Digest, Membership, Project
from reflection_app.core.permissions import Permission, member_may
from reflection_app.queues.eligibility import closed_to, outside
from reflection_app.reviews.claiming import free, seats_of, skipped_by
from reflection_app.reviews.goals import overdue_questions, overdue_reviews
from reflection_app.reviews.models import OPEN, Review, ReviewState
from reflection_app.reviews.own_work import work_of_others
from reflection_app.reviews.queue import mine
from reflection_app.runs.models import Question, QuestionState

# At this hour of the project's day, and not later than that: what could not be sent in time is told the next time.
HOUR, LATEST_HOUR = 8, 12
WEEKDAY = 0  # Monday
LENGTHS = {Digest.DAILY: timedelta(days=1), Digest.WEEKLY: timedelta(days=7)}


def day_due(project: Project, period: Digest, *, now: datetime) -> date | None:
    """The day whose digest is to be sent at this moment; None where none is."""
    local = now.astimezone(project.get_waiting().zone)
    if not HOUR <= local.hour < LATEST_HOUR or (period is Digest.WEEKLY and local.weekday() != WEEKDAY):
        return None
    return local.date()


# So many are named; the rest is counted.
MOST_NAMED = 10


@dataclass(frozen=True)
class Digested:
    """What one digest tells. `mine` are reviews that the reader holds or that are kept for them."""

    reviews: int = 0
    questions: int = 0
    overdue: int = 0
    mine: tuple[Review, ...] = ()
    late: tuple[Review, ...] = ()
    decided: int = 0
    decided_by_reader: int = 0
    proposed: int = 0
    proposed_names: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.reviews or self.questions or self.decided or self.proposed)


def digest_of(
    project: Project, period: Digest, *, day: date, now: datetime, reader: Membership | None = None
) -> Digested:
    """Return what happened in the day or week before the digest's hour, and what waits now.

    To a member, what they may see and do. What happens after the hour is in the next digest, whenever this one is sent.
    """
    until = datetime.combine(day, time(HOUR), tzinfo=project.get_waiting().zone)
    since = until - LENGTHS[period]
    waiting = entry_rows(project.pk, Listing(EntryFilter(states=WAITING)))
    lessons = waiting.filter(created_at__gte=since, created_at__lt=until)
    decided = Review.objects.filter(
        project=project, state=ReviewState.DECIDED, decided_at__gte=since, decided_at__lt=until
    )
    told = Digested(
        decided=decided.count(),
        proposed=lessons.count(),
        proposed_names=tuple(lessons.order_by("-created_at", "-id").values_list("name", flat=True)[:MOST_NAMED]),
    )
    if reader is None:
        return replace(told, **_waiting(project, now=now))
    actor = Actor(user=reader.user)
    told = replace(told, decided_by_reader=decided.filter(decided_by=reader.user).count())
    return replace(told, **_waiting(project, now=now, actor=actor)) if member_may(reader, Permission.REVIEW) else told


def _waiting(project: Project, *, now: datetime, actor: Actor | None = None) -> dict[str, Any]:
    """What waits for people: for the actor, what they hold, what is kept for them, and what is free for anybody."""
    reviews, own = Review.objects.filter(project=project, state__in=OPEN), Review.objects.none()
    if actor is not None:
        own = reviews.filter(mine(actor, now=now))
        is_free = free(now) & Q(assignee=None) & work_of_others(project, actor=actor)
        is_free &= outside(closed_to(project.pk, actor=actor))
        is_free &= ~Exists(skipped_by(actor)) & (Q(panel=None) | ~Exists(seats_of(actor)))
        reviews = reviews.filter(is_free | mine(actor, now=now))
    late = reviews.filter(pk__in=overdue_reviews(project, now=now).values("pk"))
    questions = Question.objects.filter(project=project, state=QuestionState.OPEN)
    return {
        "reviews": reviews.count(),
        "questions": questions.count(),
        "overdue": late.count() + overdue_questions(project, now=now).count(),
        "mine": _named(own),
        "late": _named(late.exclude(pk__in=own.values("pk"))),
    }


def _named(reviews: QuerySet[Review]) -> tuple[Review, ...]:
    oldest = reviews.select_related("run__task").defer("run__spec", "run__task__tests")
    return tuple(oldest.order_by("created_at", "id")[:MOST_NAMED])
