"""Who is given what waits in a queue: its members or, where it has none, everybody who may review.

A key is the person who made it. Admins are given what is theirs like everybody else, and may besides take from any
queue that they name, and claim any review. What is assigned to somebody is theirs, whichever queue it is in.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.core.audit import Actor
from reflection_app.core.errors import ActionError
from reflection_app.core.models import Membership
from reflection_app.core.permissions import Permission, key_may, member_may
from reflection_app.queues.models import ReviewQueue
from reflection_app.teams.notifications import MAY_REVIEW


class NotYourQueue(ActionError):
    """The review is in a queue for its members, and you are none of them."""

    status = 403
    title = gettext_noop("Restricted queue")
    slug = "not-your-queue"


@dataclass(frozen=True)
class Person:
    """Who would take a review, as the project knows them; `user_id` is None of nobody known."""

    user_id: int | None
    is_admin: bool = False


def person_of(project_id: UUID, *, actor: Actor) -> Person:
    """The person whose judgement it would be."""
    membership = Membership.objects.filter(project=project_id, user=actor.person_id or 0).first()
    if actor.api_key is not None:
        is_admin = key_may(actor.api_key, Permission.CHANGE_SETTINGS)
    else:
        is_admin = membership is not None and member_may(membership, Permission.CHANGE_SETTINGS)
    return Person(membership.user_id if membership else None, is_admin)


def reviewers_of(project_id: UUID) -> QuerySet[Membership]:
    """The members who may review, with their users, by name."""
    rows = Membership.objects.filter(project=project_id, role__in=MAY_REVIEW, user__is_active=True)
    return rows.select_related("user").order_by("user__username")


def live_queues(project_id: UUID) -> QuerySet[ReviewQueue]:
    """The project's queues in their order, each with the ids of its members as `people`."""
    people = ArrayAgg("members__user", filter=Q(members__isnull=False), default=[])
    return ReviewQueue.objects.filter(project=project_id, deleted_at=None).annotate(people=people)


def is_closed(queue: ReviewQueue, user_id: int | None) -> bool:
    """Whether what waits in one of `live_queues` is for others."""
    people: list[int] = queue.people  # type: ignore[attr-defined]  # annotated by live_queues
    return bool(people) and user_id not in people


def closed_to(project_id: UUID, *, actor: Actor, named: UUID | None = None) -> list[UUID]:
    """The queues whose reviews `actor` is not given as the next; an admin is given those of a queue that is named."""
    queues = list(live_queues(project_id))
    if not queues:
        return []
    person = person_of(project_id, actor=actor)
    closed = [queue.pk for queue in queues if is_closed(queue, person.user_id)]
    return [queue for queue in closed if queue != named] if person.is_admin else closed


def outside(queues: Iterable[UUID]) -> Q:
    """The reviews that are in none of the queues."""
    closed = list(queues)
    return Q(queue=None) | ~Q(queue__in=closed) if closed else Q()


def refuse_other_queue(queue_id: UUID | None, *, project_id: UUID, actor: Actor) -> None:
    """Raises NotYourQueue where the reviews of the queue are for others, and `actor` is no admin."""
    queue = live_queues(project_id).filter(pk=queue_id).first() if queue_id else None
    if queue is None:
        return
    person = person_of(project_id, actor=actor)
    if not person.is_admin and is_closed(queue, person.user_id):
        raise NotYourQueue(why_closed(queue))


def why_closed(queue: ReviewQueue) -> str:
    """Why a person is not given what waits in the queue, and what to do about it."""
    said = _("Only members of the queue “%(queue)s” can review its items. An admin can add you.")
    return said % {"queue": queue.name}
